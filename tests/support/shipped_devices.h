// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The devices that devices/*.yaml describe.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/files.h"
#include "runtime/engine/profiles/device_file.h"
#include "tests/support/source_folder.h"

namespace qgen::tests {

// Paths of the files that describe a device each. quirks.yaml in the same folder describes none.
inline std::vector<std::string> shipped_device_files() {
  const std::string folder = source_folder() + "/devices/";
  std::vector<std::string> files;
  const auto listed = list_files(folder);
  EXPECT_TRUE(listed);
  if (!listed) return files;
  for (const std::string& file : *listed) {
    if (file.ends_with(".yaml") && file != "quirks.yaml") files.push_back(folder + file);
  }
  return files;
}

inline std::vector<DeviceProfile> shipped_devices() {
  std::vector<DeviceProfile> devices;
  for (const std::string& file : shipped_device_files()) {
    const auto device = profiles::load_device(file);
    EXPECT_TRUE(device) << file;
    if (device) devices.push_back(*device);
  }
  return devices;
}

}  // namespace qgen::tests
