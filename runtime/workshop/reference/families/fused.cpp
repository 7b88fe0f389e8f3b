// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The references of operators that quantize their own operands, by name: requests, as arguments of fused.h and bmm.h.
#include "runtime/workshop/reference/fused.h"

#include <string>

#include "runtime/engine/calls/attributes.h"
#include "runtime/engine/tensor/quant_params.h"
#include "runtime/workshop/reference/bmm.h"
#include "runtime/workshop/reference/rows.h"

namespace qgen::reference {
namespace {

FusedOperand operand_of(const Request& request, const std::string& name) {
  return {find_input(request, name), find_input(request, name + "_scale"), find_input(request, name + "_zero_point")};
}

DType output_dtype_of(const Request& request) {
  if (find_attribute<std::string>(request, "output_dtype")) return dtype_attribute(request, "output_dtype");
  if (find_input(request, "output_scale")) return DType::i8;
  for (const char* name : {"input", "other"}) {
    const HostTensor* tensor = find_input(request, name);
    if (tensor && tensor->dtype == DType::f16) return DType::f16;
  }
  return DType::f32;
}

FusedOutput output_of(const Request& request) {
  FusedOutput output{output_dtype_of(request), find_input(request, "output_scale"),
                     find_input(request, "output_zero_point")};
  if (const auto all = range_of(output.dtype)) {
    output.bounds = {static_cast<int32_t>(find_attribute<int64_t>(request, "quant_min").value_or(all->min)),
                     static_cast<int32_t>(find_attribute<int64_t>(request, "quant_max").value_or(all->max))};
  }
  return output;
}

Tensors unary(FusedOperation operation, const Request& request, const FusedNumbers& numbers = {}) {
  return {{"output", fused(operation, operand_of(request, "input"), nullptr, numbers, output_of(request))}};
}

Tensors binary(FusedOperation operation, const Request& request, float alpha) {
  const FusedOperand other = operand_of(request, "other");
  return {{"output", fused(operation, operand_of(request, "input"), &other, {.alpha = alpha}, output_of(request))}};
}

}  // namespace

// These have the names of the functions that they call, so they are in the same namespace.
static Tensors requantize(const Request& request) { return unary(FusedOperation::copy, request); }
static Tensors fused_relu(const Request& request) { return unary(FusedOperation::relu, request); }
static Tensors fused_hardswish(const Request& request) { return unary(FusedOperation::hardswish, request); }
static Tensors fused_sigmoid(const Request& request) { return unary(FusedOperation::sigmoid, request); }
static Tensors fused_clip(const Request& request) {
  FusedNumbers bounds;
  if (const auto low = find_attribute<double>(request, "low")) bounds.low = static_cast<float>(*low);
  if (const auto high = find_attribute<double>(request, "high")) bounds.high = static_cast<float>(*high);
  return unary(FusedOperation::clip, request, bounds);
}
static Tensors fused_add(const Request& request) {
  return binary(FusedOperation::add, request, static_cast<float>(attribute<double>(request, "alpha")));
}
static Tensors fused_mul(const Request& request) { return binary(FusedOperation::multiply, request, 1.0f); }

static Tensors fused_bmm(const Request& request) {
  return {{"output", fused_bmm(operand_of(request, "input"), operand_of(request, "other"), output_of(request))}};
}

std::span<const Row> fused_rows() {
  static constexpr Row kRows[] = {
      {"bmm", fused_bmm},
      {"fused_add", fused_add},
      {"fused_bmm", fused_bmm},
      {"fused_clip", fused_clip},
      {"fused_hardswish", fused_hardswish},
      {"fused_mul", fused_mul},
      {"fused_relu", fused_relu},
      {"fused_sigmoid", fused_sigmoid},
      {"requantize", requantize},
  };
  return kRows;
}

}  // namespace qgen::reference
