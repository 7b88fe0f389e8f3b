// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// --emit c: modules, their bindings, and the choice among them as C99, for programs without qgen's runtime and without
// C++. docs/engines.md shows an engine that dispatches them.
//
//   c/softmax.h, c/softmax.c               the operator: its problem, and its kernels as arrays and functions
//   c/qgen_kernels.h, c/qgen_kernels.c     the same for all: structs, and the choice
//
// Recipes, and kernels that need cooperative matrices, are left out.
#pragma once

#include <vector>

#include "codegen/pipeline.h"

namespace qgen {

// Of a product that was reflected. Empty: not one kernel is left.
std::vector<emit::File> c_files(const Product& product);

}  // namespace qgen
