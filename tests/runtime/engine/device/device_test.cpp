// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Opening the device that there is, and the errors of machines that lack one.
#include "runtime/engine/device/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include "runtime/engine/device/vulkan_api.h"
#include "tests/support/device_test.h"
#include "tests/support/expected_text.h"

namespace qgen {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Sets an environment variable for a scope: the Vulkan loader reads them at each instance.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value, 1);
  }
  ~ScopedVariable() {
    if (old_) {
      setenv(name_, old_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

class OpenedDevice : public testing::DeviceTest {};

TEST_F(OpenedDevice, HasAProfileThatMakesSense) {
  const DeviceProfile& p = device().profile();
  EXPECT_FALSE(p.name.empty());
  EXPECT_FALSE(p.driver_name.empty());
  EXPECT_GE(p.api_version, vulkan::kLeastApiVersion);
  EXPECT_NE(p.device_uuid, (std::array<uint8_t, 16>{}));
  EXPECT_GT(p.device_memory_bytes, 0u);
  // Vulkan 1.3 requires each of these of every device.
  EXPECT_GE(p.numbers.max_storage_buffer_bytes, 1 << 27);
  EXPECT_GE(p.numbers.max_image_extent, 256);
  EXPECT_GE(p.numbers.max_workgroup_invocations, 128);
  EXPECT_GE(p.numbers.shared_memory_bytes, 16384);
  EXPECT_GE(p.max_workgroup_count[0], 65535u);
  EXPECT_GE(p.numbers.subgroup_size, 1);
  EXPECT_LE(p.min_subgroup_size, p.numbers.subgroup_size);
  EXPECT_GE(p.max_subgroup_size, p.numbers.subgroup_size);
  EXPECT_TRUE(p.features & bit(Feature::subgroup_basic));
  EXPECT_TRUE(p.features & bit(Feature::integer_dot_product));
  EXPECT_EQ(p.numbers.is_cpu, p.kind == DeviceProfile::Kind::cpu);
}

TEST_F(OpenedDevice, ListsMatricesExactlyIfItHasThem) {
  const DeviceProfile& p = device().profile();
  EXPECT_EQ(!p.cooperative_matrices.empty(), (p.features & bit(Feature::cooperative_matrix)) != 0);
}

TEST_F(OpenedDevice, IsTheOneListed) {
  const auto listed = list_devices();
  ASSERT_TRUE(listed) << to_text(listed.error());
  ASSERT_FALSE(listed->empty());
  for (size_t i = 0; i < listed->size(); ++i) {
    const auto opened = Device::open(std::to_string(i));
    if (!opened) continue;  // a device that is too old is listed all the same
    EXPECT_EQ(to_json(opened->profile()), to_json((*listed)[i]));
  }
}

TEST_F(OpenedDevice, OpensByNameAndMoves) {
  const auto listed = list_devices();
  ASSERT_TRUE(listed) << to_text(listed.error());
  auto first = Device::open(listed->front().name);
  ASSERT_TRUE(first) << to_text(first.error());
  Device moved = std::move(*first);
  EXPECT_EQ(moved.profile().device_uuid, listed->front().device_uuid);
}

TEST_F(OpenedDevice, OpensFromManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      const auto opened = Device::open();
      EXPECT_TRUE(opened);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(OpeningADevice, EnablesRobustBuffersWhenAsked) {
  for (const bool is_wanted : {false, true}) {
    const auto device = Device::open({}, {.robust_buffer_access = is_wanted});
    ASSERT_TRUE(device) << to_text(device.error());
    EXPECT_EQ(device->has_robust_buffer_access(), is_wanted);
  }
}

TEST(OpeningADevice, RefusesUnknownNames) {
  const auto device = Device::open("no such device");
  ASSERT_FALSE(device);
  EXPECT_THAT(device.error().message, StartsWith("no device is called 'no such device'; the devices are 0: "));
}

TEST(OpeningADevice, SaysThatThereIsNoDriver) {
  const ScopedVariable icd("VK_ICD_FILENAMES", "/nonexistent.json");
  const ScopedVariable drivers("VK_DRIVER_FILES", "/nonexistent.json");
  const auto device = Device::open();
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().kind, Error::Kind::not_found);
  EXPECT_TEXT(device.error().message,
              "no Vulkan driver can be used, of those that VK_DRIVER_FILES names\n"
              "  /nonexistent.json: there is no such file");
  EXPECT_THAT(device.error().hint, HasSubstr("VK_DRIVER_FILES"));
}

TEST(OpeningADevice, SaysThatThereIsNoValidationLayer) {
  const ScopedVariable no_instance_layers("VK_INSTANCE_LAYERS", "");
  const ScopedVariable layers("VK_LAYER_PATH", "/nonexistent");
  const auto device = Device::open({}, {.validation = true});
  ASSERT_FALSE(device);
  EXPECT_THAT(device.error().message, HasSubstr("VK_LAYER_KHRONOS_validation"));
}

TEST(VulkanErrors, AreWords) {
  EXPECT_TEXT(
      to_text(vulkan::error_of(VK_ERROR_DEVICE_LOST, "submitting the recording")),
      "submitting the recording failed: VK_ERROR_DEVICE_LOST (-4)\n"
      "  hint: the device was lost: a kernel ran for too long, or accessed memory outside its buffers; open the "
      "device again");
  EXPECT_TEXT(vulkan::error_of(static_cast<VkResult>(-12345), "x").message,
              "x failed: a result that qgen has no name for (-12345)");
}

}  // namespace
}  // namespace qgen
