// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Arguments -> checked shapes and parameters -> the Problems of specs/elementwise and of q8ta_pixel_shuffle.
//
// Host floats are IEEE 754 and round to nearest even, so the arithmetic below is the RN of docs/q8ta.md.
#include "runtime/operators/elementwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "operators.h"
#include "q8ta_binary.h"
#include "q8ta_pixel_shuffle.h"
#include "q8ta_unary.h"
#include "runtime/library/integer.h"
#include "runtime/operators/broadcast.h"
#include "runtime/operators/divider.h"
#include "runtime/operators/packed_checks.h"
#include "runtime/operators/packed_walk.h"

namespace qgen {
namespace {

constexpr DType kInt8[] = {DType::i8};

TensorDesc packed_desc(const Shape& shape, Layout layout) { return {DType::i8, shape, Storage::buffer, layout}; }

Done check_operand(std::string_view name, const TensorDesc& desc, const PerTensor& params) {
  if (Done fits = check_packed(name, desc, kInt8); !fits) return fits;
  return check_per_tensor(name, params);
}

WalkedLayouts between(Layout written, Layout read) {
  return {written, read, bytes_in_a_row(written), bytes_in_a_row(read)};
}

// ---- one byte to another --------------------------------------------------------------------------------------------

float dequantized(int q, const PerTensor& params) { return static_cast<float>(q - params.zero_point) * params.scale; }

// std::nearbyint rounds half to even, as long as nobody changed the rounding mode.
int quantized(float x, const PerTensor& params) {
  const float scaled = x * (1.0f / params.scale);
  const float low = static_cast<float>(-128 - params.zero_point), high = static_cast<float>(127 - params.zero_point);
  return static_cast<int>(std::nearbyint(std::clamp(scaled, low, high))) + params.zero_point;
}

// Four results a word, by the bits of the argument.
template <typename OfReal>
void fill_table(uint32_t (&table)[64], const PerTensor& input, const PerTensor& output, OfReal of_real) {
  for (uint32_t bits = 0; bits < 256; ++bits) {
    const float x = dequantized(static_cast<int8_t>(bits), input);
    const auto q = static_cast<uint32_t>(quantized(static_cast<float>(of_real(double{x})), output)) & 0xff;
    table[bits / 4] |= q << (8 * (bits % 4));
  }
}

}  // namespace

// ---- of one element -------------------------------------------------------------------------------------------------

double relu(double x) { return std::max(x, 0.0); }
double hardswish(double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

Expected<Call> q8ta_unary_call(const TensorDesc& input, UnaryFunction function, const Q8taUnaryOptions& options) {
  if (!function) return refused("the function of q8ta_unary is null");
  const TensorDesc output = packed_desc(input.shape, options.layout);
  if (Done fits = check_operand("input", input, options.input); !fits) return fits.error();
  if (Done fits = check_operand("output", output, options.output); !fits) return fits.error();

  generated::q8ta_unary::Problem fields{};
  fill_walk(fields, walk_of(input.shape, between(output.layout, input.layout)));
  fill_strides(fields.input_strides, input.shape, input.layout);
  fill_strides(fields.output_strides, input.shape, output.layout);
  fields.flat_blocks = input.layout == output.layout ? flat_blocks_of(input.shape, input.layout) : 0;
  fields.padding = padding_word(options.output.zero_point);
  fill_table(fields.table, options.input, options.output, function);
  return make_call(generated::q8ta_unary::op, fields, {input, output});
}

Expected<DeviceTensor> q8ta_unary(Context& context, const DeviceTensor& input, UnaryFunction function,
                                  const Q8taUnaryOptions& options) {
  return run_for_one(context, q8ta_unary_call(desc_of(input), function, options), {&input, {}});
}

// ---- of two ---------------------------------------------------------------------------------------------------------

namespace {

// The scale of `other` with its factor; 0 where the product is too small to count.
Expected<float> scale_with_alpha(const Q8taBinaryOptions& options) {
  if (options.operation == BinaryOperation::mul) return options.other.scale;
  const auto alpha = static_cast<float>(options.operation == BinaryOperation::sub ? -options.alpha : options.alpha);
  const float scale = alpha * options.other.scale;
  if (std::isfinite(alpha) && std::abs(scale) <= kLargestScale) return std::abs(scale) < kLeastScale ? 0.0f : scale;
  return refused(fmt::format("alpha is {}, and alpha * other_scale is {}", options.alpha, scale),
                 "its magnitude can be up to 2^119");
}

// A product of two operands stays finite.
Done check_product(const Q8taBinaryOptions& options) {
  constexpr float kLargestProduct = 0x1p111f;
  const float product = options.input.scale * options.other.scale;
  if (options.operation != BinaryOperation::mul || product <= kLargestProduct) return std::monostate{};
  return refused(fmt::format("input_scale * other_scale is {}, and can be up to 2^111", product));
}

// Relu and relu6 are bounds of the result: quantizing is monotonic, so it does not matter which is first.
struct Bounds {
  int low = -128, high = 127;
};
Bounds bounds_of(const Q8taBinaryOptions& options) {
  Bounds bounds;
  const bool is_relu = options.activation == Activation::relu || options.activation == Activation::relu6;
  if (is_relu) bounds.low = quantized(0, options.output);
  if (options.activation == Activation::relu6) bounds.high = quantized(6, options.output);
  return bounds;
}

using BinaryFields = generated::q8ta_binary::Problem;

void fill_parameters(BinaryFields& fields, const Q8taBinaryOptions& options, float other_scale) {
  const Bounds bounds = bounds_of(options);
  fields.is_product = options.operation == BinaryOperation::mul;
  fields.is_hardswish = options.activation == Activation::hardswish;
  fields.input_scale = options.input.scale;
  fields.other_scale = other_scale;
  fields.inverse_scale = 1.0f / options.output.scale;
  fields.input_zero_point = options.input.zero_point;
  fields.other_zero_point = options.other.zero_point;
  fields.output_zero_point = options.output.zero_point;
  fields.low = static_cast<float>(bounds.low - options.output.zero_point);
  fields.high = static_cast<float>(bounds.high - options.output.zero_point);
  fields.padding = padding_word(options.output.zero_point);
}

void fill_broadcast(BinaryFields& fields, const Broadcast& whole) {
  const auto to_u32 = [](int64_t value) { return static_cast<uint32_t>(value); };
  std::ranges::transform(whole.sides[0], fields.input_sides, to_u32);
  std::ranges::transform(whole.sides[1], fields.other_sides, to_u32);
  fields.batch_rank = static_cast<uint32_t>(whole.parts.size());
  for (size_t i = 0; i < whole.parts.size(); ++i) {
    fields.batch_sides[i] = to_u32(whole.parts[i].side);
    fields.input_batch_strides[i] = to_u32(whole.parts[i].strides[0]);
    fields.other_batch_strides[i] = to_u32(whole.parts[i].strides[1]);
  }
}

Done check_layouts(Layout input, Layout other, Layout output) {
  if (packed(input) == packed(output) && packed(other) == packed(output)) return std::monostate{};
  return Error{Error::Kind::unsupported,
               fmt::format("input is {}, other {} and output {}, which do not pack one dimension", name(input),
                           name(other), name(output)),
               "q8ta_clone puts a tensor into another layout"};
}

}  // namespace

Expected<Call> q8ta_binary_call(const TensorDesc& input, const TensorDesc& other, const Q8taBinaryOptions& options) {
  if (Done fits = check_operand("input", input, options.input); !fits) return fits.error();
  if (Done fits = check_operand("other", other, options.other); !fits) return fits.error();
  const auto whole = broadcast(input.shape, other.shape);
  if (!whole) return whole.error();
  const TensorDesc output = packed_desc(whole->shape, options.layout);
  if (Done fits = check_operand("output", output, options.output); !fits) return fits.error();
  if (Done same = check_layouts(input.layout, other.layout, output.layout); !same) return same.error();
  const auto other_scale = scale_with_alpha(options);
  if (!other_scale) return other_scale.error();
  if (Done finite = check_product(options); !finite) return finite.error();

  BinaryFields fields{};
  fill_walk(fields, walk_of(output.shape, between(output.layout, input.layout)));
  fill_broadcast(fields, *whole);
  fill_strides(fields.input_strides, input.shape, input.layout);
  fill_strides(fields.other_strides, other.shape, other.layout);
  fill_strides(fields.output_strides, output.shape, output.layout);
  const bool is_flat = input.layout == output.layout && other.layout == output.layout && input.shape == other.shape;
  fields.flat_blocks = is_flat ? flat_blocks_of(output.shape, output.layout) : 0;
  fill_parameters(fields, options, *other_scale);
  return make_call(generated::q8ta_binary::op, fields, {input, other, output});
}

Expected<DeviceTensor> q8ta_binary(Context& context, const DeviceTensor& input, const DeviceTensor& other,
                                   const Q8taBinaryOptions& options) {
  return run_for_one(context, q8ta_binary_call(desc_of(input), desc_of(other), options), {&input, &other, {}});
}

// ---- pixel shuffle --------------------------------------------------------------------------------------------------

namespace {

Expected<Shape> shuffled_shape(const Shape& input, int64_t r) {
  constexpr size_t kLeastRank = 3;
  constexpr int64_t kLargestFactor = int64_t{1} << 15;
  if (r < 1 || r > kLargestFactor) {
    return refused(fmt::format("upscale_factor is {}, and can be 1 to {}", r, kLargestFactor));
  }
  const size_t rank = input.size();
  if (rank < kLeastRank) {
    return refused(
        fmt::format("input of shape {} has rank {}, and needs channels, height and width", to_text(input), rank));
  }
  if (input[rank - 3] % (r * r) != 0) {
    return refused(
        fmt::format("input of shape {} has {} channels, which upscale_factor {} does not divide into {} each",
                    to_text(input), input[rank - 3], r, r * r));
  }
  Shape output = input;
  output[rank - 3] /= r * r;
  for (const size_t d : {rank - 2, rank - 1}) output[d] = (Integer(output[d]) * r).value;
  return output;  // check_operand() refuses what saturated
}

}  // namespace

Expected<Call> q8ta_pixel_shuffle_call(const TensorDesc& input, const Q8taPixelShuffleOptions& options) {
  if (Done fits = check_operand("input", input, options.input); !fits) return fits.error();
  const auto shape = shuffled_shape(input.shape, options.upscale_factor);
  if (!shape) return shape.error();
  const TensorDesc output = packed_desc(*shape, options.layout);
  if (Done fits = check_operand("output", output, options.output); !fits) return fits.error();

  generated::q8ta_pixel_shuffle::Problem fields{};
  fill_walk(fields, walk_of(*shape, between(output.layout, input.layout)));
  const Divider by_factor = divider_of(static_cast<uint32_t>(options.upscale_factor));
  std::ranges::copy(std::array{by_factor.divisor, by_factor.multiplier, by_factor.shift}, fields.dividers + 9);
  fields.upscale = static_cast<uint32_t>(options.upscale_factor);
  std::ranges::transform(sides_of(input.shape), fields.input_sides,
                         [](int64_t side) { return static_cast<uint32_t>(side); });
  fill_strides(fields.input_strides, input.shape, input.layout);
  fill_strides(fields.output_strides, *shape, output.layout);
  fields.padding = padding_word(options.output.zero_point);
  fill_table(fields.table, options.input, options.output, [](double x) { return x; });
  return make_call(generated::q8ta_pixel_shuffle::op, fields, {input, output});
}

Expected<DeviceTensor> q8ta_pixel_shuffle(Context& context, const DeviceTensor& input,
                                          const Q8taPixelShuffleOptions& options) {
  return run_for_one(context, q8ta_pixel_shuffle_call(desc_of(input), options), {&input, {}});
}

// ---- by name -----------------------------------------------------------------------------------------------------------

namespace {

template <typename Attributes>
Q8taUnaryOptions unary_options(const Attributes& attributes, Place output) {
  return {.input = per_tensor(attributes.input_scale, attributes.input_zero_point),
          .output = per_tensor(attributes.output_scale, attributes.output_zero_point),
          .layout = output.layout};
}

template <typename Attributes>
Q8taBinaryOptions binary_options(BinaryOperation operation, const Attributes& attributes, Place output) {
  return {.operation = operation,
          .input = per_tensor(attributes.input_scale, attributes.input_zero_point),
          .other = per_tensor(attributes.other_scale, attributes.other_zero_point),
          .output = per_tensor(attributes.output_scale, attributes.output_zero_point),
          .activation = attributes.activation,
          .layout = output.layout};
}

}  // namespace

Expected<Call> generated::operators::infer(const Q8taReluInputs<Described>& inputs,
                                           const Q8taReluAttributes& attributes, const Q8taReluPlaces& places) {
  return q8ta_unary_call(inputs.input, qgen::relu, unary_options(attributes, places.output));
}

Expected<Call> generated::operators::infer(const Q8taHardswishInputs<Described>& inputs,
                                           const Q8taHardswishAttributes& attributes,
                                           const Q8taHardswishPlaces& places) {
  return q8ta_unary_call(inputs.input, qgen::hardswish, unary_options(attributes, places.output));
}

Expected<Call> generated::operators::infer(const Q8taSigmoidInputs<Described>& inputs,
                                           const Q8taSigmoidAttributes& attributes, const Q8taSigmoidPlaces& places) {
  return q8ta_unary_call(inputs.input, qgen::sigmoid, unary_options(attributes, places.output));
}

Expected<Call> generated::operators::infer(const Q8taAddInputs<Described>& inputs, const Q8taAddAttributes& attributes,
                                           const Q8taAddPlaces& places) {
  auto options = binary_options(BinaryOperation::add, attributes, places.output);
  options.alpha = attributes.alpha;
  return q8ta_binary_call(inputs.input, inputs.other, options);
}

Expected<Call> generated::operators::infer(const Q8taSubInputs<Described>& inputs, const Q8taSubAttributes& attributes,
                                           const Q8taSubPlaces& places) {
  auto options = binary_options(BinaryOperation::sub, attributes, places.output);
  options.alpha = attributes.alpha;
  return q8ta_binary_call(inputs.input, inputs.other, options);
}

Expected<Call> generated::operators::infer(const Q8taMulInputs<Described>& inputs, const Q8taMulAttributes& attributes,
                                           const Q8taMulPlaces& places) {
  return q8ta_binary_call(inputs.input, inputs.other, binary_options(BinaryOperation::mul, attributes, places.output));
}

Expected<Call> generated::operators::infer(const Q8taPixelShuffleInputs<Described>& inputs,
                                           const Q8taPixelShuffleAttributes& attributes,
                                           const Q8taPixelShufflePlaces& places) {
  return q8ta_pixel_shuffle_call(inputs.input,
                                 {.input = per_tensor(attributes.input_scale, attributes.input_zero_point),
                                  .output = per_tensor(attributes.output_scale, attributes.output_zero_point),
                                  .upscale_factor = attributes.upscale_factor,
                                  .layout = places.output.layout});
}

}  // namespace qgen
