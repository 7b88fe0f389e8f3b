// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Call of specs/pointwise: the chain is checked, and the operands' shapes are broadcast to strides.
// docs/pointwise.md has the formulas.
#include <fmt/format.h>

#include <algorithm>

#include "operators.h"
#include "pointwise.h"
#include "runtime/engine/calls/placement.h"
#include "runtime/engine/operators/broadcast.h"
#include "runtime/engine/operators/divider.h"
#include "runtime/engine/operators/merge_dimensions.h"
#include "runtime/engine/operators/pointwise/chain.h"
#include "silu_mul.h"
#include "vocabulary/integer.h"

namespace qgen::generated::operators {
namespace {

using namespace chains;  // NOLINT(google-build-using-namespace): the chain's numbers
constexpr size_t kOperands = kMostInputs + 1;
using Operands = std::array<std::optional<TensorDesc>, kOperands>;

// ---- the chain ------------------------------------------------------------------------------------------------------

std::string_view name_of(Step step) { return words::kPointwiseStep[static_cast<size_t>(step)]; }

class CheckedChain {
 public:
  CheckedChain(const std::vector<int64_t>& steps, const std::vector<int64_t>& constants, const Operands& operands)
      : steps_(steps), constants_(constants), operands_(operands) {}

  Done check(bool of_reals) {
    if (steps_.empty() || steps_.size() % 4 != 0 || steps_.size() > 4 * kMostSteps)
      return refused(
          fmt::format("steps has {} numbers, and must have four for each of 1 to {} steps", steps_.size(), kMostSteps));
    if (constants_.size() > kMostConstants)
      return refused(fmt::format("constants has {} numbers, and can have {}", constants_.size(), kMostConstants));
    for (size_t i = 0; i < steps_.size(); i += 4) {
      if (Done sound = check_step(i, of_reals); !sound) return sound;
    }
    if (static_cast<Step>(steps_[steps_.size() - 4]) == Step::keep)
      return refused("the last step keeps a value, and must compute the result");
    return std::monostate{};
  }

 private:
  Done check_step(size_t at, bool of_reals) {
    const int64_t number = steps_[at];
    if (number < 0 || number >= std::ssize(words::kPointwiseStep))
      return refused(
          fmt::format("step {} is {}, and steps are 0 to {}", at / 4, number, std::ssize(words::kPointwiseStep) - 1),
          "docs/pointwise.md lists them");
    const auto step = static_cast<Step>(number);
    if (info_of(step).elements == (of_reals ? OperationInfo::Elements::integers : OperationInfo::Elements::reals))
      return refused(fmt::format("step {} is {}, which is for {} elements", at / 4, name_of(step),
                                 of_reals ? "integer" : "floating-point"));
    for (size_t s = 0; s < source_count(step); ++s) {
      if (Done sound = check_source(at, steps_[at + 1 + s]); !sound) return sound;
    }
    if (step == Step::keep) {
      const int64_t place = steps_[at + 2] - kFirstKept;
      if (place < 0 || place >= static_cast<int64_t>(kMostKept))
        return refused(fmt::format("step {} keeps a value as {}, and can as {} to {}", at / 4, steps_[at + 2],
                                   kFirstKept, kFirstKept + kMostKept - 1));
      is_kept_[static_cast<size_t>(place)] = true;
    } else {
      has_previous_ = true;
    }
    return std::monostate{};
  }

  Done check_source(size_t at, int64_t source) const {
    const auto lacks = [&](const char* what) {
      return refused(fmt::format("step {} reads source {}: {}", at / 4, source, what),
                     "docs/pointwise.md lists sources");
    };
    if (source == kPrevious) return has_previous_ ? Done(std::monostate{}) : lacks("no step is before it");
    if (source >= kFirstInput && source <= kMask)
      return operands_[static_cast<size_t>(source - kFirstInput)] ? Done(std::monostate{})
                                                                  : lacks("this operand is not given");
    if (source >= kFirstKept && source < kFirstConstant)
      return is_kept_[static_cast<size_t>(source - kFirstKept)] ? Done(std::monostate{})
                                                                : lacks("no step before it keeps this value");
    if (source >= kFirstConstant && source - kFirstConstant < std::ssize(constants_)) return std::monostate{};
    return lacks("there is no such source");
  }

  const std::vector<int64_t>&steps_, &constants_;
  const Operands& operands_;
  bool has_previous_ = false;
  std::array<bool, kMostKept> is_kept_{};
};

uint32_t groups_of(const std::vector<int64_t>& steps) {
  uint32_t groups = 0;
  for (size_t i = 0; i < steps.size(); i += 4) groups |= info_of(static_cast<Step>(steps[i])).groups;
  return groups;
}

// ---- shapes ---------------------------------------------------------------------------------------------------------

std::string operand_name(size_t i) { return i == kMostInputs ? "mask" : fmt::format("input_{}", i + 1); }

Done check_operands(const Operands& operands) {
  for (size_t i = 1; i < kMostInputs; ++i) {
    if (operands[i] && !operands[i - 1])
      return refused(fmt::format("{} is given, but {} is not", operand_name(i), operand_name(i - 1)));
    if (operands[i] && operands[i]->dtype != operands[0]->dtype)
      return refused(fmt::format("{} is {}, and input_1 is {}: all inputs must have the same dtype", operand_name(i),
                                 name(operands[i]->dtype), name(operands[0]->dtype)));
  }
  return std::monostate{};
}

struct Side {
  int64_t side;
  std::array<int64_t, kOperands> strides;
};

// Of the output, innermost first, in as few dimensions as say the same.
std::vector<Side> sides_of(const Shape& output, const Operands& operands) {
  std::vector<Side> sides;
  std::array<int64_t, kOperands> next;
  next.fill(1);
  for (size_t from_end = 0; from_end < output.size(); ++from_end) {
    Side side{output[output.size() - 1 - from_end], {}};
    for (size_t i = 0; i < kOperands; ++i) {
      if (!operands[i] || from_end >= operands[i]->shape.size()) continue;
      const int64_t own = operands[i]->shape[operands[i]->shape.size() - 1 - from_end];
      side.strides[i] = own == 1 ? 0 : next[i];
      next[i] *= own;
    }
    sides.push_back(side);
  }
  return merge_dimensions(sides, [](const Side& outer, const Side& inner) -> std::optional<Side> {
    for (size_t i = 0; i < kOperands; ++i) {
      if (outer.strides[i] != inner.strides[i] * inner.side) return std::nullopt;
    }
    return Side{outer.side * inner.side, inner.strides};
  });
}

std::array<uint32_t, 8 * kOperands> strides_of(const std::vector<Side>& sides) {
  std::array<uint32_t, 8 * kOperands> strides{};
  for (size_t i = 0; i < kOperands; ++i) {
    for (size_t d = 0; d < sides.size(); ++d) strides[8 * i + d] = u32(sides[d].strides[i]);
  }
  return strides;
}

uint32_t mode_of(const std::optional<TensorDesc>& operand, const Shape& output) {
  if (!operand || element_count(operand->shape) == 1) return 1;
  return element_count(operand->shape) == element_count(output) ? 0 : 2;
}

std::array<uint32_t, 8> modes_of(const Operands& operands, const Shape& output) {
  std::array<uint32_t, 8> modes{};
  for (size_t i = 0; i < kOperands; ++i) modes[i] = mode_of(operands[i], output);
  return modes;
}

}  // namespace

Expected<Call> infer(const PointwiseInputs<Described>& inputs, const PointwiseAttributes& attributes) {
  const Operands operands{inputs.input_1.get(), inputs.input_2, inputs.input_3, inputs.input_4,
                          inputs.input_5,       inputs.input_6, inputs.mask};
  if (Done sound = check_operands(operands); !sound) return sound.error();
  const DType dtype = operands[0]->dtype;
  const std::vector<int64_t> constants = attributes.constants.value_or(std::vector<int64_t>());
  const std::vector<int64_t>& steps = attributes.steps;
  if (Done sound = CheckedChain(steps, constants, operands).check(is_real(dtype)); !sound) return sound.error();
  TensorDesc output{attributes.output_dtype.value_or(dtype), operands[0]->shape};
  for (size_t i = 1; i < kOperands; ++i) {
    if (!operands[i]) continue;
    auto shape = common_shape(output.shape, operands[i]->shape);
    if (!shape) return shape.error();
    output.shape = *std::move(shape);
  }
  if (Done size = check_size("output", output); !size) return size.error();

  const auto numel = u32(element_count(output.shape));
  const std::vector<Side> sides = numel > 0 ? sides_of(output.shape, operands) : std::vector<Side>();
  const std::array<uint32_t, 8> modes = modes_of(operands, output.shape);
  const auto count = std::count_if(operands.begin(), operands.begin() + kMostInputs,
                                   [](const std::optional<TensorDesc>& it) { return it.has_value(); });
  const pointwise::Problem fields{
      .numel = numel,
      .operation = static_cast<Step>(steps[0]),
      .step_count = static_cast<uint32_t>(steps.size() / 4),
      .groups = groups_of(steps),
      .inputs = static_cast<uint32_t>(count),
      .has_mask = operands[kMostInputs] ? 1u : 0u,
      .is_dense = std::ranges::find(modes, 2u) == modes.end() ? 1u : 0u,
      .rank = static_cast<uint32_t>(sides.size()),
      .dividers = dividers_of(sides),
      .modes = modes,
      .strides = strides_of(sides),
      .steps = packed_steps(steps),
      .constants = packed_constants(constants),
  };
  return make_call(fields, inputs, {.output = output});
}

Expected<Call> infer(const SiluMulInputs<Described>& inputs) {
  const TensorDesc& input = inputs.input;
  if (input.shape.back() % 2 != 0)
    return refused(fmt::format("input is {}, and its last side must be even", to_text(input.shape)));
  Shape shape = input.shape;
  shape.back() /= 2;
  const int64_t count = element_count(shape);
  const silu_mul::Problem fields{
      .rows = count == 0 ? 0 : u32(count / shape.back()),
      .columns = count == 0 ? 1 : u32(shape.back()),  // a side may be past 32 bits
      .numel = u32(count),
  };
  return make_call(fields, inputs, {.output = TensorDesc{input.dtype, shape}});
}

}  // namespace qgen::generated::operators
