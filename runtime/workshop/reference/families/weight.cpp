// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The references of layers with int8 and int4 weights, of packing and of embeddings, by name. They pass requests to
// weight_linear.h.
#include <algorithm>
#include <cmath>

#include "runtime/engine/calls/attributes.h"
#include "runtime/workshop/reference/gate.h"
#include "runtime/workshop/reference/linear_requests.h"
#include "runtime/workshop/reference/rows.h"
#include "runtime/workshop/reference/weight_linear.h"

namespace qgen::reference {
namespace {

WeightLinear linear_of(const Request& request) {
  return {request.inputs.at("input"), request.inputs.at("weight"), request.inputs.at("weight_scales"),
          find_input(request, "bias"), activation_of(request)};
}

IntegerBounds range_of(const Request& request) {
  return {static_cast<int32_t>(attribute<int64_t>(request, "quant_min")),
          static_cast<int32_t>(attribute<int64_t>(request, "quant_max"))};
}

Answer answer_of(const std::string& name, ExactOutput made) {
  return {{{name, std::move(made.output)}}, {{name, std::move(made.exact)}}};
}

// With the bound of what a kernel stores as f16. 65520 and more become infinity.
Exact rounded_to_half(Exact exact) {
  for (size_t i = 0; i < exact.values.size(); ++i) {
    double &value = exact.values[i], &bound = exact.bounds[i];
    if (std::abs(value) < 65520) {
      bound += 0x1p-25 + 0x1p-11 * (std::abs(value) + bound);
    } else {
      if (!std::isnan(value)) value = std::copysign(kInfinity, value);
      bound = 0;
    }
  }
  return exact;
}

}  // namespace

// These have the names of the functions that they call, so they are in the same namespace.
static Answer weight_only_linear(const Request& request) {
  return answer_of("output", weight_only_linear(linear_of(request)));
}

// The row that the product reads is rounded to f16 first.
static Answer rms_norm_linear(const Request& request) {
  Request of_norm{.inputs = {{"input", request.inputs.at("hidden")}, {"skip", request.inputs.at("skip")}},
                  .attributes = {{"epsilon", attribute<double>(request, "epsilon")}}};
  if (const HostTensor* weight = find_input(request, "norm_weight")) of_norm.inputs.emplace("weight", *weight);
  Answer norm = *answer("skip_rms_norm", of_norm);
  const Exact rounded = rounded_to_half(std::move(norm.exact.at("output")));
  const WeightLinear linear{norm.outputs.at("output"), request.inputs.at("weight"), request.inputs.at("weight_scales"),
                            find_input(request, "bias"), activation_of(request)};
  ExactOutput product = weight_only_linear(linear, rounded);
  return {{{"output", std::move(product.output)}, {"sum", std::move(norm.outputs.at("sum"))}},
          {{"output", std::move(product.exact)}, {"sum", std::move(norm.exact.at("sum"))}}};
}

// The product that the gate reads is rounded to f16 first.
static Answer rms_norm_gated(const Request& request) {
  Answer product = rms_norm_linear(request);
  HostTensor& output = product.outputs.at("output");
  Exact& exact = product.exact.at("output");
  ExactOutput gated = silu_mul(rounded_to_half(std::move(exact)), output.dtype, output.shape);
  output = std::move(gated.output);
  exact = std::move(gated.exact);
  return product;
}

static Answer weight_only_backward(const Request& request) {
  return answer_of("d_input", weight_only_backward(request.inputs.at("d_output"), request.inputs.at("weight"),
                                                   request.inputs.at("weight_scales")));
}

static Answer dynamic_linear(const Request& request) {
  const auto mapping = word_attribute<MappingType>(request, "activation_mapping", generated::words::kMappingType);
  return answer_of("output", dynamic_linear(linear_of(request), mapping, range_of(request)));
}

static Tensors embedding(const Request& request) {
  return {{"output", embedding(request.inputs.at("indices"), request.inputs.at("weight"),
                               request.inputs.at("weight_scales"), dtype_attribute(request, "output_dtype"))}};
}

// The elements stay unchanged, except those that exceed four bits.
static Tensors pack_weight(const Request& request) {
  HostTensor weight = request.inputs.at("source");
  if (attribute<std::string>(request, "form").starts_with("weight_q4")) {
    for (int8_t& w : weight.as<int8_t>()) w = std::clamp<int8_t>(w, -8, 7);
  }
  return {{"output", weight}};
}

static Tensors quantize_q4gsw(const Request& request) {
  return {
      {"output", quantize_weight(request.inputs.at("input"), request.inputs.at("weight_scales"), range_of(request))}};
}

std::span<const Row> weight_rows() {
  static constexpr Row kRows[] = {
      {"embedding_q4gsw", embedding},
      exact_row<dynamic_linear>("linear_dq8ca_q4gsw"),
      exact_row<dynamic_linear>("linear_dq8ca_q8csw"),
      exact_row<weight_only_linear>("linear_q4gsw"),
      exact_row<weight_only_backward>("linear_q4gsw_backward"),
      exact_row<weight_only_linear>("linear_q8csw"),
      {"pack_weight", pack_weight},
      {"quantize_q4gsw", quantize_q4gsw},
      exact_row<rms_norm_gated>("rms_norm_gated_q4gsw"),
      exact_row<rms_norm_linear>("rms_norm_linear_q4gsw"),
  };
  return kRows;
}

}  // namespace qgen::reference
