// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/report/rooflines.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "common/time_text.h"
#include "runtime/workshop/report/svg.h"

namespace qgen::report {
namespace {

constexpr size_t kMostPoints = 400;      // of an operator's chart
constexpr size_t kMostEstimates = 2000;  // of the chart of all kernels
constexpr size_t kMostBars = 24;

// Every so many-th of a list, so that at most `most` are drawn.
size_t stride_for(size_t count, size_t most) { return (count + most - 1) / most; }

std::string thinned_text(size_t shown, size_t all, std::string_view what) {
  return shown == all ? "" : fmt::format("<p class=\"note\">{} of {} {} are drawn.</p>\n", shown, all, what);
}

// The unit of an operator's rates: kernels choose among them.
void add_rates(LogChart& chart, const DeviceNumbers& numbers) {
  const auto add = [&](double ops_per_us, std::string_view name) {
    chart.add_rate(ops_per_us, fmt::format("{}, {} TOP/s", name, rate_text(ops_per_us / 1e6)));
  };
  add(numbers.int8_matrix_ops_per_us, "int8 matrices");
  add(numbers.f16_matrix_ops_per_us, "f16 matrices");
  add(numbers.int8_ops_per_us, "int8 dot products");
  add(numbers.f32_ops_per_us, "f32");
}

void add_problem(LogChart& chart, double amount, const ProblemFact& problem) {
  const auto add = [&](const tuning::TunedRow& row, std::string_view kind) {
    chart.add_point(amount, row.us, kind, fmt::format("{}: {} us, {}", problem.name, us_text(row.us), row.kernel));
  };
  add(problem.kernels.front().row, "best");
  if (problem.untuned && *problem.untuned != 0) add(problem.kernels[*problem.untuned].row, "untuned");
}

// Where no work is known: bars, the longest time the whole width.
std::string bars_of(std::span<const ProblemFact> problems) {
  const auto shown = problems.first(std::min(problems.size(), kMostBars));
  double longest = 0;
  for (const ProblemFact& problem : shown) longest = std::max(longest, problem.best_us());
  size_t letters = 0;
  for (const ProblemFact& problem : shown) letters = std::max(letters, problem.name.size());
  const double row_height = 20, left = kLetter * static_cast<double>(letters) + 12, width = 300;
  const double height = row_height * static_cast<double>(shown.size()) + 24;
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {0:.0f} {1}\" width=\"{0:.0f}\" height=\"{1}\" role=\"img\" aria-label=\"time of each "
      "problem, us\">\n<text class=\"axis\" x=\"{2:.1f}\" y=\"14\">time of the best kernel, us</text>\n",
      left + width + 80, height, left);
  for (size_t i = 0; i < shown.size(); ++i) {
    const double y = 22 + row_height * static_cast<double>(i);
    const double length = longest > 0 ? width * shown[i].best_us() / longest : 0;
    svg += fmt::format(
        "<text class=\"tick\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{}\">{}</text><rect class=\"bar\" x=\"{:.1f}\" "
        "y=\"{}\" width=\"{:.1f}\" height=\"14\"/><text class=\"tick\" x=\"{:.1f}\" y=\"{}\">{}</text>\n",
        left - 6, y + 11, escaped(shown[i].name), left, y, length, left + length + 5, y + 11,
        us_text(shown[i].best_us()));
  }
  return "<div class=\"wide\">" + svg + "</svg></div>\n" + thinned_text(shown.size(), problems.size(), "problems");
}

}  // namespace

std::string rooflines_of(std::span<const ProblemFact> problems, const DeviceProfile& device) {
  LogChart by_bytes("time over bytes moved", "bytes moved", "time, us");
  LogChart by_operations("time over operations", "operations", "time, us");
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
    return "<p class=\"note\">The keys of this operator do not give bytes or operations, so only times are "
           "shown.</p>\n" +
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
    return "<p class=\"note\">This library has none of the measured kernels, so there is nothing to compare.</p>\n";
  const auto is_best = [](const auto& entry) { return entry.second == &entry.first->kernels.front(); };
  // The others are many, and would cover them.
  std::stable_partition(all.begin(), all.end(), std::not_fn(is_best));
  LogChart chart("estimated over measured time", "measured, us", "estimated, us");
  chart.add_rate(1, "as measured");
  const size_t stride = stride_for(all.size(), kMostEstimates);
  size_t shown = 0;
  for (size_t i = 0; i < all.size(); i += stride, ++shown) {
    const KernelFact& kernel = *all[i].second;
    chart.add_point(kernel.row.us, kernel.estimated_us, is_best(all[i]) ? "best" : "others",
                    fmt::format("{}: measured {} us, estimated {}", kernel.row.kernel, us_text(kernel.row.us),
                                us_text(kernel.estimated_us)));
  }
  return chart.text() + thinned_text(shown, all.size(), "kernels");
}

}  // namespace qgen::report
