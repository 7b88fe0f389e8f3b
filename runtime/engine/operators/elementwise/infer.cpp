// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Calls of specs/elementwise and of q8ta_pixel_shuffle. docs/q8ta.md has the formulas, which are bit-exact.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "operators.h"
#include "q8ta_binary.h"
#include "q8ta_pixel_shuffle.h"
#include "q8ta_unary.h"
#include "runtime/engine/calls/placement.h"
#include "runtime/engine/operators/broadcast.h"
#include "runtime/engine/operators/byte_table.h"
#include "runtime/engine/operators/divider.h"
#include "runtime/engine/operators/packed_walk.h"
#include "runtime/engine/operators/per_tensor.h"
#include "vocabulary/integer.h"

namespace qgen::generated::operators {
namespace {

TensorDesc bytes_at(const std::optional<Representation>& representation, const Shape& shape) {
  return {DType::i8, shape, representation->storage, representation->layout};
}

// ---- one byte to another --------------------------------------------------------------------------------------------

// Kernels have the 256 values of a function as a table. So any function is possible, and a new one needs no kernel.
// Four results a word, by the bits of the argument.
std::array<uint32_t, 64> words_of(const ByteTable& table) {
  std::array<uint32_t, 64> words{};
  for (uint32_t bits = 0; bits < 256; ++bits) {
    const auto result = static_cast<uint8_t>(table[static_cast<size_t>(static_cast<int8_t>(bits) + 128)]);
    words[bits / 4] |= uint32_t{result} << (8 * (bits % 4));
  }
  return words;
}

// ---- of one element -------------------------------------------------------------------------------------------------

Expected<Call> by_table(const ByteTable& table, const auto& inputs, const auto& attributes,
                        const auto& representations) {
  const TensorDesc& input = inputs.input;
  const TensorDesc output = bytes_at(representations.output, input.shape);
  if (Done size = check_size("output", output); !size) return size.error();
  const Walk walk = walk_of(input.shape, between(output.layout, input.layout));
  const q8ta_unary::Problem fields{
      .walked_axes = axes_fields(walk),
      .sides = walk.sides,
      .input_strides = block_strides(input.shape, input.layout),
      .output_strides = block_strides(input.shape, output.layout),
      .boxes = boxes_fields(walk),
      .walk_of_tiles_or_blocks = {input.layout == output.layout ? flat_blocks_of(input.shape, input.layout) : 0},
      .padding = padding_word(static_cast<int32_t>(attributes.output_zero_point)),
      .table = words_of(table),
  };
  return make_call(fields, inputs, {.output = output});
}

template <typename Function>
Expected<Call> unary(Function function, const auto& inputs, const auto& attributes, const auto& representations) {
  return by_table(byte_table(function, of_input(attributes), of_output(attributes)), inputs, attributes,
                  representations);
}

// ---- of two ---------------------------------------------------------------------------------------------------------

// The values of input and other before the output is quantized.
struct Binary {
  bool is_product = false;
  PerTensor input, other, output;
  double alpha = 1;  // of a sum
  Activation activation = Activation::none;
};

Binary binary_of(const auto& attributes) {
  return {.input = of_input(attributes),
          .other = per_tensor(attributes.other_scale, attributes.other_zero_point),
          .output = of_output(attributes),
          .activation = attributes.activation};
}

// The scale of `other` with its factor; 0 where the product is too small to count.
Expected<float> scale_with_alpha(const Binary& op) {
  const auto alpha = static_cast<float>(op.alpha);
  const float scale = alpha * op.other.scale;
  if (std::abs(scale) <= kLargestScale) return std::abs(scale) < kLeastScale ? 0.0f : scale;
  return refused(fmt::format("alpha is {}, and alpha * other_scale is {}", std::abs(op.alpha), std::abs(scale)),
                 "its magnitude can be up to 2^119");
}

// A product of two operands stays finite.
Expected<float> scale_of_factor(const Binary& op) {
  constexpr float kLargestProduct = 0x1p111f;
  const float product = op.input.scale * op.other.scale;
  if (product <= kLargestProduct) return op.other.scale;
  return refused(fmt::format("input_scale * other_scale is {}, and can be up to 2^111", product));
}

// Relu and relu6 are bounds of the result: quantizing is monotonic, so it does not matter which is first.
struct Bounds {
  int low = -128, high = 127;
};
Bounds bounds_of(const Binary& op) {
  Bounds bounds;
  const bool is_relu = op.activation == Activation::relu || op.activation == Activation::relu6;
  if (is_relu) bounds.low = quantized(0, op.output);
  if (op.activation == Activation::relu6) bounds.high = quantized(6, op.output);
  return bounds;
}

Done check_layouts(Layout input, Layout other, Layout output) {
  if (packed(input) == packed(output) && packed(other) == packed(output)) return std::monostate{};
  return Error{Error::Kind::unsupported,
               fmt::format("input is {}, other is {} and output is {}: all must pack the same dimension", name(input),
                           name(other), name(output)),
               "q8ta_clone converts a tensor to another layout"};
}

// Of the parts of a batch; those that it has not are 0.
using PerPart = std::array<uint32_t, 5>;
template <typename Get>
PerPart per_part(const Broadcast& whole, Get get) {
  PerPart words{};
  std::ranges::transform(whole.parts, words.begin(), [&](const BatchPart& part) { return u32(get(part)); });
  return words;
}

Expected<Call> binary(const Binary& op, const auto& inputs, const auto& representations) {
  const TensorDesc &input = inputs.input, &other = inputs.other;
  const auto whole = broadcast(input.shape, other.shape);
  if (!whole) return whole.error();
  const TensorDesc output = bytes_at(representations.output, whole->shape);
  if (Done size = check_size("output", output); !size) return size.error();
  if (Done same = check_layouts(input.layout, other.layout, output.layout); !same) return same.error();
  const auto other_scale = op.is_product ? scale_of_factor(op) : scale_with_alpha(op);
  if (!other_scale) return other_scale.error();

  const bool is_flat = input.layout == output.layout && other.layout == output.layout && input.shape == other.shape;
  const Walk walk = walk_of(output.shape, between(output.layout, input.layout));
  const Bounds bounds = bounds_of(op);
  const q8ta_binary::Problem fields{
      .walked_axes = axes_fields(walk),
      .sides = walk.sides,
      .input_sides = in_words(whole->sides[0]),
      .other_sides = in_words(whole->sides[1]),
      .input_strides = block_strides(input.shape, input.layout),
      .other_strides = block_strides(other.shape, other.layout),
      .output_strides = block_strides(output.shape, output.layout),
      .boxes = boxes_fields(walk),
      .walk_of_tiles_or_blocks = {is_flat ? flat_blocks_of(output.shape, output.layout) : 0},
      .batch_rank = static_cast<uint32_t>(whole->parts.size()),
      .batch_sides = per_part(*whole, [](const BatchPart& part) { return part.side; }),
      .input_batch_strides = per_part(*whole, [](const BatchPart& part) { return part.strides[0]; }),
      .other_batch_strides = per_part(*whole, [](const BatchPart& part) { return part.strides[1]; }),
      .is_product = op.is_product ? 1u : 0u,
      .is_hardswish = op.activation == Activation::hardswish ? 1u : 0u,
      .input_scale = op.input.scale,
      .other_scale = *other_scale,
      .inverse_scale = 1.0f / op.output.scale,
      .input_zero_point = op.input.zero_point,
      .other_zero_point = op.other.zero_point,
      .output_zero_point = op.output.zero_point,
      .low = static_cast<float>(bounds.low - op.output.zero_point),
      .high = static_cast<float>(bounds.high - op.output.zero_point),
      .padding = padding_word(op.output.zero_point),
  };
  return make_call(fields, inputs, {.output = output});
}

// ---- of none: they only move ----------------------------------------------------------------------------------------

Expected<Shape> shuffled_shape(const Shape& input, int64_t r) {
  const size_t rank = input.size();
  if (input[rank - 3] % (r * r) != 0) {
    return refused(fmt::format("input of shape {} has {} channels, and an upscale_factor of {} needs a multiple of {}",
                               to_text(input), input[rank - 3], r, r * r));
  }
  Shape output = input;
  output[rank - 3] /= r * r;
  for (const size_t d : {rank - 2, rank - 1}) output[d] = (Integer(output[d]) * r).value;
  return output;  // check_size() refuses saturated sizes
}

}  // namespace

Expected<Call> infer(const Q8taReluInputs<Described>& inputs, const Q8taReluAttributes& attributes,
                     const Q8taReluRepresentations& representations) {
  return unary([](double x) { return std::max(x, 0.0); }, inputs, attributes, representations);
}
Expected<Call> infer(const Q8taHardswishInputs<Described>& inputs, const Q8taHardswishAttributes& attributes,
                     const Q8taHardswishRepresentations& representations) {
  return unary([](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }, inputs, attributes, representations);
}
Expected<Call> infer(const Q8taLeakyReluInputs<Described>& inputs, const Q8taLeakyReluAttributes& attributes,
                     const Q8taLeakyReluRepresentations& representations) {
  const double slope = attributes.slope;
  return unary([slope](double x) { return x > 0 ? x : slope * x; }, inputs, attributes, representations);
}
Expected<Call> infer(const Q8taSigmoidInputs<Described>& inputs, const Q8taSigmoidAttributes& attributes,
                     const Q8taSigmoidRepresentations& representations) {
  return unary([](double x) { return 1 / (1 + std::exp(-x)); }, inputs, attributes, representations);
}

Expected<Call> infer(const Q8taTableInputs<Described>& inputs, const Q8taTableAttributes& attributes,
                     const Q8taTableRepresentations& representations) {
  const std::vector<int64_t>& answers = attributes.table;
  ByteTable table{};
  if (answers.size() != table.size())
    return refused(fmt::format("table has {} answers, and there are 256 bytes", answers.size()));
  for (size_t i = 0; i < table.size(); ++i) {
    if (answers[i] < -128 || answers[i] > 127)
      return refused(fmt::format("table has {}, and answers are -128 to 127", answers[i]));
    table[i] = static_cast<int8_t>(answers[i]);
  }
  return by_table(table, inputs, attributes, representations);
}

Expected<Call> infer(const Q8taAddInputs<Described>& inputs, const Q8taAddAttributes& attributes,
                     const Q8taAddRepresentations& representations) {
  Binary op = binary_of(attributes);
  op.alpha = attributes.alpha;
  return binary(op, inputs, representations);
}
Expected<Call> infer(const Q8taSubInputs<Described>& inputs, const Q8taSubAttributes& attributes,
                     const Q8taSubRepresentations& representations) {
  Binary op = binary_of(attributes);
  op.alpha = -attributes.alpha;
  return binary(op, inputs, representations);
}
Expected<Call> infer(const Q8taMulInputs<Described>& inputs, const Q8taMulAttributes& attributes,
                     const Q8taMulRepresentations& representations) {
  Binary op = binary_of(attributes);
  op.is_product = true;
  return binary(op, inputs, representations);
}

// [..., C * r * r, H, W] -> [..., C, H * r, W * r].
Expected<Call> infer(const Q8taPixelShuffleInputs<Described>& inputs, const Q8taPixelShuffleAttributes& attributes,
                     const Q8taPixelShuffleRepresentations& representations) {
  const TensorDesc& input = inputs.input;
  const auto shape = shuffled_shape(input.shape, attributes.upscale_factor);
  if (!shape) return shape.error();
  const TensorDesc output = bytes_at(representations.output, *shape);
  if (Done size = check_size("output", output); !size) return size.error();

  const Walk walk = walk_of(*shape, between(output.layout, input.layout));
  const q8ta_pixel_shuffle::Problem fields{
      .walked_axes = axes_fields(walk),
      .sides = walk.sides,
      .input_sides = in_words(sides_of(input.shape)),
      .input_strides = block_strides(input.shape, input.layout),
      .output_strides = block_strides(*shape, output.layout),
      .upscale = u32(attributes.upscale_factor),
      .boxes = walk.boxes,
      .box_shifts = walk.box_shifts,
      .dividers = joined(walk.dividers, divider_words(attributes.upscale_factor)),
      .padding = padding_word(of_output(attributes).zero_point),
      .table = words_of(byte_table([](double x) { return x; }, of_input(attributes), of_output(attributes))),
  };
  return make_call(fields, inputs, {.output = output});
}

}  // namespace qgen::generated::operators
