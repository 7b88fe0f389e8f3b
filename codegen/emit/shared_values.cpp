// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/emit/shared_values.h"

#include <fmt/format.h>

namespace qgen::emit {

std::string SharedValues::print_lines(std::string_view type, std::string_view prefix, std::string_view opening,
                                      std::string_view margin, const Rows& lines) {
  const auto [name, is_new] = names_.name(digested(prefix), fmt::format("{}", fmt::join(lines, "\n")));
  if (!is_new) return name;
  out_.line("constexpr {} {}{}", type, name, opening);
  {
    const auto indented = out_.indent();
    for (const std::string& line : lines) out_.line("{}{}", margin, line);
  }
  out_.text("};");
  return name;
}

std::string SharedValues::print(std::string_view type, std::string_view prefix, const Rows& rows) {
  return rows.empty() ? "{}" : print_lines(type, prefix, "[] = {", "", rows);
}

std::string SharedValues::print_filled(std::string_view type, const Names& names, std::string_view extent,
                                       const Rows& values) {
  if (values.empty()) return "{}";
  const auto [name, is_new] = names_.name(names, fmt::format("{}", fmt::join(values, ", ")));
  if (!is_new) return name;
  out_.filled(fmt::format("constexpr {} {}[]{} = {{", type, name, extent), values, "};");
  return name;
}

std::string SharedValues::print_struct(std::string_view type, std::string_view prefix, const Rows& fields) {
  return print_lines(type, prefix, " = {", "  ", fields);
}

std::string SharedValues::print_value(std::string_view type, std::string_view prefix, const std::string& value) {
  const auto [name, is_new] = names_.name(digested(prefix), value);
  if (is_new) out_.code(fmt::format("constexpr {} {} = {};", type, name, value));
  return name;
}

std::string SharedValues::print_function(std::string_view result, const Names& names, std::string_view parameters,
                                         const Rows& body) {
  const auto [name, is_new] = names_.name(names, fmt::format("{}", fmt::join(body, "\n")));
  if (!is_new) return name;
  out_.line("{} {}({}) {{", result, name, parameters);
  {
    const auto indented = out_.indent();
    for (const std::string& line : body) out_.code(line);
  }
  out_.text("}");
  out_.blank();
  return name;
}

}  // namespace qgen::emit
