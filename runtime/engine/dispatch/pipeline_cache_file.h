// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The pipeline cache on disk: the driver's data in a wrapper, so that the driver gets no damaged or foreign data back.
//
//   <folder>/<device uuid>-<driver uuid>.qgen-pipelines
//   "QGENPIPE", u32 version, u32 reserved, u64 blob bytes, u64 checksum of the blob, then VkPipelineCache's own bytes
//
// Some drivers crash on a truncated cache, and Vulkan's header does not describe the data after it. So the data are
// checked twice: by our checksum, and against the device's identity.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "runtime/engine/device/device_profile.h"
#include "runtime/engine/library/error.h"

namespace qgen::dispatch {

// The required content of VkPipelineCacheHeaderVersionOne.
struct CacheIdentity {
  uint32_t vendor_id = 0;
  uint32_t device_id = 0;
  std::array<uint8_t, 16> cache_uuid{};
};

std::filesystem::path cache_file_name(const DeviceProfile& profile);

std::vector<std::byte> wrap_cache(std::span<const std::byte> blob);
// The blob, if the file is whole and was written for this device by this driver.
std::optional<std::vector<std::byte>> unwrap_cache(std::span<const std::byte> file, const CacheIdentity& identity);

// nullopt: there is no file that can be read. A cache is an aid: why it is missing is nobody's concern.
std::optional<std::vector<std::byte>> read_file(const std::filesystem::path& path);
// Makes the folder too. A reader sees the old file or the new one (common/files.h).
Done replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace qgen::dispatch
