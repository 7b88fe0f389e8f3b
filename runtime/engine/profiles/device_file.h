// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A DeviceProfile as YAML, for devices/*.yaml, for the file that `qgen-info --measure` stores, and for `device` in
// tuning files. With it, any machine can choose kernels for the device, and explain the choice.
//
//   name: NVIDIA H200
//   kind: discrete
//   vendor_id: 0x10de
//   device_id: 0x2335
//   driver: {name: NVIDIA, info: 580.95.05}
//   subgroup: {size: 32, least: 32, most: 32, is_selectable: true}
//   limits: {workgroup_size: [1024, 1024, 64], shared_memory_bytes: 49152}
//   features: [shader_int8, integer_dot_product]
//   cooperative_matrices:
//   - {m: 16, n: 16, k: 32, a: i8, b: i8, c: i32, result: i32, scope: subgroup}
//   numbers: {compute_units: 132, bytes_per_us: 4.8e6}
//   sources:
//     compute_units: the driver
//     bytes_per_us: data sheet, nvidia.com/en-us/data-center/h200
//
// A key that is left out has the default of DeviceProfile; missing numbers are computed by estimate(). So a file has
// only known values, with their sources. Name, kind and vendor_id are required. devices/README.md lists all keys.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/engine/device/device_profile.h"
#include "runtime/engine/library/error.h"

namespace YAML {
class Node;
}
namespace qgen::yaml {
class Reader;
}

namespace qgen::profiles {

// The error holds everything that is wrong with the text, each with its line; `file` is how the text is called there.
Expected<DeviceProfile> read_device(std::string_view yaml, const std::string& file);
// The same for a part of a text; the reader reports its faults.
DeviceProfile read_device(yaml::Reader& reader, const YAML::Node& map);
// A version of Vulkan, as 1.3.275 or 1.3, packed as VK_MAKE_API_VERSION does; nullopt: it is none.
std::optional<uint32_t> read_version(std::string_view text);
// Of a file of at most a mebibyte.
Expected<DeviceProfile> load_device(const std::string& path);

// A text that read_device() reads back as the same profile. Numbers are written if they have a source, or differ from
// estimate() of the rest. Each line begins with `indent` spaces.
std::string to_yaml(const DeviceProfile& profile, int indent = 0);

}  // namespace qgen::profiles
