// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Graphviz's language as a picture, by its program `dot`.
#pragma once

#include <string>
#include <string_view>

#include "common/error.h"

namespace qgen::model {

// The bytes of a file of this name: of .dot the text itself, of .svg, .png and .pdf what `dot` makes of it. Errors:
// another ending, `dot` is not there or fails.
Expected<std::string> drawing(const std::string& dot, const std::string& file);

}  // namespace qgen::model
