// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "tests/reference/references.h"

#include <algorithm>

#include "tests/reference/affine_requests.h"
#include "tests/reference/packed_requests.h"

namespace qgen::reference {
namespace {

struct Row {
  std::string_view name;
  Operator compute;
};
constexpr Row kRows[] = {
    {"choose_qparams_affine", choose_qparams_affine},
    {"dequantize_affine", dequantize_affine},
    {"q8ta_clone", q8ta_clone},
    {"q8ta_dequantize", q8ta_dequantize},
    {"q8ta_quantize", q8ta_quantize},
    {"quantize_affine", quantize_affine},
};

}  // namespace

Operator find(std::string_view name) {
  const auto row = std::ranges::find(kRows, name, &Row::name);
  return row == std::end(kRows) ? nullptr : row->compute;
}

}  // namespace qgen::reference
