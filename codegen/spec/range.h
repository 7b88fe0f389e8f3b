// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The ranges of attributes, `[-8, 7]`, `[0, 2^119]`, `i8`, `positive`. Private to this room.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/spec/spec.h"

namespace qgen::spec {

// "4", "-0.5", "2^-125", "-2^31"; nullopt: no number.
std::optional<double> parse_bound(std::string_view text);

// The ranges that have a name: `i8`, `positive`.
std::vector<std::string> range_words();
std::optional<Range> find_range(std::string_view word);

}  // namespace qgen::spec
