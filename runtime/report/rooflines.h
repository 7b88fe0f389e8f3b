// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An operator's problems against what the device can do: time by bytes moved and by operations made, with the
// device's bandwidths and rates as lines; where keys do not say how much work a problem is, its time alone.
#pragma once

#include <span>
#include <string>

#include "runtime/report/facts.h"

namespace qgen::report {

// `problems`: of one operator.
std::string rooflines_of(std::span<const ProblemFact> problems, const DeviceProfile& device);

// Every measured kernel: what the specs estimate against what was measured.
std::string estimates_of(const Facts& facts);

}  // namespace qgen::report
