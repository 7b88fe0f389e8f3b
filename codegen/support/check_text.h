// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Checks that specs and templates are text (common/text.h defines it), and gives the location of a fault.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/diagnostic.h"

namespace qgen {

// The first byte or character that is not allowed in a text file.
std::optional<Diagnostic> check_text(std::string_view text, const std::string& file);

}  // namespace qgen
