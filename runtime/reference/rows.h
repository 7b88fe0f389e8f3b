// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The tables that references.cpp looks names up in, one for each family: a new operator of a family is a row beside its
// function.
#pragma once

#include <span>

#include "runtime/reference/references.h"

namespace qgen::reference {

struct Row {
  std::string_view name;
  Operator compute;
  Answer (*with_exact_values)(const Request& request) = nullptr;
};

// Of an operator whose results are made of reals.
template <Answer (*compute)(const Request&)>
constexpr Row exact_row(std::string_view name) {
  return {name, [](const Request& request) { return compute(request).outputs; }, compute};
}

std::span<const Row> affine_rows();
std::span<const Row> conv_rows();
std::span<const Row> elementwise_rows();
std::span<const Row> fused_rows();
std::span<const Row> linear_rows();
std::span<const Row> movement_rows();
std::span<const Row> normalization_rows();
std::span<const Row> packed_rows();
std::span<const Row> pool_rows();
std::span<const Row> resize_rows();
std::span<const Row> weight_rows();

}  // namespace qgen::reference
