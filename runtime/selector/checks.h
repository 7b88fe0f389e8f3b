// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What a kernel must pass to run a problem on a device, from the cheapest check to the most expensive; each says the
// first thing that fails. Private to this room.
#pragma once

#include <optional>

#include "runtime/selector/refusal.h"

namespace qgen::selector {

std::optional<Refusal> check_operand(const Request& request, size_t operand, const OperandForm& form);
// These two read no problem and no operand: one device gives one answer.
std::optional<Refusal> check_module(const DeviceProfile& device, const InterfaceInfo& interface);
std::optional<Refusal> check_device(const Request& request, const KernelInfo& kernel, size_t row);
std::optional<Refusal> check_problem(const Request& request, const KernelInfo& kernel, size_t row);

}  // namespace qgen::selector
