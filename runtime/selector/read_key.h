// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Many keys read one after the other, each of which differs from the one before in a few values. Private to this room.
#pragma once

#include <optional>
#include <string_view>

#include "runtime/selector/problem.h"

namespace qgen {

// What problem_of() gives, from the problem of another key: only the words that differ are read. Nullopt: the keys
// differ in more than values, or a value is none; problem_of() says what is wrong, if anything is.
std::optional<Problem> problem_beside(std::string_view key, std::string_view other_key, const Problem& other);

}  // namespace qgen
