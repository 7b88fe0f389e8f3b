// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// CMakeLists.txt names the version, and hands it to this source alone: a new one compiles no other.
#include "common/version.h"

#include <fmt/format.h>

namespace qgen {

std::string_view version() { return QGEN_VERSION; }

std::string version_text(std::string_view program) {
  const bool is_ours = program == "qgen" || program.starts_with("qgen-");
  return is_ours ? fmt::format("{} {}", program, version()) : fmt::format("{} (qgen {})", program, version());
}

}  // namespace qgen
