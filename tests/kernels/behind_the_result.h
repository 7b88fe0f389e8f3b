// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The optional parts of the int8 epilogue, a lookup table and a residual: docs/linear.md.
#pragma once

#include <cmath>

#include "runtime/engine/calls/registry.h"
#include "runtime/engine/operators/byte_table.h"
#include "tests/support/tensors.h"

namespace qgen::testing {

// Of requests whose results are rounded by a scale of `output_scale`, silu of the results.
inline void add_table(Request& request) {
  const double scale = std::get<double>(request.attributes.at("output_scale"));
  const ByteTable table =
      byte_table([](double x) { return x / (1 + std::exp(-x)); }, {static_cast<float>(scale), 9}, {0.01f, -100});
  request.inputs["table"] = zeros(DType::i8, {256});
  std::ranges::copy(table, request.inputs["table"].as<int8_t>().begin());
  request.attributes["table_input_scale"] = scale;
  request.attributes["table_input_zero_point"] = int64_t{9};
}

// A residual of every value, of a result of that shape.
inline void add_residual(Request& request, const Shape& output) {
  const double scale = std::get<double>(request.attributes.at("output_scale"));
  request.inputs["residual"] =
      Random(static_cast<uint32_t>(element_count(output))).integers(DType::i8, output, -128, 127);
  request.attributes["result_scale"] = scale;
  request.attributes["result_zero_point"] = int64_t{-3};
  request.attributes["residual_scale"] = 0.7 * scale;
  request.attributes["residual_zero_point"] = int64_t{11};
  request.attributes["output_scale"] = 1.3 * scale;
  request.attributes["output_zero_point"] = int64_t{-128};  // relu
}

}  // namespace qgen::testing
