// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The tables in which references.cpp finds names: each families/NAME.cpp defines NAME_rows(). A new operator of a
// family is a row next to its function.
#pragma once

#include <span>

#include "runtime/workshop/reference/references.h"

namespace qgen::reference {

struct Row {
  std::string_view name;
  Operator compute;
  Answer (*with_exact_values)(const Request& request) = nullptr;
};

// For an operator with floating-point results.
template <Answer (*compute)(const Request&)>
constexpr Row exact_row(std::string_view name) {
  return {name, [](const Request& request) { return compute(request).outputs; }, compute};
}

#define QGEN_FAMILY(name) std::span<const Row> name##_rows();
#include "runtime/workshop/reference/families.inc"
#undef QGEN_FAMILY

}  // namespace qgen::reference
