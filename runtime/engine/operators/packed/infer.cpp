// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Calls of specs/packed: int8 tensors between the layouts of docs/layouts.md, and between them and floating-point
// tensors. Any rank, any sides.
#include <fmt/format.h>

#include <algorithm>

#include "operators.h"
#include "q8ta_clone.h"
#include "q8ta_dequantize.h"
#include "q8ta_quantize.h"
#include "q8ta_quantize_linear.h"
#include "runtime/engine/calls/placement.h"
#include "runtime/engine/operators/packed_walk.h"
#include "runtime/engine/operators/per_tensor.h"
#include "runtime/engine/tensor/packed_layout.h"
#include "vocabulary/integer.h"

namespace qgen::generated::operators {
namespace {

// ---- the real side --------------------------------------------------------------------------------------------------

// Bytes that four neighbours along its fastest dimension take.
uint32_t real_bytes_in_a_row(const TensorDesc& real) {
  return real.storage == Storage::buffer ? static_cast<uint32_t>(4 * bytes(real.dtype)) : 16;
}

// By Dim, in elements. Error: the dimensions of the batch have no one stride.
Expected<std::array<int64_t, kDims>> real_strides(std::string_view operand, const View& view) {
  std::array<int64_t, kDims> strides{};
  const size_t rank = view.shape.size();
  for (size_t d = 0; d < std::min(rank, kDims - 1); ++d) strides[d] = view.strides[rank - 1 - d];
  int64_t expected = 0;  // of the next dimension outwards, if it is to go on where the last ended
  for (size_t d = kDims - 1; d < rank; ++d) {
    const int64_t side = view.shape[rank - 1 - d];
    const int64_t stride = view.strides[rank - 1 - d];
    if (side == 1) continue;
    if (expected == 0) strides[index(Dim::batch)] = stride;
    if (expected != 0 && stride != expected) {
      return Error{Error::Kind::unsupported,
                   fmt::format("the view of {} needs a common stride for the dimensions before its last three: one "
                               "is {}, and should be {}",
                               operand, stride, expected),
                   "copy the view into a dense tensor"};
    }
    expected = (Integer(stride) * side).value;  // an empty view may have any strides
  }
  return strides;
}

bool is_aligned(const Shape& shape, const std::array<int64_t, kDims>& strides, int64_t first) {
  const Sides sides = sides_of(shape);
  for (size_t d = 1; d < kDims; ++d) {
    if (sides[d] > 1 && strides[d] % 4 != 0) return false;
  }
  return first % 4 == 0 && (strides[0] == 1 || sides[0] == 1);
}

// A dense tensor that is plain on both sides may be cut anywhere: into four long rows, or one.
Shape cut_anew(const Shape& shape) {
  const int64_t count = element_count(shape);
  return count % 16 == 0 ? Shape{4, count / 4} : Shape{count};
}

// The fields for both sides of kernels between floating-point and int8 tensors.
struct TwoSides {
  Walk walk;
  std::array<int32_t, kDims> real_strides;
  uint32_t real_first;
  uint32_t is_aligned;
  std::array<uint32_t, kDims> block_strides;
};

enum class Direction : uint8_t { to_bytes, to_reals };

Expected<TwoSides> two_sides(std::string_view operand, const ViewedDesc& real, Layout packed, Direction direction) {
  View view = real.view;
  if (real.tensor.storage == Storage::buffer && packed == Layout::strided && is_row_major(view)) {
    view.shape = cut_anew(view.shape);
    view.strides = row_major_strides(view.shape);
  }
  const auto strides = real_strides(operand, view);
  if (!strides) return strides.error();
  const uint32_t real_bytes = real_bytes_in_a_row(real.tensor), packed_bytes = bytes_in_a_row(packed);
  const WalkedLayouts layouts = direction == Direction::to_bytes
                                    ? WalkedLayouts{packed, real.tensor.layout, packed_bytes, real_bytes}
                                    : WalkedLayouts{real.tensor.layout, packed, real_bytes, packed_bytes};
  TwoSides sides{walk_of(view.shape, layouts),
                 {},
                 u32(view.offset),
                 is_aligned(view.shape, *strides, view.offset) ? 1u : 0u,
                 block_strides(view.shape, packed)};
  std::ranges::transform(*strides, sides.real_strides.begin(),
                         [](int64_t stride) { return static_cast<int32_t>(stride); });
  return sides;
}

fields::RealsToQ8ta real_fields(const TwoSides& sides) {
  return {.sides = sides.walk.sides,
          .input_strides = sides.real_strides,
          .input_first = sides.real_first,
          .input_aligned = sides.is_aligned,
          .output_strides = sides.block_strides};
}

struct QuantizedSide {
  TwoSides sides;
  TensorDesc output;
};

Expected<QuantizedSide> quantized_side(const ViewedDesc& input, const Representation& representation) {
  const TensorDesc output{DType::i8, input.view.shape, representation.storage, representation.layout};
  if (Done size = check_size("output", output); !size) return size.error();
  auto sides = two_sides("input", input, output.layout, Direction::to_bytes);
  if (!sides) return sides.error();
  return QuantizedSide{*std::move(sides), output};
}

}  // namespace

// The same bytes in another layout; padding becomes 0.
Expected<Call> infer(const Q8taCloneInputs<Described>& inputs, const Q8taCloneRepresentations& representations) {
  const TensorDesc& input = inputs.input;
  const TensorDesc output{input.dtype, input.shape, representations.output->storage, representations.output->layout};
  if (Done size = check_size("output", output); !size) return size.error();
  const Walk walk = walk_of(input.shape, between(output.layout, input.layout));
  const q8ta_clone::Problem fields{
      .walked_axes = axes_fields(walk),
      .sides = walk.sides,
      .input_strides = block_strides(input.shape, input.layout),
      .output_strides = block_strides(input.shape, output.layout),
      .boxes = boxes_fields(walk),
      .walk_of_tiles_or_blocks = {input.layout == output.layout ? flat_blocks_of(input.shape, input.layout) : 0},
  };
  return make_call(fields, inputs, {.output = output});
}

// The integers of quantize_affine with one scale and zero point. A view's dimensions before its last three must run on
// from one to the next.
Expected<Call> infer(const Q8taQuantizeInputs<Described>& inputs, const Q8taQuantizeAttributes& attributes,
                     const Q8taQuantizeRepresentations& representations) {
  const ViewedDesc& input = inputs.input;
  const auto to = quantized_side(input, *representations.output);
  if (!to) return to.error();
  const PerTensor params = of_output(attributes);
  const q8ta_quantize::Problem fields{
      .walked_axes = axes_fields(to->sides.walk),
      .reals_to_q8ta = real_fields(to->sides),
      .boxes = boxes_fields(to->sides.walk),
      .inverse_scale = 1.0f / params.scale,
      .zero_point = params.zero_point,
      .padding = padding_word(params.zero_point),
  };
  return make_call(fields, inputs, {.output = to->output});
}

// The same of quantize_linear.
Expected<Call> infer(const Q8taQuantizeLinearInputs<Described>& inputs, const Q8taQuantizeLinearAttributes& attributes,
                     const Q8taQuantizeLinearRepresentations& representations) {
  const ViewedDesc& input = inputs.input;
  const auto to = quantized_side(input, *representations.output);
  if (!to) return to.error();
  const PerTensor params = of_output(attributes);
  const q8ta_quantize_linear::Problem fields{
      .walked_axes = axes_fields(to->sides.walk),
      .reals_to_q8ta = real_fields(to->sides),
      .boxes = boxes_fields(to->sides.walk),
      .scale = params.scale,
      .inverse_scale = 1.0f / params.scale,
      .zero_point = params.zero_point,
      .padding = padding_word(params.zero_point),
  };
  return make_call(fields, inputs, {.output = to->output});
}

// The bits of dequantize_affine with one scale and zero point.
Expected<Call> infer(const Q8taDequantizeInputs<Described>& inputs, const Q8taDequantizeAttributes& attributes,
                     const Q8taDequantizeRepresentations& representations) {
  const TensorDesc& input = inputs.input;
  const TensorDesc output{attributes.output_dtype, input.shape, representations.output->storage,
                          representations.output->layout};
  if (Done size = check_size("output", output); !size) return size.error();
  const auto sides = two_sides("output", output, input.layout, Direction::to_reals);
  if (!sides) return sides.error();
  const PerTensor params = of_input(attributes);
  const q8ta_dequantize::Problem fields{
      .walked_axes = axes_fields(sides->walk),
      .sides = sides->walk.sides,
      .input_strides = sides->block_strides,
      .output_strides = sides->real_strides,
      .output_first = sides->real_first,
      .output_aligned = sides->is_aligned,
      .boxes = boxes_fields(sides->walk),
      .scale = params.scale,
      .zero_point = params.zero_point,
  };
  return make_call(fields, inputs, {.output = output});
}

}  // namespace qgen::generated::operators
