// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What a device's self-test found wrong (runtime/engine/self_test), kept in the user's cache folder, a file for each
// device and version of its driver:
//
//   ~/.cache/qgen/checks/00010203-0405-0607-0809-0a0b0c0d0e0f-250034c0.yaml
//
//   checked: 2026-11-27
//   wrong:
//   - feature: integer_dot_product
//     found: "0x80808080, 0x7f7f7f7f: the result is 0xfe00, not 0xffff0200"
//   - matrix: {m: 16, n: 16, k: 32, a: i8, b: i8, c: i32, result: i32, scope: subgroup}
//     found: "with factors from shared memory at offset 80, element (0, 0) is 12, not 31"
//
//   const StoredVerdict stored = stored_verdict(device.profile());
//   if (stored.verdict) profile = with_verdict(device.profile(), *stored.verdict);
//
// A file that cannot be used leaves the device as it is, and the warning gives the reason.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/device/device_profile.h"
#include "runtime/engine/library/error.h"

namespace qgen::profiles {

struct Verdict {
  // A feature, or the shape of a cooperative matrix.
  struct Wrong {
    std::optional<Feature> feature;
    std::optional<CooperativeMatrixShape> shape;
    std::string found;
    friend bool operator==(const Wrong&, const Wrong&) = default;
  };
  std::string date;          // "2026-11-27"
  std::vector<Wrong> wrong;  // empty: all that was checked is right
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

// The profile without what is wrong: these features are distrusted, as those that quirks.h knows. Without the last of
// its matrix shapes, a device has no cooperative matrices.
DeviceProfile with_verdict(const DeviceProfile& profile, const Verdict& verdict);

struct StoredVerdict {
  std::optional<Verdict> verdict;  // nullopt: none is stored, or it cannot be used
  std::string warning;             // why it cannot be used
};
StoredVerdict stored_verdict(const DeviceProfile& profile);
// with_verdict() of the stored one, if there is one; `warning` as above.
DeviceProfile with_stored_verdict(const DeviceProfile& profile, std::string& warning);

// Where it is kept; empty: neither XDG_CACHE_HOME nor HOME is set.
std::string verdict_path(const DeviceProfile& profile);
// Whole or not at all. Errors: no place, a full disk.
Done store_verdict(const DeviceProfile& profile, const Verdict& verdict);

// The file's text, and a text as a verdict. Errors: what is wrong with it, each with its line.
std::string to_yaml(const Verdict& verdict);
Expected<Verdict> read_verdict(std::string_view yaml, const std::string& file);

}  // namespace qgen::profiles
