// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Numbers of any size in texts and tables.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace qgen {

// With three digits that count, never with an exponent: "0.00214", "2.14", "214", "2140". 0 is "0.00".
inline std::string three_digits(double number) {
  const int before_point = number > 0 ? static_cast<int>(std::floor(std::log10(number))) + 1 : 1;
  return fmt::format("{:.{}f}", number, std::max(3 - before_point, 0));
}

}  // namespace qgen
