// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The architecture of a device. Measurements on one device are used for others of the same architecture.
//
//   architecture_of(0x10de, 0x2335)   // "hopper"
//   architecture_of(0x10de, 0x0001)   // "": not known
#pragma once

#include <cstdint>
#include <string_view>

namespace qgen {

// By Vulkan's vendorID and deviceID; vocabulary/architecture_rows.inc is the table.
std::string_view architecture_of(uint32_t vendor_id, uint32_t device_id);

}  // namespace qgen
