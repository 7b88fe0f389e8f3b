// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A template's lines: which are directives, and the few functions of this room that split text.
//
//   $if vec == 4  // of both        keyword "if", rest "vec == 4"
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "common/diagnostic.h"

namespace qgen::render {

// Both are views into the line.
struct Directive {
  std::string_view keyword;
  std::string_view rest;
};

// nullopt: the line is text. The keyword may be unknown.
std::optional<Directive> directive_of(std::string_view line);

// The keywords there are.
std::span<const std::string_view> directive_names();

std::string_view trim(std::string_view text);
// Removes the next line from `text`, and returns it without its newline.
std::string_view take_line(std::string_view& text);
// The letters, digits and '_' that `text` begins with.
std::string_view leading_name(std::string_view text);
bool is_name(std::string_view text);
// Where a part of a text stands, if the text begins at `start`.
SourceLocation place_of(std::string_view part, std::string_view text, const SourceLocation& start);

}  // namespace qgen::render
