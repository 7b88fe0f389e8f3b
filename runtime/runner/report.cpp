// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/runner/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace qgen::runner {
namespace {

using Kind = CaseResult::Kind;

std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? "\\n" : static_cast<unsigned char>(c) < 0x20 ? " " : std::string(1, c);
  }
  return result + '"';
}

std::string number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::passed: return "passed";
    case Kind::failed: return "failed";
    case Kind::unknown_operator: return "unknown operator";
  }
  return "?";
}

double gb_per_s(uint64_t bytes, double us) { return us > 0 ? static_cast<double>(bytes) / us / 1e3 : 0; }

std::string json_of(const CaseResult& result) {
  return fmt::format(
      "{{\"name\": {}, \"result\": {}, \"kernels\": {}, \"runs\": {}, \"largest_error\": {}, \"faults\": {}, "
      "\"fault\": {}, "
      "\"kernel\": {}}}",
      json_string(result.name), json_string(name(result.kind)), result.kernels, result.runs,
      number(result.largest_error), result.faults, json_string(result.fault), json_string(result.failed_kernel));
}

std::string json_of(const Measurement& kernel, uint64_t bytes) {
  return fmt::format(
      "{{\"id\": {}, \"median_us\": {:.3f}, \"low_us\": {:.3f}, \"high_us\": {:.3f}, \"gb_per_s\": {:.1f}}}",
      json_string(kernel.kernel), kernel.device_us.median, kernel.device_us.low, kernel.device_us.high,
      gb_per_s(bytes, kernel.device_us.median));
}

}  // namespace

size_t CaseReport::count(Kind kind) const {
  return static_cast<size_t>(std::ranges::count(results, kind, &CaseResult::kind));
}

std::string lines_of(const CaseResult& result) {
  if (result.kind == Kind::unknown_operator) return fmt::format("--    {}: unknown operator\n", result.name);
  if (result.kind == Kind::passed) {
    return fmt::format("ok    {}: {} runs of {} kernels, largest error {:.3g}\n", result.name, result.runs,
                       result.kernels, result.largest_error);
  }
  std::string text = fmt::format("FAIL  {}: {}\n", result.name, result.fault);
  if (result.faults > 1) text += fmt::format("      and {} more of {} runs\n", result.faults - 1, result.runs);
  if (result.failed_kernel.empty()) return text;
  return text + fmt::format("      again: qgen-run --cases {} --all-kernels --kernel '{}'\n", result.folder,
                            result.failed_kernel);
}

std::string summary_of(const CaseReport& report) {
  return fmt::format("{} passed, {} failed, {} of unknown operators, on \"{}\"\n", report.count(Kind::passed),
                     report.count(Kind::failed), report.count(Kind::unknown_operator), report.device);
}

std::string to_json(const CaseReport& report) {
  std::vector<std::string> cases;
  for (const CaseResult& result : report.results) cases.push_back(json_of(result));
  return fmt::format(
      "{{\"device\": {}, \"folder\": {}, \"passed\": {}, \"failed\": {}, \"unknown_operator\": {},\n \"cases\": [\n  "
      "{}\n]}}\n",
      json_string(report.device), json_string(report.folder), report.count(Kind::passed), report.count(Kind::failed),
      report.count(Kind::unknown_operator), fmt::join(cases, ",\n  "));
}

std::string to_text(const TimeReport& report) {
  std::string text = fmt::format("{}\n{:>10}  {:>19}  {:>7}  {:>7}  kernel\n", report.question, "us", "10 % .. 90 %",
                                 "GB/s", "of copy");
  for (const Measurement& kernel : report.kernels) {
    const Spread& us = kernel.device_us;
    const double share = us.median > 0 ? 100 * report.copy_us.median / us.median : 0;
    text += fmt::format("{:>10.2f}  {:>8.2f} .. {:>7.2f}  {:>7.1f}  {:>5.0f} %  {}\n", us.median, us.low, us.high,
                        gb_per_s(report.bytes_moved, us.median), share, kernel.kernel);
  }
  const Spread& copy = report.copy_us;
  return text +
         fmt::format("{:>10.2f}  {:>8.2f} .. {:>7.2f}  {:>7.1f}           a plain copy that moves as much: {} bytes\n",
                     copy.median, copy.low, copy.high, gb_per_s(report.bytes_moved, copy.median), report.bytes_moved);
}

std::string to_json(const TimeReport& report) {
  std::vector<std::string> kernels;
  for (const Measurement& kernel : report.kernels) kernels.push_back(json_of(kernel, report.bytes_moved));
  return fmt::format(
      "{{\"device\": {}, \"question\": {}, \"bytes_moved\": {}, \"copy_us\": {:.3f},\n \"kernels\": [\n  {}\n]}}\n",
      json_string(report.device), json_string(report.question), report.bytes_moved, report.copy_us.median,
      fmt::join(kernels, ",\n  "));
}

}  // namespace qgen::runner
