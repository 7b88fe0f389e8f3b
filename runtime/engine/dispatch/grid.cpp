// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/dispatch/grid.h"

#include <fmt/format.h>

namespace qgen::dispatch {
namespace {

constexpr uint64_t ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

Error too_large(const std::array<uint64_t, 3>& groups, const std::array<uint32_t, 3>& limits) {
  return {Error::Kind::unsupported,
          fmt::format("a grid of {} x {} x {} workgroups exceeds the device's limit of {} x {} x {}", groups[0],
                      groups[1], groups[2], limits[0], limits[1], limits[2]),
          "split the work, or use a kernel whose workgroups do more"};
}

}  // namespace

Expected<std::array<uint32_t, 3>> fold_grid(const std::array<uint64_t, 3>& groups,
                                            const std::array<uint32_t, 3>& limits) {
  const auto narrow = [](uint64_t x, uint64_t y, uint64_t z) {
    return std::array{static_cast<uint32_t>(x), static_cast<uint32_t>(y), static_cast<uint32_t>(z)};
  };
  if (groups[0] <= limits[0] && groups[1] <= limits[1] && groups[2] <= limits[2]) {
    return narrow(groups[0], groups[1], groups[2]);
  }
  if (groups[1] != 1 || groups[2] != 1) return too_large(groups, limits);

  // As few layers as hold the groups, then as few rows, then rows as short as possible. Each step stays within its
  // limit because the previous one rounded up.
  const uint64_t z = ceil_div(groups[0], uint64_t{limits[0]} * limits[1]);
  if (z > limits[2]) return too_large(groups, limits);
  const uint64_t y = ceil_div(groups[0], limits[0] * z);
  const uint64_t x = ceil_div(groups[0], y * z);
  // Kernels number their groups with 32 bits.
  if (x * y * z > UINT32_MAX) return too_large(groups, limits);
  return narrow(x, y, z);
}

}  // namespace qgen::dispatch
