// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What is wrong with a text that a person wrote: all of it, each with its line, in the order of the text.
//
//   graph.yaml:4:31: error: unknown dtype 'i9'
//       4 |   q: {shape: [1, 64], dtype: i9}
//         |                              ^~
//     expected: one of f32, f16, bf16, i8, u8, i16, u16, i32, u32
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace qgen::planner {

// Counted from 0; a negative line: no place in particular.
struct TextPlace {
  int line = -1, column = 0;
  size_t length = 1;  // that the caret underlines
};

class TextReport {
 public:
  TextReport(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}

  void add(TextPlace where, std::string message, std::string expected = "", std::string hint = "");
  bool is_empty() const { return faults_.empty(); }
  std::string to_text() const;  // without a newline at its end

 private:
  struct Fault {
    TextPlace where;
    std::string message, expected, hint;
  };
  std::string excerpt(std::string_view line, const TextPlace& where) const;

  std::string_view text_;
  std::string file_;
  std::vector<Fault> faults_;
};

// "did you mean 'i8'?", or "" where none of the words is near.
std::string did_you_mean(std::string_view written, const std::vector<std::string_view>& words);

// In double quotes, with what JSON and YAML want escaped.
std::string quoted(std::string_view text);

}  // namespace qgen::planner
