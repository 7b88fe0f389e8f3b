// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The limits of a device, a row each: device files, masks and their messages go through this table.
#pragma once

#include <array>
#include <string_view>
#include <variant>

#include "runtime/engine/device/device_profile.h"

namespace qgen {

// Of a workgroup's size and a dispatch's count, a limit is one for each of x, y and z.
using LimitValue = std::array<uint64_t, 3>;

struct LimitRow {
  std::string_view name;
  std::variant<int64_t DeviceNumbers::*, uint32_t DeviceProfile::*, std::array<uint32_t, 3> DeviceProfile::*> member;
  bool is_alignment = false;  // a lesser device has a larger one

  bool has_sides() const { return member.index() == 2; }
  // One number stands in all three elements.
  LimitValue of(const DeviceProfile& device) const;
  void set(DeviceProfile& device, const LimitValue& value) const;
  // Whether a device can have it: no limit is 0, and an alignment is a power of two.
  bool can_be(const LimitValue& value) const;
  // The limit that both devices keep.
  LimitValue lesser(const LimitValue& a, const LimitValue& b) const;
};

inline constexpr LimitRow kLimits[] = {
    {"workgroup_invocations", &DeviceNumbers::max_workgroup_invocations},
    {"workgroup_size", &DeviceProfile::max_workgroup_size},
    {"workgroup_count", &DeviceProfile::max_workgroup_count},
    {"shared_memory_bytes", &DeviceNumbers::shared_memory_bytes},
    {"storage_buffer_bytes", &DeviceNumbers::max_storage_buffer_bytes},
    {"image_extent", &DeviceNumbers::max_image_extent},
    {"push_constants_bytes", &DeviceProfile::max_push_constants_bytes},
    {"bound_sets", &DeviceProfile::max_bound_sets},
    {"storage_buffers_per_stage", &DeviceProfile::max_storage_buffers_per_stage},
    {"storage_images_per_stage", &DeviceProfile::max_storage_images_per_stage},
    {"storage_buffer_alignment_bytes", &DeviceProfile::storage_buffer_alignment_bytes, true},
};

}  // namespace qgen
