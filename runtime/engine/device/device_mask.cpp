// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/device/device_mask.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>

#include "runtime/engine/library/blob_format.h"

namespace qgen {
namespace {

LimitValue all_sides(uint64_t value) { return {value, value, value}; }

void apply(const LimitRow& row, const LimitValue& most, DeviceProfile& to) {
  row.set(to, row.lesser(row.of(to), most));
}

void keep_shapes_of_both(std::vector<CooperativeMatrixShape>& shapes,
                         const std::vector<CooperativeMatrixShape>& others) {
  std::erase_if(shapes, [&](const auto& shape) { return std::ranges::find(others, shape) == others.end(); });
}

// Copies the numbers that selection reads from the other device, except limits.
void take_numbers(const DeviceProfile& other, DeviceProfile& to) {
  const DeviceNumbers own = to.numbers;
  to.numbers = other.numbers;
  to.numbers.subgroup_size = own.subgroup_size;
  for (const LimitRow& row : kLimits) {
    if (const auto* member = std::get_if<int64_t DeviceNumbers::*>(&row.member)) to.numbers.** member = own.**member;
  }
  to.sources = other.sources;
  to.matrix_rates = other.matrix_rates;
  to.architecture = other.architecture;
  to.kind = other.kind;
  to.vendor_id = other.vendor_id;
  to.device_id = other.device_id;
  to.has_fast_integer_dot = other.has_fast_integer_dot;
}

void apply_device(const DeviceProfile& other, DeviceProfile& to) {
  take_numbers(other, to);
  to.features &= other.features | guaranteed_features(other.api_version);
  keep_shapes_of_both(to.cooperative_matrices, other.cooperative_matrices);
  keep_shapes_of_both(to.flexible_cooperative_matrices, other.flexible_cooperative_matrices);
  for (const LimitRow& row : kLimits) apply(row, row.of(other), to);
  to.has_subgroup_size_control = to.has_subgroup_size_control && other.has_subgroup_size_control;
  if (other.api_version) to.api_version = std::min(to.api_version, other.api_version);
  if (other.device_memory_bytes) to.device_memory_bytes = std::min(to.device_memory_bytes, other.device_memory_bytes);
  to.name = fmt::format("{} as {}", to.name, other.name);
}

void set_identity(DeviceProfile& to) {
  const std::string text = to_json(to);
  const uint64_t hash = blob_format::checksum(std::as_bytes(std::span(text)));
  for (size_t i = 0; i < sizeof(hash); ++i) to.device_uuid[i] ^= static_cast<uint8_t>(hash >> (8 * i));
}

}  // namespace

LimitValue LimitRow::of(const DeviceProfile& device) const {
  if (const auto* number = std::get_if<0>(&member)) return all_sides(static_cast<uint64_t>(device.numbers.**number));
  if (const auto* one = std::get_if<1>(&member)) return all_sides(device.**one);
  const auto& sides = device.*std::get<2>(member);
  return {sides[0], sides[1], sides[2]};
}

void LimitRow::set(DeviceProfile& device, const LimitValue& value) const {
  if (const auto* number = std::get_if<0>(&member)) {
    device.numbers.** number = static_cast<int64_t>(value[0]);
  } else if (const auto* one = std::get_if<1>(&member)) {
    device.** one = static_cast<uint32_t>(value[0]);
  } else {
    for (size_t i = 0; i < value.size(); ++i) (device.*std::get<2>(member))[i] = static_cast<uint32_t>(value[i]);
    device.numbers.max_workgroup_size_x = device.max_workgroup_size[0];
  }
}

bool LimitRow::can_be(const LimitValue& value) const {
  return std::ranges::all_of(value,
                             [&](const auto n) { return is_alignment ? std::has_single_bit(uint64_t(n)) : n > 0; });
}

LimitValue LimitRow::lesser(const LimitValue& a, const LimitValue& b) const {
  LimitValue both{};
  for (size_t i = 0; i < both.size(); ++i) both[i] = is_alignment ? std::max(a[i], b[i]) : std::min(a[i], b[i]);
  return both;
}

DeviceProfile masked(const DeviceProfile& device, const DeviceMask& mask) {
  DeviceProfile less = device;
  if (mask.is_empty()) return less;
  if (mask.as) apply_device(*mask.as, less);
  if (mask.api_version) less.api_version = std::min(less.api_version, mask.api_version);
  less.features &= ~mask.without | guaranteed_features(less.api_version);
  if (!(less.features & bit(Feature::cooperative_matrix))) less.cooperative_matrices.clear();
  for (const DeviceMask::Limit& limit : mask.limits) apply(*limit.row, limit.value, less);
  if (!mask.as) less.name += " under a mask";
  set_identity(less);
  return less;
}

}  // namespace qgen
