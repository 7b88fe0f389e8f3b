// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Files that must not reach the driver.
#include "runtime/engine/dispatch/pipeline_cache_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "runtime/engine/device/vulkan_api.h"
#include "tests/runtime/engine/dispatch/temporary_folder.h"

namespace qgen::dispatch {
namespace {

using Bytes = std::vector<std::byte>;

const CacheIdentity kIdentity{0x10de, 0x2b, {1, 2, 3, 4}};

Bytes blob_of(const CacheIdentity& identity) {
  VkPipelineCacheHeaderVersionOne header{
      sizeof(header), VK_PIPELINE_CACHE_HEADER_VERSION_ONE, identity.vendor_id, identity.device_id, {}};
  std::copy(identity.cache_uuid.begin(), identity.cache_uuid.end(), header.pipelineCacheUUID);
  Bytes blob(sizeof(header) + 100, std::byte{0x77});
  std::memcpy(blob.data(), &header, sizeof(header));
  return blob;
}

TEST(PipelineCacheFile, ComesBack) {
  const Bytes blob = blob_of(kIdentity);
  EXPECT_EQ(unwrap_cache(wrap_cache(blob), kIdentity), blob);
}

TEST(PipelineCacheFile, IgnoresEveryDamagedByte) {
  const Bytes file = wrap_cache(blob_of(kIdentity));
  constexpr size_t kReserved = 12;  // four bytes that say nothing
  for (size_t i = 0; i < file.size(); ++i) {
    if (i >= kReserved && i < kReserved + 4) continue;
    Bytes damaged = file;
    damaged[i] ^= std::byte{1};
    EXPECT_EQ(unwrap_cache(damaged, kIdentity), std::nullopt) << "byte " << i;
  }
}

TEST(PipelineCacheFile, IgnoresEveryTruncation) {
  const Bytes file = wrap_cache(blob_of(kIdentity));
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_EQ(unwrap_cache(std::span(file).first(size), kIdentity), std::nullopt) << size << " bytes";
  }
  Bytes longer = file;
  longer.push_back(std::byte{0});
  EXPECT_EQ(unwrap_cache(longer, kIdentity), std::nullopt);
}

TEST(PipelineCacheFile, IgnoresOtherDevicesAndDrivers) {
  CacheIdentity vendor = kIdentity, device = kIdentity, driver = kIdentity;
  vendor.vendor_id = 0x1002;
  device.device_id = 0x2c;
  driver.cache_uuid[15] = 9;
  for (const CacheIdentity& other : {vendor, device, driver}) {
    EXPECT_EQ(unwrap_cache(wrap_cache(blob_of(other)), kIdentity), std::nullopt);
  }
  Bytes short_header = blob_of(kIdentity);
  short_header[0] = std::byte{8};  // headerSize
  EXPECT_EQ(unwrap_cache(wrap_cache(short_header), kIdentity), std::nullopt);
  EXPECT_EQ(unwrap_cache(wrap_cache(Bytes(10)), kIdentity), std::nullopt) << "no room for Vulkan's header";
}

TEST(PipelineCacheFile, IsNamedByDeviceAndDriver) {
  DeviceProfile profile;
  profile.device_uuid.fill(0xab);
  profile.driver_uuid.fill(0x01);
  EXPECT_EQ(cache_file_name(profile),
            "abababababababababababababababab-01010101010101010101010101010101.qgen-pipelines");
}

TEST(PipelineCacheFile, IsReplacedWhole) {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "deep" / "er" / "cache";
  ASSERT_TRUE(replace_file(path, Bytes(1000, std::byte{1})));
  ASSERT_TRUE(replace_file(path, Bytes(10, std::byte{2})));
  EXPECT_EQ(read_file(path), Bytes(10, std::byte{2}));
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path.parent_path())) ++files;
  EXPECT_EQ(files, 1u) << "no temporary file stays";
}

TEST(PipelineCacheFile, SaysWhereItCannotWrite) {
  const testing::TemporaryFolder folder;
  const auto not_a_folder = folder.path() / "file";
  std::ofstream(not_a_folder) << "x";
  const Done replaced = replace_file(not_a_folder / "cache", Bytes(1));
  ASSERT_FALSE(replaced);
  EXPECT_EQ(replaced.error().kind, Error::Kind::system);
  EXPECT_THAT(replaced.error().message, ::testing::HasSubstr(not_a_folder.string()));
  EXPECT_EQ(read_file(folder.path() / "none"), std::nullopt);
  EXPECT_EQ(read_file(folder.path()), std::nullopt) << "a folder";
}

}  // namespace
}  // namespace qgen::dispatch
