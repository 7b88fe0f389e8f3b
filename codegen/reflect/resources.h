// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Facts that SPIRV-Cross does not report about a module: workgroup memory, and the shapes of its cooperative matrices.
#pragma once

#include "codegen/reflect/interface.h"
#include "codegen/reflect/module.h"

namespace qgen::reflect {

// For the values that `constants` were made with. Of cooperative matrices, one shape per kind of multiplication, and
// one per matrix type that no multiplication mentions.
Result<Resources> resources_of(const Module& module, const Constants& constants);

}  // namespace qgen::reflect
