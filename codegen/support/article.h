// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// "a parameter", "an operand": a noun with its article, for messages.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace qgen {

inline std::string with_article(std::string_view noun) {
  const bool is_vowel = !noun.empty() && std::string_view("aeio").find(noun[0]) != std::string_view::npos;
  return fmt::format("{} {}", is_vowel ? "an" : "a", noun);
}

}  // namespace qgen
