// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/operators/packed.h"

#include <fmt/format.h>

#include <algorithm>

#include "operators.h"
#include "q8ta_clone.h"
#include "q8ta_dequantize.h"
#include "q8ta_quantize.h"
#include "runtime/library/integer.h"
#include "runtime/operators/packed_checks.h"
#include "runtime/operators/packed_walk.h"
#include "runtime/tensor/packed_layout.h"

namespace qgen {
namespace {

constexpr DType kBytes[] = {DType::i8, DType::u8};
constexpr DType kInt8[] = {DType::i8};
constexpr DType kReals[] = {DType::f32, DType::f16};

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
                   fmt::format("the view of {} has no one stride for the dimensions before its last three: {} where {} "
                               "would go on",
                               operand, stride, expected),
                   "give it a dense copy"};
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

// What kernels between reals and bytes are told of the two sides.
struct TwoSides {
  Walk walk;
  std::array<int32_t, kDims> real_strides;
  uint32_t real_first;
  bool is_aligned;
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
                 static_cast<uint32_t>(view.offset),
                 is_aligned(view.shape, *strides, view.offset),
                 block_strides(view.shape, packed)};
  std::ranges::transform(*strides, sides.real_strides.begin(),
                         [](int64_t stride) { return static_cast<int32_t>(stride); });
  return sides;
}

}  // namespace

// ---- clone ----------------------------------------------------------------------------------------------------------

Expected<Call> q8ta_clone_call(const TensorDesc& input, Layout output_layout) {
  const TensorDesc output{input.dtype, input.shape, Storage::buffer, output_layout};
  if (Done fits = check_packed("input", input, kBytes); !fits) return fits.error();
  if (Done fits = check_packed("output", output, kBytes); !fits) return fits.error();

  generated::q8ta_clone::Problem fields{};
  fill_walk(fields, walk_of(input.shape, {output.layout, input.layout, bytes_in_a_row(output.layout),
                                          bytes_in_a_row(input.layout)}));
  fill_strides(fields.input_strides, input.shape, input.layout);
  fill_strides(fields.output_strides, input.shape, output.layout);
  fields.flat_blocks = input.layout == output.layout ? flat_blocks_of(input.shape, input.layout) : 0;
  return make_call(generated::q8ta_clone::op, fields, {input, output});
}

Expected<DeviceTensor> q8ta_clone(Context& context, const DeviceTensor& input, Layout output) {
  return run_for_one(context, q8ta_clone_call(desc_of(input), output), {&input, {}});
}

// ---- quantize -------------------------------------------------------------------------------------------------------

Expected<Call> q8ta_quantize_call(const ViewedDesc& input, const PerTensor& params, Layout output_layout) {
  const TensorDesc output{DType::i8, input.view.shape, Storage::buffer, output_layout};
  if (Done fits = check_tensor("input", input.tensor, kReals); !fits) return fits.error();
  if (Done inside = check_view("input", input); !inside) return inside.error();
  if (Done fits = check_packed("output", output, kInt8); !fits) return fits.error();
  if (Done fits = check_per_tensor("output", params); !fits) return fits.error();

  const auto sides = two_sides("input", input, output.layout, Direction::to_bytes);
  if (!sides) return sides.error();

  generated::q8ta_quantize::Problem fields{};
  fill_walk(fields, sides->walk);
  std::ranges::copy(sides->real_strides, fields.input_strides);
  fields.input_first = sides->real_first;
  fields.input_aligned = sides->is_aligned;
  std::ranges::copy(sides->block_strides, fields.output_strides);
  fields.inverse_scale = 1.0f / params.scale;
  fields.zero_point = params.zero_point;
  fields.padding = padding_word(params.zero_point);
  return make_call(generated::q8ta_quantize::op, fields, {input.tensor, output});
}

Expected<DeviceTensor> q8ta_quantize(Context& context, const ViewedTensor& input, const PerTensor& params,
                                     Layout output) {
  if (Done given = check_given("input", input.tensor); !given) return given.error();
  return run_for_one(context, q8ta_quantize_call(desc_of(input), params, output), {input.tensor, {}});
}

// ---- dequantize -----------------------------------------------------------------------------------------------------

Expected<Call> q8ta_dequantize_call(const TensorDesc& input, const PerTensor& params,
                                    const Q8taDequantizeOptions& options) {
  const TensorDesc output{options.output_dtype, input.shape, options.output.storage, options.output.layout};
  if (Done fits = check_packed("input", input, kInt8); !fits) return fits.error();
  if (Done fits = check_tensor("output", output, kReals); !fits) return fits.error();
  if (Done fits = check_per_tensor("input", params); !fits) return fits.error();

  const auto sides = two_sides("output", view(output), input.layout, Direction::to_reals);
  if (!sides) return sides.error();

  generated::q8ta_dequantize::Problem fields{};
  fill_walk(fields, sides->walk);
  std::ranges::copy(sides->real_strides, fields.output_strides);
  fields.output_first = sides->real_first;
  fields.output_aligned = sides->is_aligned;
  std::ranges::copy(sides->block_strides, fields.input_strides);
  fields.scale = params.scale;
  fields.zero_point = params.zero_point;
  return make_call(generated::q8ta_dequantize::op, fields, {input, output});
}

Expected<DeviceTensor> q8ta_dequantize(Context& context, const DeviceTensor& input, const PerTensor& params,
                                       const Q8taDequantizeOptions& options) {
  return run_for_one(context, q8ta_dequantize_call(desc_of(input), params, options), {&input, {}});
}

// ---- by name -----------------------------------------------------------------------------------------------------------

Expected<Call> generated::operators::infer(const Q8taCloneInputs<Described>& inputs, const Q8taCloneAttributes&,
                                           const Q8taClonePlaces& places) {
  return q8ta_clone_call(inputs.input, places.output.layout);
}

Expected<Call> generated::operators::infer(const Q8taQuantizeInputs<Described>& inputs,
                                           const Q8taQuantizeAttributes& attributes, const Q8taQuantizePlaces& places) {
  const PerTensor params = per_tensor(attributes.output_scale, attributes.output_zero_point);
  return q8ta_quantize_call(inputs.input, params, places.output.layout);
}

Expected<Call> generated::operators::infer(const Q8taDequantizeInputs<Described>& inputs,
                                           const Q8taDequantizeAttributes& attributes,
                                           const Q8taDequantizePlaces& places) {
  return q8ta_dequantize_call(inputs.input, per_tensor(attributes.input_scale, attributes.input_zero_point),
                              {.output_dtype = attributes.output_dtype, .output = places.output});
}

}  // namespace qgen
