// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/calls/attributes.h"
#include "runtime/workshop/reference/affine.h"
#include "runtime/workshop/reference/linear_requests.h"
#include "runtime/workshop/reference/rows.h"

namespace qgen::reference {
namespace {

// q8ta_add, as docs/q8ta.md has it.
HostTensor added(HostTensor q, const HostTensor& residual, const Request& request) {
  Request sum;
  sum.inputs = {{"input", std::move(q)}, {"other", residual}};
  sum.attributes = {{"activation", "none"}, {"alpha", 1.0}};
  for (const std::string part : {"_scale", "_zero_point"}) {
    sum.attributes["input" + part] = request.attributes.at("result" + part);
    sum.attributes["other" + part] = request.attributes.at("residual" + part);
    sum.attributes["output" + part] = request.attributes.at("output" + part);
  }
  return find("q8ta_add")(sum).at("output");
}

}  // namespace

HostTensor stored(const HostTensor& results, const Request& request) {
  const HostTensor *table = find_input(request, "table"), *residual = find_input(request, "residual");
  const std::string integers = table ? "table_input" : residual ? "result" : "output";
  HostTensor q = quantized(results, {static_cast<float>(attribute<double>(request, integers + "_scale")),
                                     static_cast<int32_t>(attribute<int64_t>(request, integers + "_zero_point"))});
  if (table) {
    for (int8_t& value : q.as<int8_t>()) value = table->as<int8_t>()[static_cast<size_t>(value + 128)];
  }
  return residual ? added(std::move(q), *residual, request) : q;
}

Activation activation_of(const Request& request) {
  return word_attribute<Activation>(request, "activation", generated::words::kActivation);
}

LinearParams params_of(const Request& request) {
  return {static_cast<float>(attribute<double>(request, "input_scale")),
          static_cast<int32_t>(attribute<int64_t>(request, "input_zero_point")), activation_of(request)};
}

static Tensors q8ta_linear(const Request& request) {
  const HostTensor results =
      linear(request.inputs.at("input"), request.inputs.at("weight"), request.inputs.at("weight_scales"),
             find_input(request, "bias"), params_of(request));
  return {{"output", stored(results, request)}};
}

// This has the name of the function that it calls, so it is in the same namespace.
static Tensors linear_q8ta_q8csw(const Request& request) {
  return {{"output",
           linear_q8ta_q8csw(request.inputs.at("input"), request.inputs.at("weight"),
                             request.inputs.at("weight_scales"), find_input(request, "bias"), params_of(request))}};
}

static Tensors q8ta_linear_dequantize(const Request& request) {
  const HostTensor reals = linear(request.inputs.at("input"), request.inputs.at("weight"),
                                  request.inputs.at("weight_scales"), find_input(request, "bias"), params_of(request));
  return {{"output", rounded_to(dtype_attribute(request, "output_dtype"), reals)}};
}

std::span<const Row> linear_rows() {
  static constexpr Row kRows[] = {
      {"linear_q8ta_q8csw", linear_q8ta_q8csw},
      {"q8ta_linear", q8ta_linear},
      {"q8ta_linear_dequantize", q8ta_linear_dequantize},
  };
  return kRows;
}

}  // namespace qgen::reference
