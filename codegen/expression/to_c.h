// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An expression as equivalent C99. Integers are int64_t, real numbers are double, and a word is its index among its
// symbol's words.
//
//   width % vec == 0   ->   (qgen_rem(problem->width, kernel[2]) == 0)
//
// Sums, products and quotients of integers are calls, since they saturate, and x / 0 is 0.
#pragma once

#include "codegen/expression/expression.h"

namespace qgen::expression {

// `print_symbol` says how a name is read.
std::string to_c(const Expression& expression, const Scope& scope,
                 const std::function<std::string(const Symbol&)>& print_symbol);

}  // namespace qgen::expression
