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
  BoundsOf bounds = nullptr;
};
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
    {"linear_dq8ca_q4gsw", dynamic_linear, dynamic_bounds},
    {"linear_dq8ca_q8csw", dynamic_linear, dynamic_bounds},
    {"linear_q4gsw", weight_only_linear, weight_only_bounds},
    {"linear_q4gsw_backward", weight_only_backward, weight_only_backward_bounds},
    {"linear_q8csw", weight_only_linear, weight_only_bounds},
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

BoundsOf find_bounds(std::string_view name) {
  const Row* row = find_row(name);
  return row ? row->bounds : nullptr;
}

}  // namespace qgen::reference
