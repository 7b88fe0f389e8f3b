// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Which kernels of one family can run one problem on one device. select() calls this for the operator itself and for
// the families of each recipe's steps.
//
//   const Fitting fitting = fit({&op, fields, operands, &device}, {});
//   fitting.candidates    // cheapest first
//   fitting.rejections    // a sentence each, by id
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/engine/selector/select.h"

namespace qgen::selector {

struct Request {
  const OperatorInfo* op = nullptr;
  const void* problem = nullptr;
  std::span<const OperandDesc> operands;
  const DeviceProfile* device = nullptr;
  const KernelTimes* times = nullptr;  // of this problem; null: none are known
};

struct Filter {
  bool (*takes)(const void* parameters) = nullptr;  // null: every variant
  const KernelInfo* kernel = nullptr;               // only this; null: every one
  std::optional<size_t> row;                        // only this specialization
  bool reasons = true;                              // false: no rejections are written
  bool all_rows = false;                            // each specialization that fits; else the cheapest of a variant
  bool with_rarely_best = false;                    // SelectOptions::with_rarely_best
};

// Whether the filter selects `kernel`.
bool admits(const Filter& filter, const KernelInfo& kernel);

struct Candidate {
  const KernelInfo* kernel = nullptr;
  size_t row = 0;
  double cost_us = 0;
  double time_us = 0;
  TimeSource source = TimeSource::estimated;
  bool is_final = false;  // KnownTime::is_final
  std::array<uint64_t, 3> groups{};
};

// The order of candidates, and of choices.
template <typename Ranked>
std::tuple<TimeSource, bool, double> rank_of(const Ranked& ranked) {
  return {ranked.source, !ranked.is_final, ranked.time_us};
}
// A cost that is no number is the largest.
inline double ranked_cost(Real cost) {
  return std::isfinite(cost.value) ? cost.value : std::numeric_limits<double>::max();
}
inline double cost_of(const OperatorInfo& op, const SelectionScope& scope) { return ranked_cost(op.cost(scope)); }
// The known times of the id; null: none.
const KnownTime* known(const Request& request, std::string_view id);
// The time of a kernel whose cost is `cost_us`.
double time_of(const KnownTime& known, double cost_us);

struct Fitting {
  std::vector<Candidate> candidates;  // by rank, then id, then row
  std::vector<Rejection> rejections;  // by id
};

Fitting fit(const Request& request, const Filter& filter);

inline Launch launch_of(const OperatorInfo& family, const Candidate& candidate, std::vector<std::byte> problem,
                        std::vector<OperandSource> operands) {
  return {&family, candidate.kernel, candidate.row, candidate.groups, std::move(problem), std::move(operands)};
}

// A single kernel as a choice.
Choice choice_of(const Problem& problem, const Request& request, const Candidate& candidate);

// The fault of the request itself; empty: none.
std::string fault_of(const Problem& problem);

// "op.f32.vec4/workgroup128"
std::string kernel_id(const OperatorInfo& op, const KernelInfo& kernel, size_t row);
// "workgroup128", the part after the slash; empty without specialization constants.
std::string specialization_id(const OperatorInfo& op, size_t row);
// The row that is called so; nullopt: none is.
std::optional<size_t> specialization_row(const OperatorInfo& op, std::string_view id);

// "width 1023 is not a multiple of vec 4"; generally "applies_when `width >= 64` does not hold: width = 12".
std::string failed_condition(std::string_view keyword, const ConditionInfo& condition, const OperatorInfo& op,
                             const SelectionScope& scope);

// "f32 buffer", "f16 texture3d width_packed"
std::string to_text(const OperandDesc& desc);

// For a request that no kernel fits: the kernel that would fit with the fewest operands in another format, the cheapest
// of equals; or the possible formats of an operand that no kernel accepts. Empty where forms are not the trouble.
std::string hint_of_forms(const Request& request, const Filter& filter);

}  // namespace qgen::selector
