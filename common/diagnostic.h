// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A fault in a text that a person wrote, as a value: location, message, expected values, hint, and other locations that
// explain it. Specs, templates and graphs report faults in this form.
//
//   specs/softmax.yaml:15:15: error: unknown name 'vce' in applies_when
//      15 |   - columns % vce == 0
//         |               ^~~
//     expected: one of columns, dtype, vec
//     hint: did you mean 'vec'?
//   specs/softmax.yaml:6:1: note: parameters are declared here
//
// A reader collects all diagnostics of a text before it stops. They are printed in file order.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/outcome.h"

namespace qgen {

// A place in a text the user wrote. Line and column count from 1; 0 means that only the rest is known.
struct SourceLocation {
  std::string file;  // as the user named it: relative stays relative
  uint32_t line = 0;
  uint32_t column = 0;  // in bytes
  uint32_t length = 0;  // bytes that the caret underlines; 0 draws one caret
  friend auto operator<=>(const SourceLocation&, const SourceLocation&) = default;
};

struct Note {
  SourceLocation where;  // no file: printed as an indented line without a place
  std::string message;
};

struct Diagnostic {
  SourceLocation where;
  std::string message;      // "unknown name 'vce' in applies_when"
  std::string expected;     // "one of columns, dtype, vec"
  std::string hint;         // "did you mean 'vec'?"
  std::vector<Note> notes;  // other places that explain this one
};

using Diagnostics = std::vector<Diagnostic>;

template <typename T>
using Result = Outcome<T, Diagnostics>;

// The texts that diagnostics quote, by the name in SourceLocation::file. A file that is not here is quoted without
// its line.
using SourceTexts = std::map<std::string, std::string, std::less<>>;

// The printed form, each diagnostic ending in a newline. Sorted by place; equal diagnostics are printed once. It stays
// readable for any number of errors and any line length: the first hundred errors, a part of a long line, and terminal
// control characters escaped (common/text.h).
std::string to_text(const Diagnostics& diagnostics, const SourceTexts& sources);
std::string to_text(const Diagnostic& diagnostic, const SourceTexts& sources);
std::string to_text(const SourceLocation& where);  // "file:line:column"

// did_you_mean() of common/nearest.h.
std::string suggest(std::string_view written, const std::vector<std::string>& candidates);

// "a, b, c", sorted.
std::string join_sorted(std::vector<std::string> words, std::string_view separator = ", ");
// For Diagnostic::expected: "one of a, b, c", sorted; of one word the word; of none "", which prints nothing.
std::string one_of(std::vector<std::string> words);

void append(Diagnostics& to, Diagnostics from);

}  // namespace qgen
