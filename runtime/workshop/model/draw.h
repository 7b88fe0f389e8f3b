// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Draws a picture from Graphviz's language, with its program `dot`.
#pragma once

#include <string>
#include <string_view>

#include "common/error.h"

namespace qgen::model {

// Whether a file of this name can be drawn here, to be checked ahead of long work. Errors: it ends in none of .dot,
// .svg, .png and .pdf; for all but .dot, the program `dot` is missing.
Done check_drawing(const std::string& file);

// The bytes of a file of this name: of .dot the text itself, of others what `dot` makes of it. Errors: those above, and
// `dot` fails.
Expected<std::string> drawing(const std::string& dot, const std::string& file);

}  // namespace qgen::model
