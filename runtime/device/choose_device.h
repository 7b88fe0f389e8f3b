// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Which of the devices a person means: by index, by UUID, by part of the name, or none named.
#pragma once

#include <span>
#include <string_view>

#include "runtime/device/device_profile.h"
#include "runtime/library/error.h"

namespace qgen {

// The index of the device that `which` names; Device::open() says how. A name that several devices bear means the
// first of them. Errors: no device by that name, with those there are.
Expected<size_t> choose_device(std::span<const DeviceProfile> devices, std::string_view which);

}  // namespace qgen
