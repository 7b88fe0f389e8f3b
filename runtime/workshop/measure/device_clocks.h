// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The clocks of GPUs and processors, where Linux tells them: amdgpu, i915 and xe, Adreno (kgsl), and what is of devfreq,
// as most GPUs of phones are. They are for people; the tuner itself goes by the device's measured rates (clock.h).
#pragma once

#include <string>
#include <vector>

namespace qgen::measure {

struct DeviceClock {
  std::string name;  // "gpu", "gpu 2"; "cpu": the slowest of its cores
  double now_mhz = 0, most_mhz = 0;
};

// `system`: another root for tests. What cannot be read is left out.
std::vector<DeviceClock> device_clocks(const std::string& system = "/sys");

}  // namespace qgen::measure
