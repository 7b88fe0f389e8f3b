// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A module without code: the names, decorations, types, constants and variables, and an empty entry
// point.
//
// SPIRV-Cross reads a whole module, and throws at instructions that it does not know: 1.4.304 at every cooperative
// matrix, 1.4.357 at tensor addressing. An interface never contains these. So every version can read a stub without
// function bodies and without those types. A stub is also a tenth of the module, and faster to read.
#pragma once

#include "codegen/reflect/module.h"

namespace qgen::reflect {

std::vector<uint32_t> interface_stub(const Module& module);

}  // namespace qgen::reflect
