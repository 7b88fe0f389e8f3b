// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What specs and templates have in common: they are text (common/text.h says what may be in it), and a fault has a
// place.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/diagnostic.h"

namespace qgen {

// The first byte or character that the text of a file cannot hold.
std::optional<Diagnostic> check_text(std::string_view text, const std::string& file);

}  // namespace qgen
