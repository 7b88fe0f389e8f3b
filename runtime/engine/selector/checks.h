// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The checks that a kernel must pass to run a problem on a device, the cheapest first. Each reports the first thing
// that fails. Private to this room.
#pragma once

#include <optional>

#include "runtime/engine/selector/refusal.h"

namespace qgen::selector {

std::optional<Refusal> check_operand(const Request& request, size_t operand, const OperandForm& form);
// These two read no problem and no operand: one device gives one answer.
std::optional<Refusal> check_module(const DeviceProfile& device, const InterfaceInfo& interface);
std::optional<Refusal> check_device(const Request& request, const KernelInfo& kernel, size_t row);
// Of the items of op.rarely_best, a bit for each that is about the device.
uint64_t rarely_best_on(const OperatorInfo& op, const DeviceProfile& device);
// `listed`: the result of rarely_best_on(). Reads no problem either.
std::optional<Refusal> check_rarely_best(const Request& request, const KernelInfo& kernel, size_t row, uint64_t listed);
std::optional<Refusal> check_problem(const Request& request, const KernelInfo& kernel, size_t row);

}  // namespace qgen::selector
