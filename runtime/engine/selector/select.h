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
// A kernel fits if the device has the features that its module needs, the device's limits allow it, it accepts the
// operands in their formats, and the spec's conditions hold. A recipe fits if its conditions hold and each of its steps
// has a kernel that fits.
//
// Fitting choices are ranked by the spec's cost; the cost of a recipe is the sum of its steps'. Equal costs are ordered
// by id, kernels of one variant in the order of the spec's values. Choices with known times (SelectOptions::times) rank
// first, those with the more trusted source ahead, since a time and an estimate cannot be compared. Of one source, the
// kernels of a final round rank ahead. A recipe is measured as a whole, so its steps have no times.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/device/device_profile.h"
#include "runtime/engine/library/error.h"
#include "runtime/engine/library/kernel_library.h"
#include "runtime/engine/selector/problem.h"
#include "runtime/engine/selector/times.h"

namespace qgen {

// One dispatch of one kernel.
struct Launch {
  const OperatorInfo* op = nullptr;  // the family the kernel belongs to
  const KernelInfo* kernel = nullptr;
  size_t specialization = 0;            // row of op->specializations
  std::array<uint64_t, 3> groups{};     // before folding into the device's limits
  std::vector<std::byte> problem;       // the family's Problem
  std::vector<OperandSource> operands;  // one for each operand of the family: of the whole operator, or scratch
  // Scratch from whose first three elements, u32, the device reads the number of workgroups. An earlier launch writes
  // them: up to `groups`, and a few more where x * y is rounded up. kAbsent: `groups`.
  uint8_t indirect = kAbsent;
};

struct Choice {
  std::string id;  // "op.f32.i8.vec4/workgroup128"; of a recipe "op.two_pass(first kernel's id, ...)"
  const RecipeInfo* recipe = nullptr;  // null: a single kernel
  std::vector<Launch> launches;
  std::vector<uint64_t> scratch_elements;  // one for each row of recipe->scratch
  double cost_us = 0;                      // as the spec estimates it
  double time_us = 0;                      // it is ranked by this; the cost, if no time is known
  TimeSource source = TimeSource::estimated;
  bool is_final = false;                   // KnownTime::is_final
  std::string source_text;                 // where time_us comes from, KnownTime::source_text
  std::shared_ptr<const Problem> problem;  // the problem of the choice; null: it was made by hand
};

// Which check refused a kernel, in the order of the checks.
enum class RefusedBy : uint8_t {
  request,      // the requested kernel does not exist, or the request is malformed
  operands,     // it accepts other dtypes, storages or layouts
  device,       // the device lacks a feature, or a limit is too low; or the choice is quarantined there
  rarely_best,  // its spec says that it was rarely the best on this architecture
  problem,      // applies_when does not hold, or the grid is too large
};

struct Rejection {
  std::string id;      // of the variant or recipe; with its specialization where only that is refused
  std::string reason;  // "needs subgroup_arithmetic, which the device lacks"
  RefusedBy refused_by = RefusedBy::request;
};

struct Selection {
  // "quantize_affine of input f32 [3, 4] -> output i8 [3, 4] on \"llvmpipe\"". Of a problem made without shapes, its
  // fields stand in their place: "... (numel = 12) on ...".
  std::string question;
  std::string fields;               // the problem as conditions read it: "numel = 12, scale = 0.5"
  std::vector<Choice> ranked;       // cheapest first; a problem without work has choices of zero workgroups
  std::vector<Rejection> rejected;  // kernels by id, then recipes
  std::string hint;                 // if the ranking is empty: a hint, or empty
  std::vector<std::string> notes;   // KernelTimes::notes()
};

struct SelectOptions {
  // Only this: a variant id, a kernel id with its specialization, a recipe id, or a Choice's id. An id that does not
  // exist, or does not fit, leaves `ranked` empty and the reason in `rejected`.
  std::string force = {};
  // All specializations of a variant as separate choices (for tuning and for --all-kernels); else the cheapest.
  bool all_specializations = false;
  // Also kernels that were rarely the best on the device's architecture: for --all-kernels and exhaustive tuning.
  // Without it, they are choices only if a time of them is known, if they are forced, or if nothing else fits.
  bool with_rarely_best = false;
  // For recipes: every admissible kernel of each step in turn, the others at their best.
  bool all_step_kernels = false;
  // For a dispatch at a new shape: `ranked` has only the best choice, and `rejected` is empty unless nothing fits. With
  // 500 kernels, the sentences and the other choices take nine tenths of the time.
  bool best_only = false;
  // Also without `question`, and without reasons if nothing fits: for callers with many problems.
  bool best_or_nothing = false;
  const KernelTimes* times = nullptr;  // the known times of this problem, and what is quarantined; null: only costs
};

Selection select(const Problem& problem, const DeviceProfile& device, const KernelLibrary& library,
                 const SelectOptions& options = {});

// The digest of a choice's module, by the choice's id; of a recipe, of its steps' modules in their order. Equal for
// equal SPIR-V on every machine. nullopt: the library has no such choice.
std::optional<uint64_t> digest_of(const OperatorInfo& op, std::string_view choice_id, const KernelLibrary& library);

// The digest of a recipe, from its steps' modules.
uint64_t joined_digest(std::span<const uint64_t> of_steps);

// The whole decision, for --explain: the ranking, with times and their sources; then the refused kernels, grouped by
// reason, the ones that passed the most checks first. If some kernels fit, kernels for other dtypes or layouts are only
// counted.
struct ExplainOptions {
  size_t max_lines = 20;  // of each of the two lists
  bool has_all = false;   // lists are complete, nothing is only counted, and the problem's fields are at the end
};
std::string explain(const Selection& selection, const ExplainOptions& options = {});
// Selection::question in lines of 100 columns. The device's name, the last part, stays in one line.
std::string lines_of_question(std::string_view question);

// The reason why a selection has no choice. If one kernel was requested, or the request itself is at fault, that reason
// is the whole message. If every kernel was refused, the explanation is.
Error no_kernel(const Selection& selection);

}  // namespace qgen
