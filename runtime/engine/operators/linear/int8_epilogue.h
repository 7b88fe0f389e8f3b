// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The epilogue that int8 linear layers and convolutions share (specs/lib/int8_epilogue.yaml), and the limit of their
// sums. docs/linear.md is the definition.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/engine/calls/call.h"
#include "runtime/engine/library/error.h"
#include "runtime/engine/operators/per_tensor.h"

namespace qgen {

// Sums of this many int8 products, and their zero-point corrections, are exact in 32 bits.
constexpr int64_t kMaxLinearDepth = 131072;
Done check_depth(int64_t k);

// RN(1 / scale), which kernels read.
float inverse(float scale);

// The scales and zero points of docs/linear.md: for the rounded result r, for t after the table, for the residual, and
// for the stored output q. Without a table and a residual, r, t and q have the same scale and zero point.
struct Int8Epilogue {
  bool has_table, has_residual;
  PerTensor rounded, result, residual, output;
};

// The caller's arguments.
struct EpilogueArguments {
  std::optional<TensorDesc> table, residual;
  PerTensor output;
  std::optional<double> table_input_scale, result_scale, residual_scale;
  int64_t table_input_zero_point, result_zero_point, residual_zero_point;
};

// Errors: a scale without its operand, or an operand without its scale; a table or a residual whose shape or layout
// does not fit the output.
Expected<Int8Epilogue> epilogue_of(const EpilogueArguments& given, const TensorDesc& output);

template <typename Inputs, typename Attributes>
Expected<Int8Epilogue> epilogue_of(const Inputs& inputs, const Attributes& attributes, const TensorDesc& output) {
  return epilogue_of(EpilogueArguments{.table = inputs.table,
                                       .residual = inputs.residual,
                                       .output = of_output(attributes),
                                       .table_input_scale = attributes.table_input_scale,
                                       .result_scale = attributes.result_scale,
                                       .residual_scale = attributes.residual_scale,
                                       .table_input_zero_point = attributes.table_input_zero_point,
                                       .result_zero_point = attributes.result_zero_point,
                                       .residual_zero_point = attributes.residual_zero_point},
                     output);
}

// The fields of the fragment specs/lib/int8_epilogue.yaml, for the braces of a Problem (see QGEN_WINDOW_FIELDS).
// clang-format off
#define QGEN_INT8_EPILOGUE_FIELDS(inputs, attributes, epilogue)            \
  .input_scale = static_cast<float>((attributes).input_scale),             \
  .input_zero_point = static_cast<int32_t>((attributes).input_zero_point), \
  .activation = (attributes).activation,                                   \
  .has_bias = (inputs).bias ? 1u : 0u,                                     \
  .rounded_inverse_scale = inverse((epilogue).rounded.scale),              \
  .rounded_zero_point = (epilogue).rounded.zero_point,                     \
  .has_table = (epilogue).has_table ? 1u : 0u,                             \
  .has_residual = (epilogue).has_residual ? 1u : 0u,                       \
  .result_scale = (epilogue).result.scale,                                 \
  .result_zero_point = (epilogue).result.zero_point,                       \
  .residual_scale = (epilogue).residual.scale,                             \
  .residual_zero_point = (epilogue).residual.zero_point,                   \
  .output_inverse_scale = inverse((epilogue).output.scale),                \
  .output_zero_point = (epilogue).output.zero_point
// clang-format on

}  // namespace qgen
