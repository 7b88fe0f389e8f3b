// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A mask hides features and lowers limits of a device, to try kernels, choices and models as on another device.
//
//   DeviceMask mask;
//   mask.without = bit(Feature::storage_buffer_8bit);
//   auto device = Device::open({}, {.mask = mask});   // shaders with 8-bit storage are refused, and not enabled
//
// runtime/engine/profiles/mask_text.h reads one from a command line and from QGEN_DEVICE_MASK.
#pragma once

#include <optional>
#include <vector>

#include "runtime/engine/device/limits.h"

namespace qgen {

struct DeviceMask {
  FeatureMask without = 0;
  struct Limit {
    const LimitRow* row = nullptr;
    LimitValue value{};
  };
  std::vector<Limit> limits = {};
  uint32_t api_version = 0;  // of Vulkan, as VK_MAKE_API_VERSION packs it; 0: the device's own
  // Another device: features that it lacks are hidden here too, and kernels are chosen as for it.
  std::optional<DeviceProfile> as = {};

  bool is_empty() const { return without == 0 && limits.empty() && api_version == 0 && !as; }
};

// The device with no more features, matrix shapes and limits than the mask leaves. Sizes of subgroups stay: a mask
// cannot change them. With `as`, rates, architecture and kind are the other device's, as selection reads them. Its UUID
// is a different one, so that no time and no pipeline of it counts as the device's own.
DeviceProfile masked(const DeviceProfile& device, const DeviceMask& mask);

}  // namespace qgen
