// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Arrays, structs and functions that several rows of generated tables share; each is printed when it is first used. Its
// name describes it if the caller gives a name; else the name comes from the content. Private to this room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/emit/operator_model.h"
#include "codegen/support/text_writer.h"

namespace qgen::emit {

using Rows = std::vector<std::string>;

class SharedValues {
 public:
  explicit SharedValues(TextWriter& out) : out_(out) {}

  // One row a line. The result is the array's name; "{}" where there are no rows.
  std::string print(std::string_view type, std::string_view prefix, const Rows& rows);

  // Small values: as many a line as there is room for.
  std::string print_filled(std::string_view type, const Names& names, std::string_view extent, const Rows& values);

  // `{.field = value, ...}`.
  std::string print_struct(std::string_view type, std::string_view prefix, const Rows& fields);

  // `constexpr TYPE NAME = VALUE;`.
  std::string print_value(std::string_view type, std::string_view prefix, const std::string& value);

  // `RESULT NAME(PARAMETERS) { BODY }`.
  std::string print_function(std::string_view result, const Names& names, std::string_view parameters,
                             const Rows& body);

 private:
  // `constexpr TYPE prefix_1a2b3c4d OPENING`, the lines, each after a margin, and `};`.
  std::string print_lines(std::string_view type, std::string_view prefix, std::string_view opening,
                          std::string_view margin, const Rows& lines);

  TextWriter& out_;
  ContentNames names_;
};

}  // namespace qgen::emit
