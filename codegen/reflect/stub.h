// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A module without code: the names, decorations, types, constants and variables, and an empty entry
// point.
//
// SPIRV-Cross reads a module whole, and throws on instructions that it does not know: its 1.4.304 on every cooperative
// matrix, 1.4.357 on tensor addressing. An interface never contains them, so a stub without function bodies and without
// those types is read by every version. It is a tenth of the module, too, and quicker to read.
#pragma once

#include "codegen/reflect/module.h"

namespace qgen::reflect {

std::vector<uint32_t> interface_stub(const Module& module);

}  // namespace qgen::reflect
