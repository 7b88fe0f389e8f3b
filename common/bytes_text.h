// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Sizes of memory in texts.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace qgen {

// "1.5 KiB"; from a mebibyte on "1.5 MiB".
inline std::string bytes_text(uint64_t bytes) {
  return bytes < 1 << 20 ? fmt::format("{:.1f} KiB", static_cast<double>(bytes) / (1 << 10))
                         : fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

}  // namespace qgen
