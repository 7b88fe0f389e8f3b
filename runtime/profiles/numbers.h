// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The numbers of a device that are measured, looked up in data sheets or estimated: a row each. The others are limits,
// which Vulkan tells.
#pragma once

#include <span>
#include <string_view>
#include <variant>

#include "runtime/library/kernel_info.h"

namespace qgen::profiles {

struct NumberRow {
  std::string_view name;  // as expressions have it, behind `device.`
  std::variant<int64_t DeviceNumbers::*, double DeviceNumbers::*> member;
};
inline constexpr NumberRow kNumbers[] = {
    {"compute_units", &DeviceNumbers::compute_units},
    {"bytes_per_us", &DeviceNumbers::bytes_per_us},
    {"cache_bytes", &DeviceNumbers::cache_bytes},
    {"cache_bytes_per_us", &DeviceNumbers::cache_bytes_per_us},
    {"f32_ops_per_us", &DeviceNumbers::f32_ops_per_us},
    {"f16_ops_per_us", &DeviceNumbers::f16_ops_per_us},
    {"int8_ops_per_us", &DeviceNumbers::int8_ops_per_us},
    {"int8_matrix_ops_per_us", &DeviceNumbers::int8_matrix_ops_per_us},
    {"f16_matrix_ops_per_us", &DeviceNumbers::f16_matrix_ops_per_us},
    {"launch_us", &DeviceNumbers::launch_us},
    {"barrier_us", &DeviceNumbers::barrier_us},
};

}  // namespace qgen::profiles
