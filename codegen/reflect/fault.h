// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#pragma once

#include "common/diagnostic.h"

namespace qgen::reflect {

// A diagnostic without a location: this room does not know which variant it reads.
inline Diagnostics fault(std::string message, std::string hint = {}) {
  Diagnostic diagnostic;
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  return {std::move(diagnostic)};
}

}  // namespace qgen::reflect
