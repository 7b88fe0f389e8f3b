// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen/device.h: opens a device, and says what it can do.
#include "qgen/device.h"

#include <cstdio>

#include "common.h"

int main() {
  const qgen::Device device = or_exit(qgen::Device::open());
  const qgen::DeviceProfile& profile = device.profile();
  std::printf("%s, %d compute units\n", profile.name.c_str(), static_cast<int>(profile.numbers.compute_units));
}
