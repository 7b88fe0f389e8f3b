// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Text -> tokens, each with its location. Private to this room.
#pragma once

#include <string_view>
#include <vector>

#include "codegen/expression/expression.h"

namespace qgen::expression {

struct Token {
  enum class Kind : uint8_t { name, keyword, integer, real, sign, end } kind = Kind::end;
  std::string_view text;  // "" at the end
  size_t offset = 0;
};

// The place of text[offset, offset + length) when the text begins at `start`. A start without a column has none to
// give.
SourceLocation place(const SourceLocation& start, size_t offset, size_t length);

// Ends with an `end` token. Errors: a character that begins no token, a number glued to a name, too many tokens.
Result<std::vector<Token>> tokenize(std::string_view text, const SourceLocation& start);

}  // namespace qgen::expression
