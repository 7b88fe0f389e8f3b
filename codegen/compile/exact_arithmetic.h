// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What GLSL calls `precise`, through the optimiser. SPIR-V says it by a decoration of each result, NoContraction, which
// the optimiser's loop unroller gives to the first copy of a loop's body and to no other (SPIRV-Tools until October
// 2025, issue 5902): a driver then contracts the others' products and sums, and integers that are rounded from them are
// wrong where they are next to a half. Line information is copied along, so it is what carries the mark.
#pragma once

#include "codegen/compile/compile.h"

namespace qgen::compile {

// Whether arithmetic of the module has the decoration.
bool has_exact_arithmetic(const Spirv& spirv);

// The module with a line for each such instruction; the module must have no line information of its own.
Spirv marked(const Spirv& spirv);

// The other way: every arithmetic instruction with a line has the decoration, and no line is left.
Spirv unmarked(const Spirv& spirv);

}  // namespace qgen::compile
