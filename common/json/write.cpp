// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/json/write.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace qgen::json {
namespace {

using Json = nlohmann::ordered_json;

std::string scalar(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Whether a list of objects stands in it.
bool needs_lines(const Json& value) {
  if (value.is_array()) return !value.empty() && value.front().is_object();
  return value.is_object() && std::any_of(value.begin(), value.end(), needs_lines);
}

// Its parts on separate lines, each on one line if possible.
std::string in_lines(const Json& value, const std::string& indent) {
  const std::string inner = indent + "  ";
  std::vector<std::string> lines;
  for (const auto& [key, part] : value.items()) {
    const std::string text = needs_lines(part) ? in_lines(part, inner) : to_line(part);
    lines.push_back(value.is_object() ? fmt::format("{}{}: {}", inner, scalar(key), text) : inner + text);
  }
  return value.is_object() ? fmt::format("{{\n{}\n{}}}", fmt::join(lines, ",\n"), indent)
                           : fmt::format("[\n{}\n{}]", fmt::join(lines, ",\n"), indent);
}

}  // namespace

// dump() leaves the spaces out.
std::string to_line(const Json& value) {
  if (!value.is_structured()) return scalar(value);
  std::vector<std::string> parts;
  for (const auto& [key, part] : value.items()) {
    parts.push_back(value.is_object() ? fmt::format("{}: {}", scalar(key), to_line(part)) : to_line(part));
  }
  return value.is_object() ? fmt::format("{{{}}}", fmt::join(parts, ", "))
                           : fmt::format("[{}]", fmt::join(parts, ", "));
}

std::string to_text(const Json& document) { return in_lines(document, ""); }

}  // namespace qgen::json
