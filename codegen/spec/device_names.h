// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The numbers of a device that expressions may name as device.<name>: the members of DeviceNumbers, in its order.
#pragma once

#include <span>
#include <string_view>

#include "codegen/expression/expression.h"
#include "runtime/engine/library/kernel_info.h"

namespace qgen::spec {

struct DeviceName {
  std::string_view name;  // "subgroup_size"
  expression::Type type;
  expression::Value (*value)(const DeviceNumbers& numbers);
};
std::span<const DeviceName> device_names();

}  // namespace qgen::spec
