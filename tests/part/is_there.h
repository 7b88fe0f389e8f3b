// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#pragma once

#include <cstdio>

#include "qgen/call.h"

// Prints the error, if there is one.
template <typename Result>
bool is_there(const Result& result) {
  if (!result) std::fprintf(stderr, "%s\n", qgen::to_text(result.error()).c_str());
  return bool(result);
}
