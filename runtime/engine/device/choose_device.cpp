// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A name is tried as an index, then as a UUID, then as a part of a device's name, so that the most exact meaning wins.
// A number of one or two digits is an index only: many names have such digits. "4090" may be a part of a name.
#include "runtime/engine/device/choose_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>

#include "common/number.h"
#include "common/text.h"
#include "runtime/engine/device/vulkan_api.h"

namespace qgen {

Done check_vulkan_version(const DeviceProfile& device) {
  const uint32_t version = device.api_version;
  if (version == 0 || version >= vulkan::kLeastApiVersion) return std::monostate{};
  return Error{
      Error::Kind::unsupported,
      fmt::format("device '{}' offers Vulkan {}.{}, and qgen needs {}.{}", device.name, VK_API_VERSION_MAJOR(version),
                  VK_API_VERSION_MINOR(version), VK_API_VERSION_MAJOR(vulkan::kLeastApiVersion),
                  VK_API_VERSION_MINOR(vulkan::kLeastApiVersion)),
      "update its driver"};
}

namespace {

// Least first.
int preference(const DeviceProfile& device) {
  if (!check_vulkan_version(device)) return 5;  // cannot be opened
  switch (device.kind) {
    case DeviceProfile::Kind::discrete: return 0;
    case DeviceProfile::Kind::integrated: return 1;
    case DeviceProfile::Kind::virtual_gpu: return 2;
    case DeviceProfile::Kind::cpu: return 3;
    case DeviceProfile::Kind::other: return 4;
  }
  return 4;
}

size_t preferred(std::span<const DeviceProfile> devices) {
  const auto best = std::min_element(devices.begin(), devices.end(),
                                     [](const auto& a, const auto& b) { return preference(a) < preference(b); });
  return static_cast<size_t>(best - devices.begin());
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

bool is_short_number(std::string_view text) {
  return text.size() <= 2 && std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

// "0: NVIDIA H200, 1: llvmpipe (LLVM 15.0.6, 256 bits)"
std::string listing(std::span<const DeviceProfile> devices) {
  std::string text;
  for (size_t i = 0; i < devices.size(); ++i) {
    text += fmt::format("{}{}: {}", i ? ", " : "", i, devices[i].name);
  }
  return text;
}

}  // namespace

Expected<size_t> choose_device(std::span<const DeviceProfile> devices, std::string_view which) {
  if (devices.empty()) return Error{Error::Kind::not_found, "no Vulkan device", "install a Vulkan driver"};
  if (which.empty()) return preferred(devices);
  if (const auto index = read_number<size_t>(which); index && *index < devices.size()) return *index;

  const std::string wanted = lower(which);
  std::string digits = wanted;
  std::erase(digits, '-');
  for (size_t i = 0; i < devices.size(); ++i) {
    if (hexadecimal(devices[i].device_uuid) == digits) return i;
  }
  for (size_t i = 0; i < devices.size() && !is_short_number(wanted); ++i) {
    if (lower(devices[i].name).find(wanted) != std::string::npos) return i;
  }
  return Error{Error::Kind::not_found,
               fmt::format("no device is called '{}'; the devices are {}", which, listing(devices)),
               "name a device by its index, a part of its name, or its UUID (qgen-info prints them)"};
}

}  // namespace qgen
