// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/tuner/verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/measure/trial.h"
#include "runtime/report/work.h"
#include "runtime/tuner/relatives.h"

namespace qgen::tuner {
namespace {

// The references do some 10^8 to 10^9 operations a second.
constexpr double kMostOperations = 2e8;
constexpr double kSecondsAllowed = 120;
// Results of reals whose error the reference alone can bound are held to one another within this part of the largest.
constexpr double kConsensus = 1.0 / 64;

// About how many steps the reference takes: one for each element, or for each term of a sum of products.
double operations_of(const Call& call) {
  double operations = report::work_of(call.problem).value_or(report::Work{}).operations / 2;
  for (const auto& operand : call.operands) {
    if (operand) operations = std::max(operations, static_cast<double>(element_count(operand->shape)));
  }
  return operations;
}

double largest_of(const HostTensor& tensor) {
  double largest = 0;
  for (int64_t i = 0; i < element_count(tensor.shape); ++i) largest = std::max(largest, std::abs(element(tensor, i)));
  return largest;
}

// What other kernels gave, as what is expected.
measure::Expectation expectation_by_consensus(const OperatorInfo& op, const Tensors& outputs) {
  measure::Expectation expected = measure::expectation_of(op, outputs);
  if (!op.tolerance.is_computed) {
    for (auto& [name, tolerance] : expected.tolerances) tolerance = {2 * tolerance.abs, 2 * tolerance.rel};
    return expected;
  }
  for (auto& [name, tolerance] : expected.tolerances) tolerance.abs = kConsensus * largest_of(outputs.at(name));
  return expected;
}

}  // namespace

Verifier::Verifier(Context& context, const runner::Program& program, const PreparedCall& problem,
                   std::function<void(double seconds)> allow)
    : context_(context), program_(program), problem_(problem), allow_(std::move(allow)) {}

Done Verifier::prepare(const OperatorEntry& entry, const runner::Task& task, const Request& request) {
  allow_(kSecondsAllowed);
  bool is_known = false;
  for (const runner::RequestText& text : relatives_of(task.request)) {
    auto parsed = runner::parse_request(entry, text);
    if (!parsed) continue;
    const auto complete_request = complete(entry, *std::move(parsed));
    if (!complete_request) continue;
    auto call = qgen::prepare(context_, entry, *complete_request);
    if (!call || operations_of(call->call) > kMostOperations) continue;
    auto expected = measure::expectation_by_reference(entry, *complete_request, program_.answers);
    if (!expected) break;
    is_known = true;
    relatives_.push_back({*std::move(call), *std::move(expected)});
  }
  if (operations_of(problem_.call) <= kMostOperations) {
    expected_ = measure::expectation_by_reference(entry, request, program_.answers);
    is_known = expected_.has_value();
  }
  if (is_known) return std::monostate{};
  return refused(fmt::format("'{}' has no reference that its kernels could be held to", entry.name));
}

Expected<Tensors> Verifier::run(const PreparedCall& call, const std::string& id) {
  const Selection selection =
      select(call.call.problem, context_.profile, context_.library, {.force = id, .best_only = true});
  if (selection.ranked.empty()) return no_kernel(selection);
  return measure::run_trial(context_, call, selection.ranked.front());
}

std::string Verifier::fault_of(const Tensors& got, const measure::Expectation& expected) const {
  for (const auto& [name, wanted] : expected.outputs) {
    const auto output = got.find(name);
    if (output == got.end()) continue;
    const auto comparison = measure::compare(output->second, expected, name);
    if (!comparison.fault.empty()) return fmt::format("{}{}", name, comparison.fault);
  }
  return "";
}

std::string Verifier::fault_on_relatives(const std::string& id) {
  for (const Case& relative : relatives_) {
    const auto got = run(relative.call, id);
    if (!got && got.error().kind == Error::Kind::unsupported) continue;  // it does not fit
    std::string fault = got ? fault_of(*got, relative.expected) : to_text(got.error());
    if (!fault.empty()) return fmt::format("{} (of {})", fault, key_of(relative.call.call.problem));
  }
  return "";
}

void Verifier::find_consensus(const std::vector<std::pair<std::string, Tensors>>& results) {
  const OperatorInfo& op = *problem_.call.problem.op;
  for (const auto& [id, tensors] : results) {
    auto expected = expectation_by_consensus(op, tensors);
    const auto agreeing =
        std::ranges::count_if(results, [&](const auto& other) { return fault_of(other.second, expected).empty(); });
    if (agreeing < 2 && results.size() > 1) continue;
    expected_ = std::move(expected);
    return;
  }
}

void Verifier::verify(std::span<const std::string> ids, const std::function<void(const std::string&)>& at,
                      const std::function<void(const std::string& id, const std::string& fault)>& say) {
  constexpr size_t kHeld = 3;  // results at a time, which may be large
  std::vector<std::pair<std::string, Tensors>> waiting;
  const auto settle = [&] {
    if (!expected_) find_consensus(waiting);
    for (const auto& [id, tensors] : waiting) {
      say(id, expected_ ? fault_of(tensors, *expected_) : "gives what no other kernel gives");
    }
    waiting.clear();
  };
  for (const std::string& id : ids) {
    at(id);
    std::string fault = fault_on_relatives(id);
    auto got = fault.empty() ? run(problem_, id) : Expected<Tensors>(Tensors());
    if (!got) fault = to_text(got.error());
    if (!fault.empty()) {
      say(id, fault);
    } else if (expected_) {
      say(id, fault_of(*got, *expected_));
    } else {
      waiting.emplace_back(id, *std::move(got));
      if (waiting.size() == kHeld) settle();
    }
  }
  settle();
}

std::string Verifier::repeat(const std::string& id, uint32_t times) {
  std::optional<Tensors> first;
  for (uint32_t i = 0; i < times; ++i) {
    auto got = run(problem_, id);
    if (!got) return to_text(got.error());
    if (!first) first = *std::move(got);
    else if (std::ranges::any_of(*first,
                                 [&](const auto& output) { return got->at(output.first).data != output.second.data; }))
      return fmt::format("gives other bits in run {} of {}", i + 1, times);
  }
  return "";
}

}  // namespace qgen::tuner
