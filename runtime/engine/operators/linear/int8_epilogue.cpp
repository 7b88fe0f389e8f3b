// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/operators/linear/int8_epilogue.h"

#include <fmt/format.h>

#include "runtime/engine/operators/flush_subnormal.h"
#include "runtime/engine/operators/same_as.h"

namespace qgen {
namespace {

constexpr int64_t kBytes = 256;

// A scale goes with its operand.
Done check_scale(std::string_view scale, const std::optional<double>& value, std::string_view operand, bool is_given) {
  if (value.has_value() == is_given) return std::monostate{};
  return is_given ? refused(fmt::format("{} is needed with a {}", scale, operand))
                  : refused(fmt::format("{} is given without a {}", scale, operand));
}

Done check_table(const TensorDesc& table) {
  if (table.shape == Shape{kBytes}) return std::monostate{};
  return refused(
      fmt::format("table has shape {}, and needs [{}]: an element for each int8 value", to_text(table.shape), kBytes));
}

Done check_residual(const TensorDesc& residual, const TensorDesc& output, float output_scale) {
  if (residual.shape != output.shape) {
    return refused(
        fmt::format("residual has shape {}, and the output has {}", to_text(residual.shape), to_text(output.shape)));
  }
  if (Done same = check_same_layout("residual", residual, "output", output); !same) return same;
  if (output_scale >= kLeastScale && output_scale <= kLargestScale) return std::monostate{};
  return refused(fmt::format("output_scale is {}, and can be 2^-125 to 2^119 with a residual", output_scale));
}

}  // namespace

Done check_depth(int64_t k) {
  if (k <= kMaxLinearDepth) return std::monostate{};
  return refused(fmt::format("K is {}, and sums are exact up to {}", k, kMaxLinearDepth),
                 "split K, and add the results");
}

float inverse(float scale) { return flush_subnormal(1.0f / scale); }

Expected<generated::fields::Int8Epilogue> epilogue_fields(const EpilogueArguments& given, const TensorDesc& output) {
  const bool has_table = given.table.has_value(), has_residual = given.residual.has_value();
  for (const Done& fits : {check_scale("table_input_scale", given.table_input_scale, "table", has_table),
                           check_scale("result_scale", given.result_scale, "residual", has_residual),
                           check_scale("residual_scale", given.residual_scale, "residual", has_residual)}) {
    if (!fits) return fits.error();
  }
  if (has_table) {
    if (Done fits = check_table(*given.table); !fits) return fits.error();
  }
  if (has_residual) {
    if (Done fits = check_residual(*given.residual, output, given.output.scale); !fits) return fits.error();
  }
  // The scales and zero points of docs/linear.md: for the rounded result r, for t after the table, for the residual,
  // and for the stored output q. Without a table and a residual, r, t and q have the same scale and zero point.
  const PerTensor result = has_residual ? per_tensor(*given.result_scale, given.result_zero_point) : given.output;
  const PerTensor rounded = has_table ? per_tensor(*given.table_input_scale, given.table_input_zero_point) : result;
  const PerTensor residual = has_residual ? per_tensor(*given.residual_scale, given.residual_zero_point) : PerTensor{};
  return generated::fields::Int8Epilogue{.input_scale = static_cast<float>(given.input_scale),
                                         .input_zero_point = static_cast<int32_t>(given.input_zero_point),
                                         .activation = given.activation,
                                         .has_bias = given.has_bias ? 1u : 0u,
                                         .rounded_inverse_scale = inverse(rounded.scale),
                                         .rounded_zero_point = rounded.zero_point,
                                         .has_table = has_table ? 1u : 0u,
                                         .has_residual = has_residual ? 1u : 0u,
                                         .result_scale = result.scale,
                                         .result_zero_point = result.zero_point,
                                         .residual_scale = residual.scale,
                                         .residual_zero_point = residual.zero_point,
                                         .output_inverse_scale = inverse(given.output.scale),
                                         .output_zero_point = given.output.zero_point};
}

}  // namespace qgen
