// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Which kernel runs a problem on a device, and why not the others. Pure: no Vulkan, no clock, no environment.
//
//   const auto selection = select(problem, profile, library);
//   if (selection.ranked.empty()) return no_kernel(selection);
//   dispatch(selection.ranked.front());
//
// The explanation names a reason for every kernel:
//
//   no kernel fits row_softmax of x f16 buffer -> y f16 buffer (rows = 4096, columns = 1023) on "Example GPU 1"
//     row_softmax.f16.vec4: columns 1023 is not a multiple of vec 4
//     row_softmax.f16.vec1: needs storage_buffer_16bit, which the device lacks
//     row_softmax.f32.vec1 and 1 more: takes x as f32 buffer, given f16 buffer
//     hint: row_softmax.f32.vec1 fits with x as f32 buffer, y as f32 buffer
//
// A kernel is kept if the device has what its module needs, its limits hold, it takes the operands as they are, and the
// spec's conditions hold. A recipe is kept if its own conditions hold and each of its steps has a kernel.
//
// What is kept is ranked by the spec's cost, that of a recipe being the sum of its parts; ties by id, those of one
// variant in the order of the spec's values. Where times are known (SelectOptions::times), what has one stands first,
// the most trusted source before the next: a time and an estimate do not compare. A recipe is measured as a whole, so
// its steps never are.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/device/device_profile.h"
#include "runtime/library/error.h"
#include "runtime/library/kernel_library.h"
#include "runtime/selector/problem.h"
#include "runtime/selector/times.h"

namespace qgen {

// One dispatch of one kernel.
struct Launch {
  const OperatorInfo* op = nullptr;  // the family the kernel belongs to
  const KernelInfo* kernel = nullptr;
  size_t specialization = 0;            // row of op->specializations
  std::array<uint64_t, 3> groups{};     // before folding into the device's limits
  std::vector<std::byte> problem;       // the family's Problem
  std::vector<OperandSource> operands;  // one for each operand of the family: of the whole operator, or scratch
};

struct Choice {
  std::string id;  // "op.f32.i8.vec4/workgroup128"; of a recipe "op.two_pass(first kernel's id, ...)"
  const RecipeInfo* recipe = nullptr;  // null: a single kernel
  std::vector<Launch> launches;
  std::vector<uint64_t> scratch_elements;  // one for each row of recipe->scratch
  double cost_us = 0;                      // as the spec estimates it
  double time_us = 0;                      // what it is ranked by; the cost, where nothing better is known
  TimeSource source = TimeSource::estimated;
  std::string said;                        // of what is known, KnownTime::said
  std::shared_ptr<const Problem> problem;  // what it was chosen for; null: it was made by hand
};

// How far a refused kernel came: the checks in their order.
enum class Hurdle : uint8_t {
  request,   // what was asked for does not exist or is malformed
  operands,  // it takes operands of other forms
  device,    // the device lacks a feature, or a limit is too low
  problem,   // applies_when does not hold, or the grid is too large
};

struct Rejection {
  std::string id;      // of the variant or recipe; with its specialization where only that is refused
  std::string reason;  // "needs subgroup_arithmetic, which the device lacks"
  Hurdle hurdle = Hurdle::request;
};

struct Selection {
  std::string question;        // "quantize_affine of input f32 buffer -> output i8 buffer (numel = 12) on \"llvmpipe\""
  std::vector<Choice> ranked;  // cheapest first; a problem without work has choices of zero workgroups
  std::vector<Rejection> rejected;  // kernels by id, then recipes
  std::string hint;                 // of an empty ranking: what would help, or empty
};

struct SelectOptions {
  // Only this: a variant id, a kernel id with its specialization, a recipe id, or a Choice's id. An id that does not
  // exist, or does not fit, leaves `ranked` empty and the reason in `rejected`.
  std::string force;
  // All specializations of a variant as choices of their own (for tuning and for --all-kernels); else the cheapest.
  bool all_specializations = false;
  // For recipes: every admissible kernel of each step in turn, the others at their best.
  bool all_step_kernels = false;
  // What a dispatch at a new shape needs: `ranked` holds the best choice alone, and `rejected` is empty unless nothing
  // fits. Of 500 kernels the sentences and the other choices take nine tenths of the time.
  bool best_only = false;
  bool best_or_nothing = false;        // no question, and where nothing fits not even why: for those who ask about many
  const KernelTimes* times = nullptr;  // what is known of this problem; null: the spec's costs alone
};

Selection select(const Problem& problem, const DeviceProfile& device, const KernelLibrary& library,
                 const SelectOptions& options = {});

// What a choice runs, by its id: the digest of its module, or of those of a recipe's steps in their order. It is the
// same wherever the same SPIR-V is. nullopt: the library has no such choice.
std::optional<uint64_t> digest_of(const OperatorInfo& op, std::string_view choice_id, const KernelLibrary& library);

// Of a recipe, by those of its steps' modules.
uint64_t joined_digest(std::span<const uint64_t> of_steps);

// The whole decision, for --explain: the ranking with times and where each comes from, then a sentence
// per refusal, equal reasons gathered, what came furthest first. No list of the two is longer than max_lines.
std::string explain(const Selection& selection, size_t max_lines = 20);

// Of a selection without a choice, why there is none. The cause comes first: where one kernel was asked for, or the
// request itself is at fault, it is all that is said, and where every kernel refused, the explanation is.
Error no_kernel(const Selection& selection);

}  // namespace qgen
