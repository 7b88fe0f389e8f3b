// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/operators/weight_linear.h"

#include <fmt/format.h>

#include <algorithm>

#include "linear_dq8ca_q4gsw.h"
#include "linear_dq8ca_q8csw.h"
#include "linear_q4gsw.h"
#include "linear_q4gsw_backward.h"
#include "linear_q8csw.h"
#include "operators.h"
#include "runtime/operators/checks.h"
#include "runtime/operators/mapping.h"
#include "runtime/operators/weight_checks.h"

namespace qgen {
namespace {

constexpr int64_t kLongestRun = 65536;  // of products of bytes: 255 * 128 * 65536 < 2^31

// ---- what may be given ----------------------------------------------------------------------------------------------

enum WeightSide : size_t { n_side, k_side };

// Real rows that are as long as a side of the weight.
Done check_rows(std::string_view operand, const TensorDesc& rows, const TensorDesc& weight, WeightSide side) {
  if (Done real = check_dtype(operand, rows.dtype, {DType::f32, DType::f16}); !real) return real;
  if (Done plain = check_plain(operand, rows, rows.dtype); !plain) return plain;
  if (rows.shape.empty() || weight.shape.size() != 2 || rows.shape.back() != weight.shape[side]) {
    return refused(fmt::format("{} {} times weight {} is no linear layer{}", operand, to_text(rows.shape),
                               to_text(weight.shape), side == n_side ? "'s way back" : ""),
                   fmt::format("{} is [..., {}], and weight [N, K]", operand, side == n_side ? "N" : "K"));
  }
  return check_count(operand, rows.shape);
}

Done check_bias(const std::optional<TensorDesc>& bias, int64_t n) {
  if (!bias) return std::monostate{};
  if (Done real = check_plain("bias", *bias, DType::f32); !real) return real;
  if (bias->shape == Shape{n}) return std::monostate{};
  return refused(fmt::format("bias has shape {}, and the weight {} rows", to_text(bias->shape), n),
                 fmt::format("a bias is [{}]", n));
}

// ---- problems -------------------------------------------------------------------------------------------------------

// Arguments that are in order.
struct Checked {
  TensorDesc weight, output;
  int64_t groups = 1;
};

Expected<Checked> checked(const WeightKind& kind, const TensorDesc& input, const TensorDesc& weight,
                          const TensorDesc& scales, const std::optional<TensorDesc>& bias) {
  if (Done real = check_rows("input", input, weight, k_side); !real) return real.error();
  const auto groups = checked_groups(kind, weight, scales);
  if (!groups) return groups.error();
  if (Done vector = check_bias(bias, weight.shape[0]); !vector) return vector.error();
  auto form = checked_form(kind, weight);
  if (!form) return form.error();
  TensorDesc output{input.dtype, input.shape};
  output.shape.back() = weight.shape[0];
  if (Done count = check_count("output", output.shape); !count) return count.error();
  return Checked{*std::move(form), std::move(output), *groups};
}

uint32_t u32(int64_t value) { return static_cast<uint32_t>(value); }

template <typename Fields>
Fields sides_of(const Checked& checked) {
  Fields fields;
  fields.n = u32(checked.weight.shape[0]);
  fields.k = u32(checked.weight.shape[1]);
  fields.m = u32(element_count(Shape(checked.output.shape.begin(), checked.output.shape.end() - 1)));
  fields.groups = u32(checked.groups);
  fields.group_size = u32(checked.weight.shape[1] / checked.groups);
  return fields;
}

template <typename Fields>
Fields fields_of(const WeightKind& kind, const Checked& checked, const std::optional<TensorDesc>& bias,
                 Activation activation) {
  auto fields = sides_of<Fields>(checked);
  fields.weight_bits = kind.bits;
  fields.has_bias = bias ? 1 : 0;
  fields.activation = activation;
  return fields;
}

template <typename Fields>
Expected<Call> weight_only_call(const OperatorInfo& op, const WeightKind& kind, const TensorDesc& input,
                                const TensorDesc& weight, const TensorDesc& scales,
                                const std::optional<TensorDesc>& bias, const WeightLinearOptions& options) {
  const auto arguments = checked(kind, input, weight, scales, bias);
  if (!arguments) return arguments.error();
  const auto fields = fields_of<Fields>(kind, *arguments, bias, options.activation);
  return make_call(op, fields, {input, arguments->weight, scales, bias, arguments->output});
}

Done check_range(IntegerRange range) {
  if (range.min > range.max) return refused(fmt::format("quant_min {} is above quant_max {}", range.min, range.max));
  if (range.min >= -128 && range.max <= 127) return std::monostate{};
  return refused(
      fmt::format("quant_min {} and quant_max {} exceed the range of i8, -128 to 127", range.min, range.max));
}

template <typename Fields>
Expected<Call> dynamic_call(const OperatorInfo& op, const WeightKind& kind, const TensorDesc& input,
                            const TensorDesc& weight, const TensorDesc& scales, const std::optional<TensorDesc>& bias,
                            const DynamicLinearOptions& options) {
  const auto arguments = checked(kind, input, weight, scales, bias);
  if (!arguments) return arguments.error();
  if (Done sound = check_range(options.range); !sound) return sound.error();
  auto fields = fields_of<Fields>(kind, *arguments, bias, options.activation);
  const int64_t run = run_of(weight, scales);
  fields.run_k = u32(run);
  fields.runs = run == 0 ? 0 : u32((weight.shape[1] + run - 1) / run);
  fill_mapping(fields, options.mapping_type, options.range);
  fields.eps = least_scale(input.dtype);
  const TensorDesc sums{DType::i32, run_sums_shape(weight.shape, run)};
  Call call = make_call(op, fields, {input, arguments->weight, scales, sums, bias, arguments->output});
  call.row_sum_run = run;
  return call;
}

// ---- runs -----------------------------------------------------------------------------------------------------------

Expected<DeviceTensor> run_dynamic(Context& context, const Expected<Call>& call, const DeviceTensor& input,
                                   Weight& weight, const DeviceTensor& scales, const DeviceTensor* bias) {
  if (!call) return call.error();
  const auto sums = row_sums(context.executor, *call, weight);
  if (!sums) return sums.error();
  return run_for_one(context, call, {&input, &weight, &scales, *sums, argument_of(bias), {}});
}

}  // namespace

int64_t run_of(const TensorDesc& weight, const TensorDesc& scales) {
  const int64_t n = weight.shape[0], k = weight.shape[1];
  const int64_t groups = n == 0 ? 1 : std::max<int64_t>(1, element_count(scales.shape) / n);
  return groups == 1 ? std::min(k, kLongestRun) : k / groups;
}

Expected<Call> linear_q8csw_call(const TensorDesc& input, const TensorDesc& weight, const TensorDesc& scales,
                                 const std::optional<TensorDesc>& bias, const WeightLinearOptions& options) {
  using generated::linear_q8csw::Problem;
  return weight_only_call<Problem>(generated::linear_q8csw::op, kEightBits, input, weight, scales, bias, options);
}
Expected<Call> linear_q4gsw_call(const TensorDesc& input, const TensorDesc& weight, const TensorDesc& scales,
                                 const std::optional<TensorDesc>& bias, const WeightLinearOptions& options) {
  using generated::linear_q4gsw::Problem;
  return weight_only_call<Problem>(generated::linear_q4gsw::op, kFourBits, input, weight, scales, bias, options);
}
Expected<Call> linear_q4gsw_backward_call(const TensorDesc& d_output, const TensorDesc& weight,
                                          const TensorDesc& scales) {
  if (Done real = check_rows("d_output", d_output, weight, n_side); !real) return real.error();
  const auto groups = checked_groups(kFourBits, weight, scales);
  if (!groups) return groups.error();
  const auto form = checked_form(kFourBits, weight);
  if (!form) return form.error();
  TensorDesc d_input{d_output.dtype, d_output.shape};
  d_input.shape.back() = weight.shape[1];
  if (Done count = check_count("d_input", d_input.shape); !count) return count.error();
  using generated::linear_q4gsw_backward::Problem;
  const auto fields = sides_of<Problem>({*form, d_input, *groups});
  return make_call(generated::linear_q4gsw_backward::op, fields, {d_output, *form, scales, d_input});
}
Expected<Call> linear_dq8ca_q8csw_call(const TensorDesc& input, const TensorDesc& weight, const TensorDesc& scales,
                                       const std::optional<TensorDesc>& bias, const DynamicLinearOptions& options) {
  using generated::linear_dq8ca_q8csw::Problem;
  return dynamic_call<Problem>(generated::linear_dq8ca_q8csw::op, kEightBits, input, weight, scales, bias, options);
}
Expected<Call> linear_dq8ca_q4gsw_call(const TensorDesc& input, const TensorDesc& weight, const TensorDesc& scales,
                                       const std::optional<TensorDesc>& bias, const DynamicLinearOptions& options) {
  using generated::linear_dq8ca_q4gsw::Problem;
  return dynamic_call<Problem>(generated::linear_dq8ca_q4gsw::op, kFourBits, input, weight, scales, bias, options);
}

Expected<DeviceTensor> linear_q8csw(Context& context, const DeviceTensor& input, Weight& weight,
                                    const DeviceTensor& scales, const DeviceTensor* bias,
                                    const WeightLinearOptions& options) {
  return run_for_one(context,
                     linear_q8csw_call(desc_of(input), desc_of(weight), desc_of(scales), desc_of(bias), options),
                     {&input, &weight, &scales, argument_of(bias), {}});
}
Expected<DeviceTensor> linear_q4gsw(Context& context, const DeviceTensor& input, Weight& weight,
                                    const DeviceTensor& scales, const DeviceTensor* bias,
                                    const WeightLinearOptions& options) {
  return run_for_one(context,
                     linear_q4gsw_call(desc_of(input), desc_of(weight), desc_of(scales), desc_of(bias), options),
                     {&input, &weight, &scales, argument_of(bias), {}});
}
Expected<DeviceTensor> linear_q4gsw_backward(Context& context, const DeviceTensor& d_output, Weight& weight,
                                             const DeviceTensor& scales) {
  return run_for_one(context, linear_q4gsw_backward_call(desc_of(d_output), desc_of(weight), desc_of(scales)),
                     {&d_output, &weight, &scales, {}});
}
Expected<DeviceTensor> linear_dq8ca_q8csw(Context& context, const DeviceTensor& input, Weight& weight,
                                          const DeviceTensor& scales, const DeviceTensor* bias,
                                          const DynamicLinearOptions& options) {
  const auto call = linear_dq8ca_q8csw_call(desc_of(input), desc_of(weight), desc_of(scales), desc_of(bias), options);
  return run_dynamic(context, call, input, weight, scales, bias);
}
Expected<DeviceTensor> linear_dq8ca_q4gsw(Context& context, const DeviceTensor& input, Weight& weight,
                                          const DeviceTensor& scales, const DeviceTensor* bias,
                                          const DynamicLinearOptions& options) {
  const auto call = linear_dq8ca_q4gsw_call(desc_of(input), desc_of(weight), desc_of(scales), desc_of(bias), options);
  return run_dynamic(context, call, input, weight, scales, bias);
}

// ---- by name -----------------------------------------------------------------------------------------------------------

namespace {

template <typename Attributes>
DynamicLinearOptions dynamic_options(const Attributes& attributes) {
  return {.mapping_type = attributes.activation_mapping,
          .range = {attributes.quant_min, attributes.quant_max},
          .activation = attributes.activation};
}

}  // namespace

Expected<Call> generated::operators::infer(const LinearQ8cswInputs<Described>& inputs,
                                           const LinearQ8cswAttributes& attributes, const LinearQ8cswPlaces&) {
  return linear_q8csw_call(inputs.input, inputs.weight, inputs.weight_scales, inputs.bias,
                           {.activation = attributes.activation});
}

Expected<Call> generated::operators::infer(const LinearQ4gswInputs<Described>& inputs,
                                           const LinearQ4gswAttributes& attributes, const LinearQ4gswPlaces&) {
  if (Done same = check_group_size(attributes.group_size, inputs.weight, inputs.weight_scales); !same)
    return same.error();
  return linear_q4gsw_call(inputs.input, inputs.weight, inputs.weight_scales, inputs.bias,
                           {.activation = attributes.activation});
}

Expected<Call> generated::operators::infer(const LinearQ4gswBackwardInputs<Described>& inputs,
                                           const LinearQ4gswBackwardAttributes& attributes,
                                           const LinearQ4gswBackwardPlaces&) {
  if (Done same = check_group_size(attributes.group_size, inputs.weight, inputs.weight_scales); !same)
    return same.error();
  return linear_q4gsw_backward_call(inputs.d_output, inputs.weight, inputs.weight_scales);
}

Expected<Call> generated::operators::infer(const LinearDq8caQ8cswInputs<Described>& inputs,
                                           const LinearDq8caQ8cswAttributes& attributes,
                                           const LinearDq8caQ8cswPlaces&) {
  return linear_dq8ca_q8csw_call(inputs.input, inputs.weight, inputs.weight_scales, inputs.bias,
                                 dynamic_options(attributes));
}

Expected<Call> generated::operators::infer(const LinearDq8caQ4gswInputs<Described>& inputs,
                                           const LinearDq8caQ4gswAttributes& attributes,
                                           const LinearDq8caQ4gswPlaces&) {
  if (Done same = check_group_size(attributes.group_size, inputs.weight, inputs.weight_scales); !same)
    return same.error();
  return linear_dq8ca_q4gsw_call(inputs.input, inputs.weight, inputs.weight_scales, inputs.bias,
                                 dynamic_options(attributes));
}

}  // namespace qgen
