// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The known word that a mistaken one was probably meant to be, for "did you mean".
#pragma once

#include <span>
#include <string_view>

namespace qgen {

// The candidate with the least edit distance (insertions, deletions, replacements, swaps of neighbours) to what was
// written, the first in alphabetical order of equals; empty where none lies within a third of the word's length, and at
// least one.
std::string_view nearest(std::string_view written, std::span<const std::string_view> candidates);

}  // namespace qgen
