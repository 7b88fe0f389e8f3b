// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// devices/*.yaml: each can be read, makes sense, and says where its numbers come from.
#include "tests/support/shipped_devices.h"

#include <gtest/gtest.h>

#include "common/files.h"
#include "runtime/engine/profiles/device_file.h"
#include "runtime/engine/profiles/numbers.h"

namespace qgen::profiles {
namespace {

TEST(ShippedDevices, AreTenOrMore) { EXPECT_GE(tests::shipped_device_files().size(), 10u); }

TEST(ShippedDevices, MakeSense) {
  for (const std::string& file : tests::shipped_device_files()) {
    SCOPED_TRACE(file);
    const auto device = load_device(file);
    ASSERT_TRUE(device) << (device ? "" : to_text(device.error()));
    EXPECT_FALSE(device->name.empty());
    EXPECT_NE(device->kind, DeviceProfile::Kind::other);
    EXPECT_GE(device->api_version, 1u << 22 | 1u << 12) << "qgen opens devices of Vulkan 1.1";
    EXPECT_NE(device->features, 0u);
    EXPECT_LE(device->min_subgroup_size, device->numbers.subgroup_size);
    EXPECT_GE(device->max_subgroup_size, device->numbers.subgroup_size);
    EXPECT_GE(device->numbers.max_workgroup_invocations, 128);
    EXPECT_GE(device->numbers.shared_memory_bytes, 16384);
    EXPECT_GT(device->device_memory_bytes, 0u);
  }
}

// Whoever reviews a choice can look up its foundations.
TEST(ShippedDevices, SayWhereNumbersComeFrom) {
  for (const std::string& file : tests::shipped_device_files()) {
    SCOPED_TRACE(file);
    const auto device = load_device(file);
    ASSERT_TRUE(device);
    const std::string text = *read_file(file);
    for (const NumberRow& row : kNumbers) {
      const bool is_said = text.find("\n  " + std::string(row.name) + ": ") != std::string::npos;
      EXPECT_EQ(is_said, device->sources.contains(row.name)) << row.name;
    }
  }
}

}  // namespace
}  // namespace qgen::profiles
