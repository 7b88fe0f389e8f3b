// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The parts of an expression as its author wrote them, with definitions as their names. It splits a sum into its terms,
// to explain a cost:
//
//   device.launch_us + tiles * tile_us - saved   ->   "device.launch_us", "tiles * tile_us", "saved" (subtracted)
#pragma once

#include <string>
#include <vector>

#include "codegen/expression/expression.h"

namespace qgen::expression {

struct Term {
  std::string text;  // definitions are named, not written out: "tiles * tile_us"
  Expression value;
  bool is_subtracted = false;
};

// In the order of the text. An expression that is no sum is one term.
std::vector<Term> terms_of(const Expression& expression);

// The expression's text, in which definitions are named: "members <= device.subgroup_size".
std::string short_text(const Expression& expression);

// The definitions that the text of the expression names, in its order, each once; none within definitions.
std::vector<std::string> definitions_named(const Expression& expression);

}  // namespace qgen::expression
