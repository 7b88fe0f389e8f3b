// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An H200 as devices/ describes it, with the numbers that are guessed where nobody has measured any: what is chosen
// untuned there is tested without one.
#pragma once

#include "runtime/device/estimates.h"
#include "runtime/profiles/device_file.h"
#include "tests/support/source_folder.h"

namespace qgen::testing {

inline DeviceProfile h200() {
  DeviceProfile device = *profiles::load_device(tests::source_folder() + "/devices/nvidia-h200.yaml");
  estimate(estimate_input(device), device.numbers);
  return device;
}

}  // namespace qgen::testing
