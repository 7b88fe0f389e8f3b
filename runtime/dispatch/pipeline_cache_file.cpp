// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/dispatch/pipeline_cache_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>

#include "runtime/device/vulkan_api.h"
#include "runtime/library/blob_format.h"

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
constexpr uintmax_t kMaxFileBytes = uintmax_t{1} << 30;

std::string hexadecimal(const std::array<uint8_t, 16>& bytes) {
  std::string text;
  for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

bool is_of(std::span<const std::byte> blob, const CacheIdentity& identity) {
  VkPipelineCacheHeaderVersionOne header;
  if (blob.size() < sizeof(header)) return false;
  std::memcpy(&header, blob.data(), sizeof(header));
  return header.headerSize >= sizeof(header) && header.headerSize <= blob.size() &&
         header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE && header.vendorID == identity.vendor_id &&
         header.deviceID == identity.device_id &&
         std::memcmp(header.pipelineCacheUUID, identity.cache_uuid.data(), identity.cache_uuid.size()) == 0;
}

Error cannot_write(const std::filesystem::path& path, const std::string& why) {
  return {Error::Kind::system, fmt::format("the pipeline cache '{}' cannot be written: {}", path.string(), why),
          "name a folder that may be written and has room"};
}

std::filesystem::path temporary_beside(const std::filesystem::path& path) {
  static std::atomic<unsigned> counter = 0;
  std::filesystem::path temporary = path;
  temporary += fmt::format(".{}.{}.tmp", ::getpid(), counter++);
  return temporary;
}

// 0, or errno.
int write_whole_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return errno;
  int error = 0;
  while (!bytes.empty() && error == 0) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes = bytes.subspan(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  // Some file systems say only here that the disk is full.
  if (::close(file) != 0 && error == 0) error = errno;
  return error;
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
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);  // an error of folders too
  if (error || size > kMaxFileBytes) return std::nullopt;
  std::vector<std::byte> bytes(size);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (!file) return std::nullopt;
  return bytes;
}

Done replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) return cannot_write(path, error.message());
  const std::filesystem::path temporary = temporary_beside(path);
  if (const int code = write_whole_file(temporary, bytes); code != 0) {
    std::filesystem::remove(temporary, error);
    return cannot_write(path, std::generic_category().message(code));
  }
  std::filesystem::rename(temporary, path, error);
  if (error) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    return cannot_write(path, error.message());
  }
  return std::monostate{};
}

}  // namespace qgen::dispatch
