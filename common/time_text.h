// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A time in microseconds as text, the same in every program: four significant digits, and never an
// exponent.
//
//   us_text(12.8461) -> "12.85"    us_text(2629.4) -> "2629"    us_text(37712) -> "37712"    us_text(0.25) -> "0.25"
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace qgen {

inline std::string us_text(double us) {
  const double size = std::abs(us);
  if (size >= 999.95) return fmt::format("{:.0f}", us);
  if (size >= 1e-3 || size == 0 || std::isnan(us)) return fmt::format("{:.4g}", us);
  return fmt::format("{:.6f}", us);
}

}  // namespace qgen
