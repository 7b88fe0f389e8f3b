// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Opening a device: the one room that asks Vulkan what there is.
//
//   auto device = Device::open("llvmpipe");      // a name or part of one, an index, or a UUID
//   if (!device) return device.error();          // "no device is called 'gtx'", with those there are
//
// Each error says which step failed: no loader, no driver, no device, no compute queue.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "runtime/device/device_profile.h"
#include "runtime/library/error.h"

namespace qgen {

struct OpenOptions {
  bool validation = false;  // asks for VK_LAYER_KHRONOS_validation; what it says is collected, never printed
};

Expected<std::vector<DeviceProfile>> list_devices();

class Device {
 public:
  // `which`: empty (the first discrete, else integrated, else virtual, else CPU), an index into list_devices(), a
  // device UUID in hexadecimal, or text that the name contains.
  static Expected<Device> open(std::string_view which = {}, const OpenOptions& options = {});

  const DeviceProfile& profile() const;
  std::vector<std::string> validation_messages() const;  // so far; empty without OpenOptions::validation

  struct Handles;  // Vulkan's, for runtime/dispatch: runtime/device/handles.h
  const Handles& handles() const;

  Device(Device&&) noexcept;
  Device& operator=(Device&&) noexcept;
  ~Device();

 private:
  explicit Device(std::unique_ptr<Handles> handles);
  std::unique_ptr<Handles> handles_;
};

}  // namespace qgen
