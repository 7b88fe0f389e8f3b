// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Faults of drivers that are known to compute wrongly: devices/quirks.yaml, compiled in.
//
//   for (const Quirk* quirk : quirks_of(profile)) fmt::print("{}: {}\n", quirk->why, quirk->source);
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/engine/device/device_profile.h"

namespace qgen {

// Cooperative matrices of these sides, dtypes and scope; 0 and nullopt: of any.
struct MatrixPattern {
  uint16_t m = 0, n = 0, k = 0;
  std::optional<DType> a, b, c, result;
  std::optional<bool> workgroup_scope;
};
bool fits(const MatrixPattern& pattern, const CooperativeMatrixShape& shape);

// Empty texts fit every device.
struct Quirk {
  uint32_t vendor_id = 0;
  std::optional<DeviceProfile::Kind> kind;
  std::string_view driver;         // the whole name
  std::string_view architectures;  // separated by spaces
  std::string_view name;           // a part of the device's
  std::string_view before;         // the first version that is right: "101.8247"
  // What is not used: features, matrices, kernels.
  FeatureMask distrusted = 0;
  std::optional<MatrixPattern> matrices;
  std::string_view kernels;  // beginnings of their ids, separated by spaces: "bmm_coopmat conv_tile.forward"
  std::string_view why;
  std::string_view source;  // an address
};

std::span<const Quirk> quirks();

// Those that fit a device, by its identity alone.
std::vector<const Quirk*> quirks_of(const DeviceProfile& device);

// The features that they distrust.
FeatureMask distrusted_features(std::span<const Quirk* const> quirks);
// Applies what they say of matrices and kernels to a device whose features and matrices are known.
void distrust_parts(std::span<const Quirk* const> quirks, DeviceProfile& device);

// Features that the device has become `distrusted`. Without cooperative_matrix it has no shapes.
void distrust_features(FeatureMask wrong, DeviceProfile& device);
// Removes these shapes, and the flexible ones of their dtypes, since a driver composes larger matrices of them. Without
// the last shape, the device has no cooperative matrices.
void distrust_matrices(const MatrixPattern& wrong, DeviceProfile& device);

// Whether version `a` is older than `b`, number by number: "101.999" is older than "101.8247". Text ahead of the first
// digit and after the last number is ignored; a text without a number is older than any version.
bool is_older_version(std::string_view a, std::string_view b);

}  // namespace qgen
