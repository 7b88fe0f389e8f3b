// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/runner/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "common/files.h"
#include "common/json/write.h"
#include "common/text.h"
#include "runtime/engine/selector/select.h"

namespace qgen::runner {
namespace {

using Kind = CaseResult::Kind;

using Json = nlohmann::ordered_json;

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::passed: return "passed";
    case Kind::failed: return "failed";
    case Kind::unknown_operator: return "unknown operator";
  }
  return "?";
}

double gb_per_s(uint64_t bytes, double us) { return us > 0 ? static_cast<double>(bytes) / us / 1e3 : 0; }

Json json_of(const CaseResult& result) {
  return {{"name", result.name},
          {"result", name(result.kind)},
          {"kernels", result.kernels},
          {"runs", result.runs},
          {"skipped_ways", result.skipped_ways},
          {"largest_error", result.largest_error},
          {"faults", result.faults},
          {"fault", result.fault},
          {"kernel", result.failed_kernel}};
}

Json json_of(const TimedKernel& kernel, uint64_t bytes) {
  return {{"id", kernel.id},
          {"median_us", kernel.device_us.median},
          {"low_us", kernel.device_us.low},
          {"high_us", kernel.device_us.high},
          {"gb_per_s", gb_per_s(bytes, kernel.device_us.median)}};
}

// The first facts about a tensor for people: its beginning, and for a longer one the range of its values.
std::string values_of(const HostTensor& tensor) {
  constexpr int64_t kShown = 8;
  const int64_t count = element_count(tensor.shape);
  if (count == 0) return "no elements";
  std::vector<std::string> shown;
  for (int64_t i = 0; i < std::min(count, kShown); ++i) shown.push_back(fmt::format("{:.6g}", element(tensor, i)));
  if (count <= kShown) return fmt::format("{}", fmt::join(shown, ", "));
  double least = std::numeric_limits<double>::infinity(), largest = -least;
  int64_t nans = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double value = element(tensor, i);
    nans += std::isnan(value) ? 1 : 0;
    least = std::fmin(least, value);
    largest = std::fmax(largest, value);
  }
  std::string text = fmt::format("{}, ...", fmt::join(shown, ", "));
  if (nans < count) text += fmt::format("  from {:.6g} to {:.6g}", least, largest);
  if (nans > 0) text += fmt::format("  {} of {} are nan", nans, count);
  return text;
}

}  // namespace

size_t CaseReport::count(Kind kind) const {
  return static_cast<size_t>(std::ranges::count(results, kind, &CaseResult::kind));
}

std::string lines_of(const CaseResult& result, std::string_view program) {
  if (result.kind == Kind::unknown_operator) return fmt::format("--    {}: {}\n", result.name, result.fault);
  std::string text;
  if (result.kind == Kind::passed) {
    text = fmt::format("ok    {}: {} runs of {} kernels, largest error {:.3g}\n", result.name, result.runs,
                       result.kernels, result.largest_error);
  } else {
    text = fmt::format("FAIL  {}: {}\n", result.name, result.fault);
    if (result.faults > 1) text += fmt::format("      and {} more of {} runs\n", result.faults - 1, result.runs);
  }
  if (result.skipped_ways > 0) {
    text += fmt::format("      skipped: {}{}\n", result.skipped_reason,
                        result.skipped_ways > 1 ? fmt::format("; and {} more", result.skipped_ways - 1) : "");
  }
  if (result.failed_kernel.empty()) return text;
  return text + fmt::format("      again: {} --cases {} --all-kernels --kernel '{}'\n", program, result.folder,
                            result.failed_kernel);
}

std::string summary_of(const CaseReport& report) {
  return fmt::format("{} passed, {} failed, {} of unknown operators, on \"{}\"{}\n", report.count(Kind::passed),
                     report.count(Kind::failed), report.count(Kind::unknown_operator), report.device,
                     report.has_references ? ""
                                           : "; compared only with the cases' expected values, since there are "
                                             "no references");
}

std::string to_json(const CaseReport& report) {
  Json cases = Json::array();
  for (const CaseResult& result : report.results) cases.push_back(json_of(result));
  return json::to_text({{"device", report.device},
                        {"folder", report.folder},
                        {"passed", report.count(Kind::passed)},
                        {"failed", report.count(Kind::failed)},
                        {"unknown_operator", report.count(Kind::unknown_operator)},
                        {"cases", std::move(cases)}}) +
         "\n";
}

std::string to_text(const RunReport& report) {
  std::string text = fmt::format("{} on \"{}\"\n", report.kernel, report.device);
  for (const OutputTensor& made : report.made) {
    text += wrapped_lines(fmt::format("  {}  {} {}  {}", made.name, qgen::name(made.tensor.dtype),
                                      qgen::to_text(made.tensor.shape), values_of(made.tensor)));
    text += made.file.empty() ? "\n" : fmt::format("  -> {}\n", printable(made.file));
  }
  return text;
}

std::string to_text(const Choice& choice, std::span<const std::vector<Statistic>> launches) {
  std::string text;
  for (size_t i = 0; i < launches.size(); ++i) {
    text += fmt::format("the driver's statistics of {}:{}\n", choice.launches[i].kernel->id,
                        launches[i].empty() ? " nothing" : "");
    for (const Statistic& s : launches[i]) text += fmt::format("  {}: {}\n", printable(s.name), s.value);
  }
  return text;
}

// The plateau that was reached; of a device that keeps its own clock nothing.
std::string clock_text(const measure::ClockLevel& clock) {
  if (clock.rates.operations == 0) return "";
  const std::string fallen =
      clock.is_steady()
          ? ""
          : fmt::format(", {:.0f} % of its best: NOT STEADY, so times are too long", 100 * clock.of_plateau);
  return fmt::format("clock: copies {:.0f} GB/s, calculates {:.2f} TFLOP/s{}\n", clock.rates.copied_bytes / 1e3,
                     clock.rates.operations / 1e6, fallen);
}

std::string to_text(const TimeReport& report) {
  std::string text = lines_of_question(report.question) + "\n";
  text += fmt::format("{:>10}  {:>19}  {:>7}  {:>7}  kernel\n", "us", "10 % .. 90 %", "GB/s", "of copy");
  for (const TimedKernel& kernel : report.kernels) {
    const measure::Spread& us = kernel.device_us;
    const double share = us.median > 0 ? 100 * report.copy_us.median / us.median : 0;
    text += fmt::format("{:>10.2f}  {:>8.2f} .. {:>7.2f}  {:>7.1f}  {:>5.0f} %  {}\n", us.median, us.low, us.high,
                        gb_per_s(report.bytes_moved, us.median), share, kernel.id);
  }
  const measure::Spread& copy = report.copy_us;
  text += fmt::format("{:>10.2f}  {:>8.2f} .. {:>7.2f}  {:>7.1f}           a plain copy of as many bytes, {}\n",
                      copy.median, copy.low, copy.high, gb_per_s(report.bytes_moved, copy.median), report.bytes_moved);
  if (report.is_cold)
    text +=
        "with a cold cache: each replay reads another copy of the weights, or of the inputs if there are no "
        "weights\n";
  return text + clock_text(report.clock);
}

std::string to_json(const TimeReport& report) {
  Json kernels = Json::array();
  for (const TimedKernel& kernel : report.kernels) kernels.push_back(json_of(kernel, report.bytes_moved));
  return json::to_text({{"device", report.device},
                        {"question", report.question},
                        {"bytes_moved", report.bytes_moved},
                        {"copy_us", report.copy_us.median},
                        {"is_cold", report.is_cold},
                        {"clock_of_plateau", report.clock.of_plateau},
                        {"kernels", std::move(kernels)}}) +
         "\n";
}

Done check_can_write_json(const std::string& file) {
  return file.empty() ? Done(std::monostate{}) : check_can_write(file);
}

Done write_json(const std::string& file, const std::string& json) {
  if (file.empty()) return std::monostate{};
  Outputs outputs;
  if (Done added = outputs.add(file, json); !added) return added;
  return outputs.commit();
}

}  // namespace qgen::runner
