// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The known word that a mistaken one was probably meant to be, for "did you mean".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qgen {

// The candidate with the least edit distance to the written name (insertions, deletions, replacements, swaps of
// neighbours); of equals, the first in alphabetical order. Empty if the distance is more than a third of the word's
// length, and more than one.
std::string_view nearest(std::string_view written, std::span<const std::string_view> candidates);

// The `count` candidates with the least edit distances, the nearest first; of equals in alphabetical order.
std::vector<std::string_view> nearest(std::string_view written, std::span<const std::string_view> candidates,
                                      size_t count);

// "did you mean 'vec'?", or "" where none is near.
std::string did_you_mean(std::string_view written, std::span<const std::string_view> candidates);

// The same; where none is near, "possible are a, b, c" or "the only one is 'a'". Without candidates "".
std::string hint_among(std::string_view written, std::span<const std::string_view> candidates);

}  // namespace qgen
