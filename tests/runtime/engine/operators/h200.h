// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The H200 of devices/, with estimates for unmeasured numbers: untuned choices for it are tested without the
// card.
#pragma once

#include "runtime/engine/device/estimates.h"
#include "runtime/engine/profiles/device_file.h"
#include "tests/support/source_folder.h"

namespace qgen::testing {

inline DeviceProfile h200() {
  DeviceProfile device = *profiles::load_device(tests::source_folder() + "/devices/nvidia-h200.yaml");
  estimate(estimate_input(device), device.numbers);
  return device;
}

}  // namespace qgen::testing
