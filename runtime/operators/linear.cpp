// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/operators/linear.h"

#include <fmt/format.h>

#include <cmath>

#include "linear_q8ta_q8csw.h"
#include "operators.h"
#include "q8ta_linear.h"
#include "runtime/operators/checks.h"
#include "runtime/operators/flush_subnormal.h"
#include "runtime/operators/weight_checks.h"

namespace qgen {
namespace {

Done check_zero_point(std::string_view operand, int32_t zero_point) {
  if (zero_point >= -128 && zero_point <= 127) return std::monostate{};
  return refused(fmt::format("{} is {}, and i8 holds -128 to 127", operand, zero_point));
}

Done check_scale(std::string_view operand, float scale) {
  if (std::isnormal(scale) && scale > 0) return std::monostate{};
  return refused(fmt::format("{} is {}, and must be a positive, finite and normal number", operand, scale));
}

// One a row of the weight.
Done check_column_vector(std::string_view operand, const TensorDesc& given, int64_t n) {
  if (Done plain = check_plain(operand, given, DType::f32); !plain) return plain;
  if (given.shape == Shape{n}) return std::monostate{};
  return refused(fmt::format("{} of shape {} does not fit {} rows of the weight", operand, to_text(given.shape), n),
                 fmt::format("one has shape [{}]", n));
}

Done check_product(const Shape& input, const Shape& weight) {
  if (input.empty() || weight.size() != 2 || input.back() != weight[1]) {
    return refused(fmt::format("input {} times weight {} is no linear layer", to_text(input), to_text(weight)),
                   "input is [..., K], and weight [N, K]");
  }
  if (weight[1] <= kMaxLinearDepth) return std::monostate{};
  return refused(fmt::format("K is {}, and sums are exact up to {}", weight[1], kMaxLinearDepth),
                 "split K, and add the results");
}

Shape output_shape(const Shape& input, int64_t n) {
  Shape shape = input;
  shape.back() = n;
  return shape;
}

Done check_params(std::string_view scale_name, float scale, std::string_view zero_point_name, int32_t zero_point) {
  if (Done sound = check_scale(scale_name, scale); !sound) return sound;
  return check_zero_point(zero_point_name, zero_point);
}

// What all linear layers in int8 ask of their operands.
Done check_operands(const TensorDesc& input, const TensorDesc& weight, const TensorDesc& scales,
                    const std::optional<TensorDesc>& bias) {
  if (Done product = check_product(input.shape, weight.shape); !product) return product;
  if (Done sane = check_shape(weight.shape); !sane) return sane;
  if (Done count = check_count("input", input.shape); !count) return count;
  const int64_t n = weight.shape[0];
  if (Done count = check_count("output", output_shape(input.shape, n)); !count) return count;
  if (Done vector = check_column_vector("weight_scales", scales, n); !vector) return vector;
  return bias ? check_column_vector("bias", *bias, n) : Done(std::monostate{});
}

uint32_t rows_of(const Shape& input) {
  return static_cast<uint32_t>(element_count(Shape(input.begin(), input.end() - 1)));
}

float inverse(float scale) { return flush_subnormal(1.0f / scale); }

Expected<DeviceTensor> run_in_int8(Context& context, const Expected<Call>& call, const DeviceTensor& input,
                                   Weight& weight, const DeviceTensor& scales, const DeviceTensor* bias) {
  if (!call) return call.error();
  const auto sums = weight.sums(context.executor);
  if (!sums) return sums.error();
  return run_for_one(context, call, {&input, &weight, *sums, &scales, argument_of(bias), {}});
}

}  // namespace

Expected<Call> q8ta_linear_call(const TensorDesc& input, const TensorDesc& weight, const TensorDesc& scales,
                                const std::optional<TensorDesc>& bias, const Q8taLinearOptions& options) {
  if (input.dtype != DType::i8) return refused(fmt::format("input is {}, and must be i8", name(input.dtype)));
  if (Done fit = check_operands(input, weight, scales, bias); !fit) return fit.error();
  if (Done sound = check_params("input_scale", options.input_scale, "input_zero_point", options.input_zero_point);
      !sound) {
    return sound.error();
  }
  if (Done sound = check_params("output_scale", options.output_scale, "output_zero_point", options.output_zero_point);
      !sound) {
    return sound.error();
  }
  const int64_t n = weight.shape[0];
  const Place place = options.output.value_or(Place{input.storage, input.layout});
  if (place.storage != input.storage || place.layout != input.layout) {
    return Error{Error::Kind::unsupported,
                 fmt::format("output is {} and input {}, and a linear layer keeps the layout", name(place.layout),
                             name(input.layout)),
                 "q8ta_clone puts a tensor into another layout"};
  }
  const TensorDesc output{DType::i8, output_shape(input.shape, n), place.storage, place.layout};

  const size_t rank = input.shape.size();
  const int64_t k = weight.shape[1];
  generated::q8ta_linear::Problem fields;
  fields.m = rows_of(input.shape);
  fields.n = static_cast<uint32_t>(n);
  fields.k = static_cast<uint32_t>(k);
  fields.matrix_rows = rank < 2 ? 1 : static_cast<uint32_t>(input.shape[rank - 2]);
  fields.input_scale = options.input_scale;
  fields.input_zero_point = options.input_zero_point;
  fields.output_inverse_scale = inverse(options.output_scale);
  fields.output_zero_point = options.output_zero_point;
  fields.activation = options.activation;
  fields.has_bias = bias ? 1 : 0;
  return make_call(generated::q8ta_linear::op, fields,
                   {input, weight, TensorDesc{DType::i32, {n}}, scales, bias, output});
}

Expected<DeviceTensor> q8ta_linear(Context& context, const DeviceTensor& input, Weight& weight,
                                   const DeviceTensor& scales, const DeviceTensor* bias,
                                   const Q8taLinearOptions& options) {
  const auto call = q8ta_linear_call(desc_of(input), desc_of(weight), desc_of(scales), desc_of(bias), options);
  return run_in_int8(context, call, input, weight, scales, bias);
}

Expected<Call> linear_q8ta_q8csw_call(const TensorDesc& input, const TensorDesc& weight, const TensorDesc& scales,
                                      const std::optional<TensorDesc>& bias, const LinearQ8taQ8cswOptions& options) {
  if (Done real = check_dtype("input", input.dtype, {DType::f32, DType::f16}); !real) return real.error();
  if (Done fit = check_operands(input, weight, scales, bias); !fit) return fit.error();
  if (Done sound = check_params("input_scale", options.input_scale, "input_zero_point", options.input_zero_point);
      !sound) {
    return sound.error();
  }
  const int64_t n = weight.shape[0];
  generated::linear_q8ta_q8csw::Problem fields;
  fields.m = rows_of(input.shape);
  fields.n = static_cast<uint32_t>(n);
  fields.k = static_cast<uint32_t>(weight.shape[1]);
  fields.input_scale = options.input_scale;
  fields.input_inverse_scale = inverse(options.input_scale);
  fields.input_zero_point = options.input_zero_point;
  fields.activation = options.activation;
  fields.has_bias = bias ? 1 : 0;
  return make_call(generated::linear_q8ta_q8csw::op, fields,
                   {input, weight, TensorDesc{DType::i32, {n}}, scales, bias,
                    TensorDesc{input.dtype, output_shape(input.shape, n)}});
}

Expected<DeviceTensor> linear_q8ta_q8csw(Context& context, const DeviceTensor& input, Weight& weight,
                                         const DeviceTensor& scales, const DeviceTensor* bias,
                                         const LinearQ8taQ8cswOptions& options) {
  const auto call = linear_q8ta_q8csw_call(desc_of(input), desc_of(weight), desc_of(scales), desc_of(bias), options);
  return run_in_int8(context, call, input, weight, scales, bias);
}

// ---- by name -----------------------------------------------------------------------------------------------------------

Expected<Call> generated::operators::infer(const Q8taLinearInputs<Described>& inputs,
                                           const Q8taLinearAttributes& attributes, const Q8taLinearPlaces& places) {
  return q8ta_linear_call(inputs.input, inputs.weight, inputs.weight_scales, inputs.bias,
                          {.input_scale = static_cast<float>(attributes.input_scale),
                           .input_zero_point = static_cast<int32_t>(attributes.input_zero_point),
                           .output_scale = static_cast<float>(attributes.output_scale),
                           .output_zero_point = static_cast<int32_t>(attributes.output_zero_point),
                           .activation = attributes.activation,
                           .output = places.output});
}

Expected<Call> generated::operators::infer(const LinearQ8taQ8cswInputs<Described>& inputs,
                                           const LinearQ8taQ8cswAttributes& attributes, const LinearQ8taQ8cswPlaces&) {
  return linear_q8ta_q8csw_call(inputs.input, inputs.weight, inputs.weight_scales, inputs.bias,
                                {.input_scale = static_cast<float>(attributes.input_scale),
                                 .input_zero_point = static_cast<int32_t>(attributes.input_zero_point),
                                 .activation = attributes.activation});
}

}  // namespace qgen
