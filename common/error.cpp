// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An Error on a terminal: the message, and the hint on a separate line.
#include "common/error.h"

#include "common/text.h"

namespace qgen {

std::string to_text(const Error& error) {
  const std::string message = printable_lines(error.message);
  return error.hint.empty() ? message : message + "\n  hint: " + printable_lines(error.hint);
}

}  // namespace qgen
