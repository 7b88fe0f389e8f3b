// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/dispatch/pipeline_cache_file.h"

#include <fmt/format.h>

#include <cstring>
#include <string>

#include "common/files.h"
#include "common/text.h"
#include "runtime/engine/device/vulkan_api.h"
#include "runtime/engine/library/blob_format.h"

namespace qgen::dispatch {
namespace {

struct FileHeader {
  std::array<char, 8> magic{'Q', 'G', 'E', 'N', 'P', 'I', 'P', 'E'};
  uint32_t version = 1;
  uint32_t reserved = 0;
  uint64_t blob_bytes = 0;
  uint64_t checksum = 0;
};
static_assert(sizeof(FileHeader) == 32, "no padding: the struct is the file's bytes");

// Caches of thousands of pipelines take some ten megabytes.
constexpr size_t kMaxFileBytes = size_t{1} << 30;

bool is_of(std::span<const std::byte> blob, const CacheIdentity& identity) {
  VkPipelineCacheHeaderVersionOne header;
  if (blob.size() < sizeof(header)) return false;
  std::memcpy(&header, blob.data(), sizeof(header));
  return header.headerSize >= sizeof(header) && header.headerSize <= blob.size() &&
         header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE && header.vendorID == identity.vendor_id &&
         header.deviceID == identity.device_id &&
         std::memcmp(header.pipelineCacheUUID, identity.cache_uuid.data(), identity.cache_uuid.size()) == 0;
}

}  // namespace

std::filesystem::path cache_file_name(const DeviceProfile& profile) {
  return hexadecimal(profile.device_uuid) + "-" + hexadecimal(profile.driver_uuid) + ".qgen-pipelines";
}

std::vector<std::byte> wrap_cache(std::span<const std::byte> blob) {
  FileHeader header;
  header.blob_bytes = blob.size();
  header.checksum = blob_format::checksum(blob);
  std::vector<std::byte> file(sizeof(header) + blob.size());
  std::memcpy(file.data(), &header, sizeof(header));
  std::copy(blob.begin(), blob.end(), file.begin() + sizeof(header));
  return file;
}

std::optional<std::vector<std::byte>> unwrap_cache(std::span<const std::byte> file, const CacheIdentity& identity) {
  FileHeader header;
  if (file.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, file.data(), sizeof(header));
  const auto blob = file.subspan(sizeof(header));
  const bool is_ours = header.magic == FileHeader().magic && header.version == FileHeader().version;
  if (!is_ours || header.blob_bytes != blob.size() || header.checksum != blob_format::checksum(blob)) {
    return std::nullopt;
  }
  if (!is_of(blob, identity)) return std::nullopt;
  return std::vector<std::byte>(blob.begin(), blob.end());
}

std::optional<std::vector<std::byte>> read_file(const std::filesystem::path& path) {
  const auto file = qgen::read_file(path.string(), kMaxFileBytes);
  if (!file) return std::nullopt;
  const auto bytes = std::as_bytes(std::span(*file));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

Done replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  auto written = write_file(path.string(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (written) return written;
  return Error{Error::Kind::system, fmt::format("the pipeline cache was not saved: {}", written.error().message),
               "name a writable folder with free space"};
}

}  // namespace qgen::dispatch
