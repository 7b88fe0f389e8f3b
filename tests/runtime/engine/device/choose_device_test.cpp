// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Choosing a device by a text, among three profiles written by hand.
#include "runtime/engine/device/choose_device.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/expected_text.h"

namespace qgen {
namespace {

constexpr uint32_t kVulkan13 = (1u << 22) | (3u << 12);
constexpr uint32_t kVulkan11 = (1u << 22) | (1u << 12);
constexpr uint32_t kVulkan10 = 1u << 22;

DeviceProfile profile(std::string name, DeviceProfile::Kind kind, uint8_t uuid_byte, uint32_t api = kVulkan13) {
  DeviceProfile result;
  result.name = std::move(name);
  result.kind = kind;
  result.api_version = api;
  result.device_uuid.fill(uuid_byte);
  return result;
}

const std::vector<DeviceProfile> kDevices = {
    profile("llvmpipe (LLVM 15.0.6, 256 bits)", DeviceProfile::Kind::cpu, 0x11),
    profile("Example GPU 7", DeviceProfile::Kind::integrated, 0x22),
    profile("Example RTX 4090", DeviceProfile::Kind::discrete, 0xab),
};

struct Case {
  std::string_view which;
  size_t index;
};
// clang-format off
constexpr Case kFound[] = {
    {"", 2},          // the discrete one
    {"0", 0},         // an index
    {"2", 2},
    {"4090", 2},      // digits, and too many for an index: part of a name
    {"llvmpipe", 0},
    {"EXAMPLE", 1},   // case does not matter; of several the first
    {"rtx", 2},
    {"22222222-2222-2222-2222-222222222222", 1},
    {"abababababababababababababababab", 2},
    {"ABABABAB-ABAB-ABAB-ABAB-ABABABABABAB", 2},
};
// clang-format on

TEST(ChooseDevice, FindsByIndexUuidAndName) {
  for (const Case& c : kFound) {
    const auto index = choose_device(kDevices, c.which);
    ASSERT_TRUE(index) << c.which << ": " << to_text(index.error());
    EXPECT_EQ(*index, c.index) << c.which;
  }
}

TEST(ChooseDevice, PrefersWhatCanBeOpened) {
  const std::vector<DeviceProfile> devices = {
      profile("old card", DeviceProfile::Kind::discrete, 1, kVulkan10),
      profile("cpu", DeviceProfile::Kind::cpu, 2),
  };
  EXPECT_EQ(*choose_device(devices, ""), 1u);
  EXPECT_EQ(*choose_device(devices, "old"), 0u) << "named, it is opened, and refuses in words";
}

TEST(ChooseDevice, SaysWhichVulkanIsTooOld) {
  EXPECT_TRUE(check_vulkan_version(profile("card", DeviceProfile::Kind::discrete, 1)));
  EXPECT_TRUE(check_vulkan_version(profile("made by hand", DeviceProfile::Kind::discrete, 1, 0)));
  EXPECT_TRUE(check_vulkan_version(profile("phone", DeviceProfile::Kind::integrated, 1, kVulkan11)));
  const Done old = check_vulkan_version(profile("old card", DeviceProfile::Kind::discrete, 1, kVulkan10));
  ASSERT_FALSE(old);
  EXPECT_TEXT(to_text(old.error()),
              "device 'old card' offers Vulkan 1.0, and qgen needs 1.1\n  hint: update its driver");
}

TEST(ChooseDevice, ListsWhatThereIs) {
  EXPECT_TEXT(to_text(choose_device(kDevices, "gtx").error()),
              "no device is called 'gtx'; the devices are 0: llvmpipe (LLVM 15.0.6, 256 bits), 1: Example GPU 7, "
              "2: Example RTX 4090\n"
              "  hint: name a device by its index, a part of its name, or its UUID (qgen-info prints them)");
  EXPECT_EQ(choose_device(kDevices, "3").error().kind, Error::Kind::not_found);
  EXPECT_EQ(choose_device({}, "").error().message, "no Vulkan device");
}

TEST(ChooseDevice, ReadsAShortNumberAsAnIndexOnly) {
  EXPECT_FALSE(choose_device(kDevices, "15")) << "of LLVM 15.0.6";
  EXPECT_FALSE(choose_device(kDevices, "7"));
  EXPECT_EQ(*choose_device(kDevices, "4090"), 2u);
}

}  // namespace
}  // namespace qgen
