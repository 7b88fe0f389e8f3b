// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A device of devices/, for tests of choices on devices that are not here.
#pragma once

#include <gtest/gtest.h>

#include "runtime/engine/profiles/device_file.h"
#include "tests/support/source_folder.h"

namespace qgen::tests {

inline DeviceProfile described_device(const std::string& name) {
  const auto device = profiles::load_device(source_folder() + "/devices/" + name + ".yaml");
  EXPECT_TRUE(device) << (device ? "" : to_text(device.error()));
  return device ? *device : DeviceProfile();
}

}  // namespace qgen::tests
