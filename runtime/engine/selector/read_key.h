// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Reads many keys one after the other, fast if each differs from the one before in a few values. Private to this room.
#pragma once

#include <optional>
#include <string_view>

#include "runtime/engine/selector/problem.h"

namespace qgen {

// The same as problem_of(), from the problem of another key: only the values that differ are parsed. Nullopt: the keys
// differ in more than values, or a value is invalid. Then call problem_of().
std::optional<Problem> problem_beside(std::string_view key, std::string_view other_key, const Problem& other);

}  // namespace qgen
