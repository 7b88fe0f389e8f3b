// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/reference/linear_requests.h"

#include "runtime/calls/attributes.h"
#include "runtime/reference/rows.h"

namespace qgen::reference {
Activation activation_of(const Request& request) {
  return word_attribute<Activation>(request, "activation", generated::words::kActivation);
}

LinearParams params_of(const Request& request) {
  return {static_cast<float>(attribute<double>(request, "input_scale")),
          static_cast<int32_t>(attribute<int64_t>(request, "input_zero_point")), activation_of(request)};
}

// Of one name with what they call, so they are in one namespace with it.
static Tensors q8ta_linear(const Request& request) {
  return {{"output", q8ta_linear(request.inputs.at("input"), request.inputs.at("weight"),
                                 request.inputs.at("weight_scales"), find_input(request, "bias"), params_of(request),
                                 static_cast<float>(attribute<double>(request, "output_scale")),
                                 static_cast<int32_t>(attribute<int64_t>(request, "output_zero_point")))}};
}

static Tensors linear_q8ta_q8csw(const Request& request) {
  return {{"output",
           linear_q8ta_q8csw(request.inputs.at("input"), request.inputs.at("weight"),
                             request.inputs.at("weight_scales"), find_input(request, "bias"), params_of(request))}};
}

static constexpr Row kRows[] = {
    {"linear_q8ta_q8csw", linear_q8ta_q8csw},
    {"q8ta_linear", q8ta_linear},
};

std::span<const Row> linear_rows() { return kRows; }

}  // namespace qgen::reference
