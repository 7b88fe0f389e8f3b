// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A device mask as text: the options --as, --without and --limit of every program, and the variable QGEN_DEVICE_MASK.
//
//   MaskText text;
//   add_mask_options(app, text);                      // after parsing: text.without is {"storage_buffer_8bit"}
//   auto mask = read_mask(text);                      // with what QGEN_DEVICE_MASK says
//   auto device = Device::open({}, {.mask = *mask});
//
// The variable holds the same, separated by commas: as=devices/mali-g78.yaml,without=shader_int64,vulkan=1.2,
// shared_memory_bytes=16384.
#pragma once

#include <string>
#include <vector>

#include "runtime/engine/device/device_mask.h"
#include "runtime/engine/library/error.h"

namespace qgen::profiles {

inline constexpr const char* kMaskVariable = "QGEN_DEVICE_MASK";

struct MaskText {
  std::string as;                    // a device file
  std::vector<std::string> without;  // names of features, as device files have them
  std::vector<std::string> limits;   // name=value, workgroup_size=128x128x64, vulkan=1.2
  bool trusts_driver = false;        // OpenOptions::trusts_driver; no part of the mask
};

// With the text of QGEN_DEVICE_MASK, whose device file `text.as` replaces. Errors: an unreadable file, an unknown
// feature or limit, a value that is no number. Each names the variable or the option.
Expected<DeviceMask> read_mask(const MaskText& text);

// The options of a program (CLI::App).
void add_mask_options(auto& app, MaskText& text) {
  app.add_option("--as", text.as,
                 "remove the features and limits that the device of this file lacks, and choose kernels with its "
                 "numbers")
      ->type_name("FILE");
  app.add_option("--without", text.without, "do not use a feature of the device, such as storage_buffer_8bit")
      ->type_name("FEATURE")
      ->delimiter(',');
  app.add_option("--limit", text.limits,
                 "lower a limit of the device, such as shared_memory_bytes=16384 or "
                 "vulkan=1.2")
      ->type_name("NAME=VALUE")
      ->delimiter(',');
  app.add_flag("--trust-driver", text.trusts_driver, "also use features that the driver is known to compute wrongly");
}

}  // namespace qgen::profiles
