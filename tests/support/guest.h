// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A simulated engine that passes its device to qgen: the device, memory and command buffers belong to another Device,
// so that the validation layer checks the calls.
//
//   class GuestTest : public qgen::testing::LentDevice {};
//   TEST_F(GuestTest, ...) { auto executor = Executor::create(guest(), library, {}); commands().begin(); ... }
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string_view>

#include "runtime/engine/device/adopt.h"
#include "runtime/engine/device/handles.h"
#include "runtime/engine/dispatch/lent_memory.h"
#include "tests/support/device_test.h"

namespace qgen::testing {

// A command buffer of the engine's, run at once.
class EngineCommands {
 public:
  explicit EngineCommands(const Device& device) : handles_(device.handles()) {
    VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool.queueFamilyIndex = handles_->queue_family;
    EXPECT_EQ(vk().vkCreateCommandPool(handles_->device, &pool, nullptr, &pool_), VK_SUCCESS);
    VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    info.commandPool = pool_;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    EXPECT_EQ(vk().vkAllocateCommandBuffers(handles_->device, &info, &commands_), VK_SUCCESS);
    const VkFenceCreateInfo fence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    EXPECT_EQ(vk().vkCreateFence(handles_->device, &fence, nullptr, &fence_), VK_SUCCESS);
  }
  EngineCommands(const EngineCommands&) = delete;
  EngineCommands& operator=(const EngineCommands&) = delete;
  ~EngineCommands() {
    vk().vkDestroyFence(handles_->device, fence_, nullptr);
    vk().vkDestroyCommandPool(handles_->device, pool_, nullptr);
  }

  VkCommandBuffer begin() {
    VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    EXPECT_EQ(vk().vkBeginCommandBuffer(commands_, &info), VK_SUCCESS);
    return commands_;
  }
  void copy(const LentBuffer& from, const LentBuffer& to) {
    const VkBufferCopy region{from.offset, to.offset, from.bytes};
    vk().vkCmdCopyBuffer(commands_, from.buffer, to.buffer, 1, &region);
  }
  void run() {
    EXPECT_EQ(vk().vkEndCommandBuffer(commands_), VK_SUCCESS);
    VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands_;
    EXPECT_EQ(vk().vkQueueSubmit(handles_->queue, 1, &info, fence_), VK_SUCCESS);
    EXPECT_EQ(vk().vkWaitForFences(handles_->device, 1, &fence_, VK_TRUE, UINT64_MAX), VK_SUCCESS);
    EXPECT_EQ(vk().vkResetFences(handles_->device, 1, &fence_), VK_SUCCESS);
  }
  const vulkan::DeviceFunctions& vk() const { return handles_->vk; }

 private:
  std::shared_ptr<const Device::Handles> handles_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
};

// The engine's description of a device of qgen's: the same features are enabled.
struct Lease {
  explicit Lease(const Device& owner) {
    const Device::Handles& handles = *owner.handles();
    auto recommended = RecommendedFeatures::of(owner);
    EXPECT_TRUE(recommended) << to_text(recommended.error());
    features.emplace(*std::move(recommended));
    extensions.assign(features->extensions().begin(), features->extensions().end());
    if (handles.has_push_descriptors) extensions.push_back(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
    created_with.pNext = features->chain();
    created_with.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
    created_with.ppEnabledExtensionNames = extensions.data();
    info = {.instance = handles.instance.handle(),
            .physical_device = handles.physical,
            .device = handles.device,
            .get_instance_proc_addr = handles.instance.get_proc_addr(),
            .created_with = &created_with,
            .api_version = handles.instance.api_version(),
            .queue = handles.queue,
            .queue_family = handles.queue_family,
            .push_descriptors = handles.has_push_descriptors};
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  std::optional<RecommendedFeatures> features;
  std::vector<const char*> extensions;
  VkDeviceCreateInfo created_with{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  AdoptInfo info;
};

// cmake/QgenDrivers.cmake makes the validation layer require it.
inline bool bounds_are_checked_on_the_device() {
  const char* enabled = std::getenv("VK_LAYER_ENABLES");
  return enabled && std::string_view(enabled).find("GPU_ASSISTED") != std::string_view::npos;
}

// `GetParam()`: with push descriptors.
class LentDevice : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && bounds_are_checked_on_the_device()) {
      GTEST_SKIP() << "the layer's GPU-assisted mode, of 1.3.239, takes pushed descriptors for uninitialized ones";
    }
    auto mask = profiles::read_mask({});
    ASSERT_TRUE(mask) << to_text(mask.error());
    auto owner = Device::open({}, {.validation = validation_is_wanted(),
                                   .robust_buffer_access = true,
                                   .push_descriptors = GetParam(),
                                   .mask = *std::move(mask)});
    ASSERT_TRUE(owner) << to_text(owner.error());
    owner_.emplace(*std::move(owner));
    lease_.emplace(*owner_);
    auto guest = Device::adopt(lease_->info);
    ASSERT_TRUE(guest) << to_text(guest.error());
    guest_.emplace(*std::move(guest));
    commands_.emplace(*owner_);
  }
  void TearDown() override {
    commands_.reset();
    guest_.reset();
    if (!owner_) return;
    for (const std::string& message : owner_->validation_messages()) ADD_FAILURE() << "validation: " << message;
  }

  const Device& owner() const { return *owner_; }
  const Device& guest() const { return *guest_; }
  EngineCommands& engine() { return *commands_; }

 private:
  std::optional<Device> owner_;
  std::optional<Lease> lease_;
  std::optional<Device> guest_;
  std::optional<EngineCommands> commands_;
};

}  // namespace qgen::testing
