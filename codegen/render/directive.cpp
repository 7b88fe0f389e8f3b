// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/render/directive.h"

#include <algorithm>
#include <array>

namespace qgen::render {
namespace {

constexpr std::array<std::string_view, 10> kDirectives = {"if",      "elif",    "else",  "end",   "for",
                                                          "include", "require", "needs", "gives", "part"};

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_part(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }

}  // namespace

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view take_line(std::string_view& text) {
  const size_t newline = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, newline);
  text.remove_prefix(std::min(newline + 1, text.size()));
  return line;
}

std::string_view leading_name(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_name_part);
  return text.substr(0, static_cast<size_t>(end - text.begin()));
}

bool is_name(std::string_view text) {
  return !text.empty() && is_name_start(text.front()) && leading_name(text).size() == text.size();
}

SourceLocation place_of(std::string_view part, std::string_view text, const SourceLocation& start) {
  return {start.file, start.line, start.column + static_cast<uint32_t>(part.data() - text.data()),
          static_cast<uint32_t>(part.size())};
}

std::span<const std::string_view> directive_names() { return kDirectives; }

// A comment begins after the last quote, since the path of an include may hold "//".
std::optional<Directive> directive_of(std::string_view line) {
  const std::string_view text = trim(line);
  if (!text.starts_with('$') || text.starts_with("${")) return std::nullopt;
  const std::string_view keyword = leading_name(text.substr(1));
  std::string_view rest = text.substr(1 + keyword.size());
  const size_t quote_end = rest.find('"') == rest.npos ? 0 : rest.rfind('"');
  rest = rest.substr(0, rest.find("//", quote_end));
  return Directive{keyword, trim(rest)};
}

}  // namespace qgen::render
