// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The C++ code that a project writes for its operator. infer() computes the problem and the output's shape from the
// inputs' shapes. The arguments were already checked against the signature.
#include "operators.h"
#include "row_max.h"

using namespace qgen;

Expected<Call> rows::operators::infer(const RowMaxInputs<Described>& inputs, const RowMaxAttributes& attributes) {
  const TensorDesc& input = inputs.input;
  const TensorDesc output{DType::f32, Shape(input.shape.begin(), input.shape.end() - 1)};
  const row_max::Problem fields{.rows = static_cast<uint32_t>(element_count(output.shape)),
                                .columns = static_cast<uint32_t>(input.shape.back()),
                                .scale = static_cast<float>(attributes.scale)};
  return make_call(fields, inputs, {.output = output});
}
