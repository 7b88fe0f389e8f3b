// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The features that a caller enabled on its device, read from the structure given to vkCreateDevice(). This covers
// Vulkan's feature structs of a whole version and of one extension.
//
//   const ExtensionSet extensions = enabled_extensions(*created_with);
//   FeatureChain enabled(extensions);
//   read_enabled(*created_with, enabled);         // granted(enabled, properties) is then the device's mask
#pragma once

#include "runtime/engine/device/feature_chain.h"

namespace qgen::vulkan {

ExtensionSet enabled_extensions(const VkDeviceCreateInfo& info);
void read_enabled(const VkDeviceCreateInfo& info, FeatureChain& to);

// Sets in the structs of `chain` the bits that are set in `from`. Links missing structs of `from` after its last.
// Errors: a struct of one feature, if Vulkan forbids it next to its version's own struct.
Expected<const void*> join(FeatureChain& from, void* chain);

}  // namespace qgen::vulkan
