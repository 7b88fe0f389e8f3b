// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The versions of Vulkan that modules can be for. Specs name them (codegen/spec/words.h), and `compile` compiles for
// them.
#pragma once

#include <cstdint>

namespace qgen::compile {

// The version of Vulkan that modules are for: SPIR-V 1.3, 1.5 or 1.6. Drivers of that version and later ones run them.
// A module uses an extension for a feature that the version lacks.
enum class Target : uint8_t { vulkan1_1, vulkan1_2, vulkan1_3 };

}  // namespace qgen::compile
