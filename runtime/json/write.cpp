// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/json/write.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace qgen::json {
namespace {

using Json = nlohmann::ordered_json;

std::string scalar(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

// With a space after each comma and colon, which dump() leaves out.
std::string in_one_line(const Json& value) {
  if (!value.is_structured()) return scalar(value);
  std::vector<std::string> parts;
  for (const auto& [key, part] : value.items()) {
    parts.push_back(value.is_object() ? fmt::format("{}: {}", scalar(key), in_one_line(part)) : in_one_line(part));
  }
  return value.is_object() ? fmt::format("{{{}}}", fmt::join(parts, ", "))
                           : fmt::format("[{}]", fmt::join(parts, ", "));
}

std::string member(const Json& value) {
  const bool is_list_of_objects = value.is_array() && !value.empty() && value.front().is_object();
  if (!is_list_of_objects) return in_one_line(value);
  std::vector<std::string> lines;
  for (const Json& item : value) lines.push_back("    " + in_one_line(item));
  return fmt::format("[\n{}\n  ]", fmt::join(lines, ",\n"));
}

}  // namespace

std::string to_text(const Json& document) {
  std::vector<std::string> lines;
  for (const auto& [key, value] : document.items())
    lines.push_back(fmt::format("  {}: {}", scalar(key), member(value)));
  return fmt::format("{{\n{}\n}}", fmt::join(lines, ",\n"));
}

}  // namespace qgen::json
