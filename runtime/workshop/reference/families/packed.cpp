// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The references of quantizing, dequantizing and copying packed int8 tensors, by name: affine.h with one scale and zero
// point for the whole tensor. The location of elements does not affect values.
#include "runtime/engine/calls/attributes.h"
#include "runtime/workshop/reference/affine.h"
#include "runtime/workshop/reference/rows.h"

namespace qgen::reference {
namespace {

constexpr IntegerBounds kInt8{-128, 127};

// Attributes of an operand, as tensors of one element.
struct Parameters {
  HostTensor scale = zeros(DType::f32, {});
  HostTensor zero_point = zeros(DType::i32, {});
};

Parameters parameters_of(const Request& request, const std::string& operand) {
  Parameters parameters;
  set_element(parameters.scale, 0, attribute<double>(request, operand + "_scale"));
  set_element(parameters.zero_point, 0, static_cast<double>(attribute<int64_t>(request, operand + "_zero_point")));
  return parameters;
}

}  // namespace

// They share a name with the functions that they call, so they are in the same namespace.
static Tensors q8ta_clone(const Request& request) { return {{"output", request.inputs.at("input")}}; }

static Tensors quantized_by(const Request& request, Quantize one) {
  const HostTensor& input = request.inputs.at("input");
  const Parameters output = parameters_of(request, "output");
  return {{"output", quantize_affine(input, input.shape, output.scale, &output.zero_point, DType::i8, kInt8, one)}};
}

static Tensors q8ta_quantize(const Request& request) { return quantized_by(request, quantize); }
static Tensors q8ta_quantize_linear(const Request& request) { return quantized_by(request, quantize_linear); }

static Tensors q8ta_dequantize(const Request& request) {
  const HostTensor& input = request.inputs.at("input");
  const Parameters parameters = parameters_of(request, "input");
  return {{"output", dequantize_affine(input, input.shape, parameters.scale, &parameters.zero_point,
                                       dtype_attribute(request, "output_dtype"))}};
}

std::span<const Row> packed_rows() {
  static constexpr Row kRows[] = {
      {"q8ta_clone", q8ta_clone},
      {"q8ta_dequantize", q8ta_dequantize},
      {"q8ta_quantize", q8ta_quantize},
      {"q8ta_quantize_linear", q8ta_quantize_linear},
  };
  return kRows;
}

}  // namespace qgen::reference
