// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Costs of conversions on an imaginary device.
#pragma once

#include "runtime/models/planner/conversions.h"

namespace qgen::planner::testing {

// Reads the tensor as stored in one form, writes it as stored in the other, and launches once.
inline ConversionCost copy_cost(double bytes_per_us = 1e5, double launch_us = 5) {
  return [=](const Tensor& tensor, Representation from, Representation to) -> std::optional<double> {
    const double moved = static_cast<double>(stored_bytes(tensor.shape, tensor.dtype, from)) +
                         static_cast<double>(stored_bytes(tensor.shape, tensor.dtype, to));
    return moved / bytes_per_us + launch_us;
  };
}

}  // namespace qgen::planner::testing
