// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What is stored of a device: the verdict of its self-test (verdict.h), and its numbers.
//
// The numbers that `qgen-info --measure` found on this machine's devices. They are in the user's cache folder, in a
// device file for each device and version of its driver:
//
//   ~/.cache/qgen/devices/00010203-0405-0607-0809-0a0b0c0d0e0f-250034c0.yaml
//
//   const StoredNumbers numbers = with_stored_numbers(device.profile());
//   if (!numbers.warning.empty()) print_log("qgen-run: warning: {}\n", numbers.warning);
//   Context context{.profile = numbers.profile, ...};
//
// If a file cannot be used, the estimates stay, and the warning gives the reason.
#pragma once

#include <string>
#include <vector>

#include "runtime/engine/device/device_profile.h"
#include "runtime/engine/library/error.h"

namespace qgen::profiles {

struct StoredNumbers {
  DeviceProfile profile;  // with them, or unchanged
  std::string warning;    // why a stored file was not used; empty: it was, or there is none
};
StoredNumbers with_stored_numbers(const DeviceProfile& profile);
// The same with a file that somebody names.
StoredNumbers with_numbers_of(const std::string& path, const DeviceProfile& profile);

// With the verdict of its self-test too (verdict.h), unless the driver is trusted: what every program does with a device
// that it opened. A warning for each file that cannot be used.
struct StoredProfile {
  DeviceProfile profile;
  std::vector<std::string> warnings;
};
StoredProfile with_all_that_is_stored(const DeviceProfile& profile, bool trusts_driver);

// Where the numbers of a device are kept; empty: neither XDG_CACHE_HOME nor HOME is set.
std::string stored_path(const DeviceProfile& profile);
// Whole or not at all. Errors: no place, a full disk.
Done store_numbers(const DeviceProfile& profile);

}  // namespace qgen::profiles
