// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Finds the device that a person names: by index, by UUID, by part of the name, or by nothing at all.
#pragma once

#include <span>
#include <string_view>

#include "runtime/engine/device/device_profile.h"
#include "runtime/engine/library/error.h"

namespace qgen {

// The index of the device that `which` names; Device::open() says how. A name that several devices bear means the
// first of them. Errors: no device by that name, with those there are.
Expected<size_t> choose_device(std::span<const DeviceProfile> devices, std::string_view which);

// Whether kernels can run on it at all, by its version of Vulkan: Device::open() refuses others. A hand-made profile
// may lack its version; it then counts as one that can.
Done check_vulkan_version(const DeviceProfile& device);

}  // namespace qgen
