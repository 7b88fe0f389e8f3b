// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Keeps GLSL's `precise` through the optimiser. In SPIR-V it is the decoration NoContraction on each result. The
// optimiser's loop unroller gives it only to the first copy of a loop's body (SPIRV-Tools until October 2025, issue
// 5902). A driver then contracts the products and sums of the other copies, and integers rounded from them are wrong
// next to a half. The unroller copies line information, so line information carries the mark.
#pragma once

#include "codegen/compile/compile.h"

namespace qgen::compile {

// Whether arithmetic of the module has the decoration.
bool has_exact_arithmetic(const Spirv& spirv);

// The module with a line for each such instruction. It must have no other line information.
Spirv marked(const Spirv& spirv);

// The other way: every arithmetic instruction with a line has the decoration, and no line is left.
Spirv unmarked(const Spirv& spirv);

}  // namespace qgen::compile
