// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The fixture of tests that need a device: one device for the whole program, and no test passes if the validation layer
// reported anything.
//
//   class ExecutorTest : public qgen::testing::DeviceTest {};
//   TEST_F(ExecutorTest, CopiesBack) { auto executor = Executor::create(device(), library, {}); ... }
//
// cmake/QgenTests.cmake chooses the driver by the loader's environment variables. With QGEN_VALIDATION=1 the device is
// opened under VK_LAYER_KHRONOS_validation; QGEN_DEVICE_MASK takes features and limits from it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "runtime/engine/device/device.h"
#include "runtime/engine/profiles/mask_text.h"

namespace qgen::testing {

inline bool validation_is_wanted() {
  const char* wanted = std::getenv("QGEN_VALIDATION");
  return wanted && *wanted;
}

// Closes the device before main() returns: the validation layer's own statics are gone when a static Device would be.
class SharedDevice : public ::testing::Environment {
 public:
  const Expected<Device>& get() {
    if (!device_) device_.emplace(open());
    return *device_;
  }
  void TearDown() override { device_.reset(); }

 private:
  static Expected<Device> open() {
    auto mask = profiles::read_mask({});
    if (!mask) return mask.error();
    return Device::open({},
                        {.validation = validation_is_wanted(), .robust_buffer_access = true, .mask = *std::move(mask)});
  }

  std::optional<Expected<Device>> device_;
};
// GoogleTest owns it.
inline SharedDevice& shared_device_environment =
    static_cast<SharedDevice&>(*::testing::AddGlobalTestEnvironment(new SharedDevice));

class DeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(shared_device()) << to_text(shared_device().error());
    messages_before_ = device().validation_messages().size();
  }

  void TearDown() override {
    if (!shared_device()) return;
    const auto messages = device().validation_messages();
    for (size_t i = messages_before_; i < messages.size(); ++i) ADD_FAILURE() << "validation: " << messages[i];
  }

  static const Device& device() { return *shared_device(); }

 private:
  static const Expected<Device>& shared_device() { return shared_device_environment.get(); }

  size_t messages_before_ = 0;
};

}  // namespace qgen::testing
