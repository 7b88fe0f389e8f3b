// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Makes a Diagnostic; omitted parts stay empty. Private to this room.
#pragma once

#include <string>
#include <utility>

#include "common/diagnostic.h"

namespace qgen::spec {

inline Diagnostic make_error(SourceLocation where, std::string message, std::string expected = "",
                             std::string hint = "") {
  Diagnostic error;
  error.where = std::move(where);
  error.message = std::move(message);
  error.expected = std::move(expected);
  error.hint = std::move(hint);
  return error;
}

}  // namespace qgen::spec
