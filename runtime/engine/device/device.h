// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Opens a device. This room alone queries Vulkan for devices and their properties.
//
//   auto device = Device::open("llvmpipe");      // a name or part of one, an index, or a UUID
//   if (!device) return device.error();          // "no device is called 'gtx'", with those there are
//
// Each error says which step failed: no loader, no driver, no device, no compute queue.
//
// The Vulkan device is destroyed with the last object that uses it: an Executor may outlive its Device. A program that
// already has a Vulkan device uses Device::adopt() (adopt.h).
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "runtime/engine/device/device_mask.h"
#include "runtime/engine/device/device_profile.h"
#include "runtime/engine/library/error.h"

namespace qgen {

struct OpenOptions {
  bool validation = false;  // enables VK_LAYER_KHRONOS_validation; its messages are collected, never printed
  // Kernels that address a buffer past its binding read zeros or bound bytes, and write nowhere else: Vulkan's
  // robustBufferAccess. It costs GPUs time, and no kernel of qgen needs it: for tests, and for kernels of others.
  bool robust_buffer_access = false;
  // Drivers report on each pipeline: registers, spills, size of the code. It costs them time and memory.
  bool pipeline_statistics = false;
  // VK_KHR_push_descriptor, where the driver has it: operands are bound without descriptor sets.
  bool push_descriptors = false;
  bool trusts_driver = false;  // uses features too that the driver is known to get wrong (quirks.h)
  DeviceMask mask = {};        // the features and limits to hide
};

struct AdoptInfo;  // adopt.h

Expected<std::vector<DeviceProfile>> list_devices();

class Device {
 public:
  // `which`: empty (the first discrete, else integrated, else virtual, else CPU), an index into list_devices(), a
  // device UUID in hexadecimal, or a part of the name.
  static Expected<Device> open(std::string_view which = {}, const OpenOptions& options = {});
  // The caller's device. Errors: the errors of profile_of(); a queue family without compute; one of the two lock
  // functions without the other.
  static Expected<Device> adopt(const AdoptInfo& info);

  const DeviceProfile& profile() const;                  // of one that was moved from: nothing but that as its name
  bool has_robust_buffer_access() const;                 // it was requested, and the driver has it
  bool has_pipeline_statistics() const;                  // the same
  bool is_adopted() const;                               // it is the caller's
  std::vector<std::string> validation_messages() const;  // so far; empty without OpenOptions::validation

  struct Handles;  // Vulkan's, for runtime/engine/dispatch: runtime/engine/device/handles.h
  const std::shared_ptr<const Handles>& handles() const { return handles_; }  // null: it was moved away

  Device(Device&&) noexcept;
  Device& operator=(Device&&) noexcept;
  ~Device();

 private:
  explicit Device(std::shared_ptr<const Handles> handles);
  std::shared_ptr<const Handles> handles_;  // shared with Executors and their objects
};

}  // namespace qgen
