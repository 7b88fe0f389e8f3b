// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Which design a device is of: what was measured on one device says something of another of its architecture.
//
//   architecture_of(0x10de, 0x2335)   // "hopper"
//   architecture_of(0x10de, 0x0001)   // "": not known
#pragma once

#include <cstdint>
#include <string_view>

namespace qgen {

// By Vulkan's vendorID and deviceID; architecture_rows.inc is the table.
std::string_view architecture_of(uint32_t vendor_id, uint32_t device_id);

}  // namespace qgen
