// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The epilogue that int8 linear layers and convolutions share (specs/lib/int8_epilogue.yaml), and the limit of their
// sums. docs/linear.md is the definition.
#pragma once

#include <cstdint>
#include <optional>

#include "int8_epilogue_fields.h"
#include "runtime/engine/calls/call.h"
#include "runtime/engine/library/error.h"
#include "runtime/engine/operators/per_tensor.h"

namespace qgen {

// Sums of this many int8 products, and their zero-point corrections, are exact in 32 bits.
constexpr int64_t kMaxLinearDepth = 131072;
Done check_depth(int64_t k);

// RN(1 / scale), which kernels read.
float inverse(float scale);

// The caller's arguments.
struct EpilogueArguments {
  double input_scale;
  int64_t input_zero_point;
  generated::words::Activation activation;
  bool has_bias;
  std::optional<TensorDesc> table, residual;
  PerTensor output;
  std::optional<double> table_input_scale, result_scale, residual_scale;
  int64_t table_input_zero_point, result_zero_point, residual_zero_point;
};

// The fields of the fragment specs/lib/int8_epilogue.yaml. Errors: a scale without its operand, or an operand without
// its scale; a table or a residual whose shape or layout does not fit the output.
Expected<generated::fields::Int8Epilogue> epilogue_fields(const EpilogueArguments& given, const TensorDesc& output);

Expected<generated::fields::Int8Epilogue> epilogue_fields(const auto& inputs, const auto& attributes,
                                                          const TensorDesc& output) {
  return epilogue_fields(EpilogueArguments{.input_scale = attributes.input_scale,
                                           .input_zero_point = attributes.input_zero_point,
                                           .activation = attributes.activation,
                                           .has_bias = inputs.bias.has_value(),
                                           .table = inputs.table,
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

}  // namespace qgen
