// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Modules for older drivers. The blob has each module once, in SPIR-V 1.6; a driver of Vulkan 1.1 reads SPIR-V 1.3:
//
//   const auto words = blob.module(7);                      // SPIR-V 1.6
//   const auto older = older_spirv(*words, kSpirv1_3);      // the same kernel, for vkCreateShaderModule()
//
// The result computes the same. Only constructs that an older version lacks are rewritten:
//
//   LocalSizeId                                   a constant decorated WorkgroupSize, which every version has
//   a capability that became part of a version    the same, with its extension
//   copies and selections of whole structs        the same of each member
//   hints to the driver                           left out
//   uniform blocks, where they have to            storage buffers
//
// Which features the device must have is not checked here: InterfaceInfo::needs names them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/engine/library/error.h"
#include "vocabulary/features.h"

namespace qgen {

// As in the second word of a module.
constexpr uint32_t kSpirv1_3 = 0x00010300;
constexpr uint32_t kSpirv1_4 = 0x00010400;
constexpr uint32_t kSpirv1_5 = 0x00010500;
constexpr uint32_t kSpirv1_6 = 0x00010600;

// The SPIR-V version that a device of this Vulkan version reads, for modules with these needs. The Vulkan version is
// packed by VK_MAKE_API_VERSION. On Vulkan 1.1 that is SPIR-V 1.3, except for features that only devices with
// VK_KHR_spirv_1_4 have.
uint32_t spirv_version(uint32_t api_version, FeatureMask needs);

// Arrays in uniform blocks have the layout of storage buffers. A device that lacks Feature::uniform_buffer_standard_layout
// cannot read them, so there the block is bound as a storage buffer.
enum class UniformBlocks : uint8_t { stay, become_storage_buffers };

// The module in `version`, or in its own version if that is no newer. `version` is one of the four above. Errors: words
// that are no module; an instruction that the version cannot express.
Expected<std::vector<uint32_t>> older_spirv(std::span<const uint32_t> module, uint32_t version,
                                            UniformBlocks blocks = UniformBlocks::stay);

}  // namespace qgen
