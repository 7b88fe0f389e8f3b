// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The numbers of a device that are measured, looked up in data sheets or estimated: the rates of
// vocabulary/device_number_rows.inc. The other rows there are limits, which Vulkan reports.
#pragma once

#include <span>
#include <string_view>
#include <variant>

#include "runtime/engine/library/kernel_info.h"

namespace qgen::profiles {

struct NumberRow {
  std::string_view name;  // its name in expressions, after `device.`
  std::variant<int64_t DeviceNumbers::*, double DeviceNumbers::*> member;
};
inline constexpr NumberRow kNumbers[] = {
#define QGEN_DEVICE_NUMBER(type, name, start)
#define QGEN_DEVICE_RATE(type, name, start, label, unit) {#name, &DeviceNumbers::name},
#include "vocabulary/device_number_rows.inc"
};

}  // namespace qgen::profiles
