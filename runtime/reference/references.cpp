// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/reference/references.h"

#include <algorithm>

#include "runtime/reference/affine_requests.h"
#include "runtime/reference/elementwise.h"
#include "runtime/reference/fused_requests.h"
#include "runtime/reference/linear_requests.h"
#include "runtime/reference/packed_requests.h"
#include "runtime/reference/weight_requests.h"

namespace qgen::reference {
namespace {

struct Row {
  std::string_view name;
  Operator compute;
  Answer (*with_exact_values)(const Request& request) = nullptr;
};

template <Answer (*compute)(const Request&)>
Tensors outputs_of(const Request& request) {
  return compute(request).outputs;
}
template <Answer (*compute)(const Request&)>
constexpr Row exact(std::string_view name) {
  return {name, outputs_of<compute>, compute};
}

constexpr Row kRows[] = {
    {"bmm", fused_bmm},
    {"choose_qparams_affine", choose_qparams_affine},
    {"dequantize_affine", dequantize_affine},
    {"embedding_q4gsw", embedding},
    {"fused_add", fused_add},
    {"fused_bmm", fused_bmm},
    {"fused_hardswish", fused_hardswish},
    {"fused_mul", fused_mul},
    {"fused_relu", fused_relu},
    exact<dynamic_linear>("linear_dq8ca_q4gsw"),
    exact<dynamic_linear>("linear_dq8ca_q8csw"),
    exact<weight_only_linear>("linear_q4gsw"),
    exact<weight_only_backward>("linear_q4gsw_backward"),
    exact<weight_only_linear>("linear_q8csw"),
    {"linear_q8ta_q8csw", linear_q8ta_q8csw},
    {"pack_weight", pack_weight},
    {"q8ta_add", q8ta_add},
    {"q8ta_clone", q8ta_clone},
    {"q8ta_dequantize", q8ta_dequantize},
    {"q8ta_hardswish", q8ta_hardswish},
    {"q8ta_linear", q8ta_linear},
    {"q8ta_mul", q8ta_mul},
    {"q8ta_pixel_shuffle", q8ta_pixel_shuffle},
    {"q8ta_quantize", q8ta_quantize},
    {"q8ta_relu", q8ta_relu},
    {"q8ta_sigmoid", q8ta_sigmoid},
    {"q8ta_sub", q8ta_sub},
    {"quantize_affine", quantize_affine},
    {"quantize_q4gsw", quantize_q4gsw},
    {"requantize", requantize},
};

const Row* find_row(std::string_view name) {
  const auto* row = std::ranges::find(kRows, name, &Row::name);
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace

Operator find(std::string_view name) {
  const Row* row = find_row(name);
  return row ? row->compute : nullptr;
}

std::optional<Answer> answer(std::string_view name, const Request& request) {
  const Row* row = find_row(name);
  if (!row) return std::nullopt;
  return row->with_exact_values ? row->with_exact_values(request) : Answer{row->compute(request), {}};
}

bool has_exact_values(std::string_view name) {
  const Row* row = find_row(name);
  return row && row->with_exact_values;
}

}  // namespace qgen::reference
