// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Roofline charts of an operator's problems: time over bytes and time over operations, with the device's bandwidths and
// throughputs as lines. If problem keys give neither bytes nor operations, the chart has times only.
#pragma once

#include <span>
#include <string>

#include "runtime/workshop/report/facts.h"

namespace qgen::report {

// `problems`: of one operator.
std::string rooflines_of(std::span<const ProblemFact> problems, const DeviceProfile& device);

// Estimated over measured time, for every measured kernel.
std::string estimates_of(const Facts& facts);

}  // namespace qgen::report
