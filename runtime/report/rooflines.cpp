// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/report/rooflines.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/report/svg.h"

namespace qgen::report {
namespace {

constexpr size_t kMostPoints = 400;      // of an operator's chart
constexpr size_t kMostEstimates = 2000;  // of the chart of all kernels
constexpr size_t kMostBars = 24;
constexpr size_t kShort = 56;  // letters

// Every so many-th of a list, so that at most `most` are drawn.
size_t stride_for(size_t count, size_t most) { return (count + most - 1) / most; }

std::string thinned_text(size_t shown, size_t all, std::string_view what) {
  return shown == all ? "" : fmt::format("<p class=\"note\">{} of {} {} are drawn.</p>\n", shown, all, what);
}

// What an operator's rates are said in: kernels choose among them.
void add_rates(LogChart& chart, const DeviceNumbers& numbers) {
  const auto add = [&](double ops_per_us, std::string_view name) {
    chart.add_rate(ops_per_us, fmt::format("{}, {:.1f} TOP/s", name, ops_per_us / 1e6));
  };
  add(numbers.int8_matrix_ops_per_us, "int8 matrices");
  add(numbers.f16_matrix_ops_per_us, "f16 matrices");
  add(numbers.int8_ops_per_us, "int8 dot products");
  add(numbers.f32_ops_per_us, "f32");
}

void add_problem(LogChart& chart, double amount, const ProblemFact& problem) {
  const std::string name = short_name(problem);
  if (problem.untuned && *problem.untuned != 0) {
    const tuning::TunedRow& untuned = problem.kernels[*problem.untuned].row;
    chart.add_point(amount, untuned.us, "untuned", fmt::format("{}: {:.4g} us, {}", name, untuned.us, untuned.kernel));
  }
  const tuning::TunedRow& best = problem.kernels.front().row;
  chart.add_point(amount, best.us, "best", fmt::format("{}: {:.4g} us, {}", name, best.us, best.kernel));
}

// Where no work is known: bars, the longest time the whole width.
std::string bars_of(std::span<const ProblemFact> problems) {
  const auto shown = problems.first(std::min(problems.size(), kMostBars));
  double longest = 0;
  for (const ProblemFact& problem : shown) longest = std::max(longest, problem.best_us());
  const double row_height = 20, left = 360, width = 300;
  const double height = row_height * static_cast<double>(shown.size()) + 24;
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" aria-label=\"time of each problem, "
      "us\">\n<text class=\"axis\" x=\"{2}\" y=\"14\">time of the best kernel, us</text>\n",
      left + width + 80, height, left);
  for (size_t i = 0; i < shown.size(); ++i) {
    const double y = 22 + row_height * static_cast<double>(i);
    const double length = longest > 0 ? width * shown[i].best_us() / longest : 0;
    svg += fmt::format(
        "<text class=\"tick\" text-anchor=\"end\" x=\"{}\" y=\"{}\">{}</text><rect class=\"bar\" x=\"{}\" y=\"{}\" "
        "width=\"{:.1f}\" height=\"14\"/><text class=\"tick\" x=\"{:.1f}\" y=\"{}\">{:.4g}</text>\n",
        left - 6, y + 11, escaped(short_name(shown[i])), left, y, length, left + length + 5, y + 11,
        shown[i].best_us());
  }
  return svg + "</svg>\n" + thinned_text(shown.size(), problems.size(), "problems");
}

}  // namespace

std::string short_name(const ProblemFact& problem) {
  const std::string_view words =
      std::string_view(problem.key).substr(std::min(problem.op().size() + 1, problem.key.size()));
  if (words.size() <= kShort) return std::string(words);
  const size_t space = words.rfind(' ', kShort);
  return std::string(words.substr(0, space == std::string_view::npos ? kShort : space)) + " ...";
}

std::string rooflines_of(std::span<const ProblemFact> problems, const DeviceProfile& device) {
  LogChart by_bytes("time against bytes moved", "bytes moved", "time, us");
  LogChart by_operations("time against operations", "operations", "time, us");
  const size_t stride = stride_for(problems.size(), kMostPoints);
  size_t known = 0, shown = 0;
  for (size_t i = 0; i < problems.size(); i += stride) {
    ++shown;
    const auto& work = problems[i].work;
    if (!work) continue;
    ++known;
    add_problem(by_bytes, work->bytes, problems[i]);
    add_problem(by_operations, work->operations, problems[i]);
  }
  if (known == 0) {
    return "<p class=\"note\">The keys of this operator do not say how much is moved or calculated, so the times stand "
           "alone.</p>\n" +
           bars_of(problems);
  }
  const DeviceNumbers& numbers = device.numbers;
  by_bytes.add_rate(numbers.bytes_per_us, fmt::format("memory, {:.0f} GB/s", numbers.bytes_per_us / 1e3));
  by_bytes.add_rate(numbers.cache_bytes_per_us,
                    fmt::format("last cache, {:.0f} GB/s", numbers.cache_bytes_per_us / 1e3));
  add_rates(by_operations, numbers);
  return fmt::format("<div class=\"row\">\n{}{}</div>\n{}", by_bytes.text(), by_operations.text(),
                     thinned_text(shown, problems.size(), "problems"));
}

std::string estimates_of(const Facts& facts) {
  std::vector<std::pair<const ProblemFact*, const KernelFact*>> all;
  for (const ProblemFact& problem : facts.problems) {
    for (const KernelFact& kernel : problem.kernels) {
      if (kernel.estimated_us > 0 && kernel.row.us > 0) all.emplace_back(&problem, &kernel);
    }
  }
  if (all.empty())
    return "<p class=\"note\">This library has none of the kernels that were measured: nothing to compare.</p>\n";
  LogChart chart("estimated against measured", "measured, us", "estimated, us");
  chart.add_rate(1, "as measured");
  const size_t stride = stride_for(all.size(), kMostEstimates);
  size_t shown = 0;
  for (size_t i = 0; i < all.size(); i += stride, ++shown) {
    const auto& [problem, kernel] = all[i];
    const bool is_best = kernel == &problem->kernels.front();
    chart.add_point(kernel->row.us, kernel->estimated_us, is_best ? "best" : "others",
                    fmt::format("{}: measured {:.4g} us, estimated {:.4g}", kernel->row.kernel, kernel->row.us,
                                kernel->estimated_us));
  }
  return chart.text() + thinned_text(shown, all.size(), "kernels");
}

}  // namespace qgen::report
