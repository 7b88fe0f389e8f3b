// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/report/page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "common/json/read.h"
#include "common/time_text.h"
#include "runtime/workshop/report/heat_map.h"
#include "runtime/workshop/report/html.h"
#include "runtime/workshop/report/rooflines.h"
#include "runtime/workshop/report/svg.h"

namespace qgen::report {
namespace {

constexpr size_t kMostListed = 300;  // problems in tables, of all operators together
constexpr size_t kMostKernels = 5;   // of a problem
constexpr size_t kMostOperators = 150;

std::string value_text(const json::Value& value) {
  if (const auto* whole = value.as<int64_t>()) return fmt::format("{}", *whole);
  if (const auto* real = value.as<double>()) return fmt::format("{}", *real);
  if (const auto* is = value.as<bool>()) return fmt::format("{}", *is);
  return "?";
}

// TunedRow::statistics, a line for each launch. A text that is no such list, or far longer, is shown unchanged.
std::string statistics_text(const std::string& statistics) {
  if (statistics.empty()) return "-";
  if (statistics.size() > 4 * kMostLetters) return shortened(statistics);
  const auto document = json::read("statistics", statistics);
  const auto* launches = document ? document->root.as<json::List>() : nullptr;
  if (!launches) return shortened(statistics);
  std::string text;
  for (const json::Value& launch : *launches) {
    const auto* members = launch.as<json::Members>();
    if (!members) return shortened(statistics);
    std::vector<std::string> said;
    for (const json::Member& member : *members) {
      said.push_back(fmt::format("<span>{} {}</span>", shortened(member.key), value_text(member.value)));
    }
    text += fmt::format("<div>{}</div>", fmt::join(said, ", "));
  }
  return text;
}

std::string gain_text(const Facts& facts) {
  const GainSummary gains = summary_of(facts.problems);
  if (gains.problems == 0) {
    return "<p>The untuned choice is not known for any problem: this library lacks it, or it was not measured.</p>\n";
  }
  const size_t unknown = facts.problems.size() - gains.problems;
  return fmt::format(
      "<p>Untuned, by the estimates alone, the choice is within 10 % of the best for <b>{} of {}</b> problems; its "
      "time "
      "is <b>{:.3f}</b> times the best, geometric mean, and <b>{:.2f}</b> times at worst.{}</p>\n",
      gains.within_tenth, gains.problems, gains.geometric_mean, gains.worst,
      unknown == 0 ? "" : fmt::format(" For {} more problems it is not known, or was not measured.", unknown));
}

// ---- an operator ----------------------------------------------------------------------------------------------------

using Problems = std::span<const ProblemFact>;

std::string kernels_text(const ProblemFact& problem) {
  std::string text = fmt::format("<details><summary>{} measured</summary>", problem.kernels.size());
  for (size_t i = 0; i < std::min(problem.kernels.size(), kMostKernels); ++i) {
    const tuning::TunedRow& row = problem.kernels[i].row;
    text += fmt::format("<div>{} us {}</div>", us_text(row.us), id_html(row.kernel));
  }
  if (problem.kernels.size() > kMostKernels) text += "<div>...</div>";
  return text + "</details>";
}

std::string problem_row(const ProblemFact& problem) {
  const tuning::TunedRow& best = problem.kernels.front().row;
  const auto gain = problem.gain();
  return fmt::format(
      "<tr><td><details><summary>{}</summary><code class=\"key\">{}</code></details></td>"
      "<td class=\"number\">{}</td><td class=\"number\">{} .. {}</td>"
      "<td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}{}</td><td>{}</td></tr>\n",
      escaped(problem.name), shortened(problem.key), us_text(best.us), us_text(best.low_us), us_text(best.high_us),
      problem.untuned ? us_text(problem.kernels[*problem.untuned].row.us) : "-",
      gain ? fmt::format("{:.2f}", *gain) : "-", id_html(best.kernel), kernels_text(problem),
      statistics_text(best.statistics));
}

// `left`: how many problems may still be listed.
std::string table_of(Problems problems, size_t& left) {
  const Problems listed = problems.first(std::min(problems.size(), left));
  left -= listed.size();
  std::string text;
  if (listed.size() < problems.size()) {
    text = fmt::format("<p class=\"note\">{} of {} problems are listed; qgen-tune export has all.</p>\n", listed.size(),
                       problems.size());
  }
  if (listed.empty()) return text;
  text +=
      "<div class=\"wide\"><table>\n<tr><th>problem</th>"
      "<th class=\"number\">best, us</th><th class=\"number\">10 % .. 90 %</th>"
      "<th class=\"number\">untuned, us</th><th class=\"number\">gain</th><th>best kernel</th>"
      "<th>the driver's statistics</th></tr>\n";
  for (const ProblemFact& problem : listed) text += problem_row(problem);
  return text + "</table></div>\n";
}

// Of the problem with the most kernels.
std::string tiles_of(Problems problems) {
  const auto most =
      std::ranges::max_element(problems, {}, [](const ProblemFact& problem) { return problem.kernels.size(); });
  const std::string map = heat_map_of(*most);
  if (map.empty()) return "";
  return fmt::format(
      "<h3>kernels of one problem, time relative to the best</h3>\n"
      "<p class=\"note\">{}</p>\n"
      "{}",
      escaped(most->name), map);
}

std::string anchor_of(std::string_view op) { return "op-" + escaped(op); }

std::string operator_section(Problems problems, const DeviceProfile& device, size_t& left) {
  const std::string_view op = problems.front().op();
  return fmt::format("<section>\n<h2 id=\"{}\">{}</h2>\n", anchor_of(op), shortened(op)) +
         rooflines_of(problems, device) + tiles_of(problems) + table_of(problems, left) + "</section>\n";
}

std::vector<Problems> by_operator(const std::vector<ProblemFact>& problems) {
  std::vector<Problems> operators;
  for (auto begin = problems.begin(); begin != problems.end();) {
    const auto end = std::find_if(begin, problems.end(), [&](const ProblemFact& p) { return p.op() != begin->op(); });
    operators.emplace_back(begin, end);
    begin = end;
  }
  return operators;
}

std::string dates_text(const Facts& facts) {
  std::string first, last;
  for (const ProblemFact& problem : facts.problems) {
    for (const KernelFact& kernel : problem.kernels) {
      if (first.empty() || kernel.row.date < first) first = kernel.row.date;
      last = std::max(last, kernel.row.date);
    }
  }
  return escaped(first == last ? first : first + " to " + last);
}

}  // namespace

std::string page_of(const Facts& facts) {
  size_t kernels = 0;
  for (const ProblemFact& problem : facts.problems) kernels += problem.kernels.size();
  const std::vector<Problems> operators = by_operator(facts.problems);
  const auto shown = std::span(operators).first(std::min(operators.size(), kMostOperators));

  std::string page = fmt::format("<p>{} {}. {} times of {} problems of {} operators, measured {}.</p>\n",
                                 escaped(facts.device.driver_name), escaped(facts.device.driver_info), kernels,
                                 facts.problems.size(), operators.size(), dates_text(facts));
  page += gain_text(facts) + estimates_of(facts) + speeds_table(facts.device);
  page +=
      "<p class=\"note\">Bytes: the input, the weight and the output, each moved once; scales, biases "
      "and padding are left out. A multiply-add is two operations. Data in a cache may be faster than memory. In a "
      "map of kernels 1.00 is the best. If several kernels have the same values on both axes, the fastest is shown. "
      "An empty cell was not measured.</p>\n"
      "<nav>\n";
  for (const Problems& problems : shown) {
    page += fmt::format("<a href=\"#{}\">{}</a>\n", anchor_of(problems.front().op()), shortened(problems.front().op()));
  }
  page += "</nav>\n";
  if (shown.size() < operators.size()) {
    page += fmt::format("<p class=\"note\">{} of {} operators are shown.</p>\n", shown.size(), operators.size());
  }
  size_t left = kMostListed;
  for (const Problems& problems : shown) page += operator_section(problems, facts.device, left);
  return html_file("qgen on " + facts.device.name, page);
}

}  // namespace qgen::report
