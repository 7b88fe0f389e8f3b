// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "tests/support/expected_text.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/support/source_folder.h"

namespace qgen::tests {
namespace {

struct Literal {
  size_t begin, end;  // in the source, quotes included
  std::string text;
  bool is_raw;
};

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The end of a literal without R that begins at `begin`, and its text; escapes other than those that with_text_replaced()
// writes stay as they are.
Literal read_plain(std::string_view source, size_t begin) {
  Literal literal{begin, begin + 1, "", false};
  size_t& at = literal.end;
  for (; at < source.size() && source[at] != '"'; ++at) {
    if (source[at] != '\\' || at + 1 == source.size()) {
      literal.text += source[at];
      continue;
    }
    const char escaped = source[++at];
    if (escaped == 'n') literal.text += '\n';
    else if (escaped == 't') literal.text += '\t';
    else if (escaped == '"' || escaped == '\\' || escaped == '\'') literal.text += escaped;
    else literal.text.append({'\\', escaped});
  }
  at = std::min(at + 1, source.size());
  return literal;
}

// R"end(text)end", from its quote on.
Literal read_raw(std::string_view source, size_t quote) {
  const size_t open = std::min(source.find('(', quote), source.size());
  const std::string close = ")" + std::string(source.substr(quote + 1, open - quote - 1)) + "\"";
  const size_t end = std::min(source.find(close, open), source.size());
  const size_t begin = std::min(open + 1, end);
  return {quote - 1, std::min(end + close.size(), source.size()), std::string(source.substr(begin, end - begin)), true};
}

size_t end_of_comment(std::string_view source, size_t at) {
  const bool is_line = source.substr(at, 2) == "//";
  const size_t end = source.find(is_line ? "\n" : "*/", at + 2);
  return end == std::string_view::npos ? source.size() : end + (is_line ? 1 : 2);
}

bool is_only_blanks(std::string_view text) { return text.find_first_not_of(" \t\n") == std::string_view::npos; }

std::vector<Literal> literals_of(std::string_view source) {
  std::vector<Literal> literals;
  const auto add = [&](Literal literal) {
    Literal* before = literals.empty() ? nullptr : &literals.back();
    if (before && is_only_blanks(source.substr(before->end, literal.begin - before->end))) {
      before->text += literal.text;
      before->end = literal.end;
      before->is_raw = before->is_raw && literal.is_raw;
      return literal.end;
    }
    literals.push_back(literal);
    return literal.end;
  };
  for (size_t at = 0; at < source.size();) {
    const char c = source[at];
    const std::string_view two = source.substr(at, 2);
    if (two == "//" || two == "/*") at = end_of_comment(source, at);
    else if (two == "R\"" && (at == 0 || !is_name(source[at - 1]))) at = add(read_raw(source, at + 1));
    else if (c == '"') at = add(read_plain(source, at));
    else if (c == '\'' && (at == 0 || !is_name(source[at - 1]))) at += two == "'\\" ? 4 : 3;  // a character
    else ++at;
  }
  return literals;
}

std::string escaped(char c) {
  if (c == '\n') return "\\n";
  if (c == '\t') return "\\t";
  if (c == '"' || c == '\\') return {'\\', c};
  return {c};
}

// As one literal, or several below each other at `column`, so that no line becomes long.
std::string literal_of(std::string_view text, size_t column) {
  constexpr size_t kWidth = 120;
  std::string written = "\"";
  size_t used = column + 1;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string next = escaped(text[i]);
    written += next;
    used += next.size();
    const bool may_end = text[i] == '\n' || (text[i] == ' ' && used + 25 > kWidth);
    if (!may_end || i + 1 == text.size()) continue;
    written += "\"\n" + std::string(column, ' ') + "\"";
    used = column + 1;
  }
  return written + "\"";
}

std::string replacement_of(const Literal& literal, std::string_view source, std::string_view text) {
  if (literal.is_raw && text.find(")\"") == std::string_view::npos) return "R\"(" + std::string(text) + ")\"";
  const size_t line = source.rfind('\n', literal.begin);
  return literal_of(text, line == std::string_view::npos ? literal.begin : literal.begin - line - 1);
}

// The same file in this clone, wherever the compiler ran.
std::string path_of(std::string_view file) {
  const size_t tests = file.rfind("/tests/");
  return tests == std::string_view::npos ? source_folder() + "/" + std::string(file)
                                         : source_folder() + std::string(file.substr(tests));
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool has_number(std::string_view text, const std::string& number) {
  for (size_t at = text.find(number); at != text.npos; at = text.find(number, at + 1)) {
    const size_t end = at + number.size();
    const auto is_digit = [&](size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
    if ((at == 0 || !is_digit(at - 1)) && !is_digit(end)) return true;
  }
  return false;
}

// Whether the file has the new text: now, or from an earlier call.
bool update(const std::string& path, size_t line, std::string_view expected, std::string_view actual) {
  const std::string source = read(path);
  if (const auto replaced = with_text_replaced(source, line, expected, actual)) {
    return bool(std::ofstream(path, std::ios::binary) << *replaced);
  }
  return with_text_replaced(source, line, actual, actual).has_value();
}

}  // namespace

std::optional<std::string> with_text_replaced(std::string_view source, size_t line, std::string_view expected,
                                              std::string_view actual) {
  const auto distance = [&](const Literal& literal) {
    const auto begins =
        static_cast<size_t>(std::count(source.begin(), source.begin() + std::ptrdiff_t(literal.begin), '\n'));
    return begins + 1 > line ? begins + 1 - line : line - begins - 1;
  };
  std::optional<Literal> nearest;
  for (const Literal& literal : literals_of(source)) {
    if (literal.text == expected && (!nearest || distance(literal) < distance(*nearest))) nearest = literal;
  }
  if (!nearest) return std::nullopt;
  std::string replaced(source);
  return replaced.replace(nearest->begin, nearest->end - nearest->begin, replacement_of(*nearest, source, actual));
}

std::string only_of_this_run(std::string_view text) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t'; };
  if (std::ranges::any_of(text, is_control)) return "a control character";
  if (has_number(text, std::to_string(getpid()))) return "the number of this process";
  for (const std::string& folder :
       {source_folder(), std::filesystem::current_path().string(), std::filesystem::temp_directory_path().string()}) {
    if (text.find(folder) != text.npos) return "the folder " + folder;
  }
  return "";
}

::testing::AssertionResult SameText::operator()(const char* actual_source, const char* /*expected_source*/,
                                                std::string_view actual, std::string_view expected) const {
  if (actual == expected) return ::testing::AssertionSuccess();
  const bool updates = std::getenv("QGEN_UPDATE_EXPECTED") != nullptr;
  const std::string path = path_of(file_);
  const std::string only_here = only_of_this_run(actual);
  if (updates && only_here.empty() && update(path, line_, expected, actual)) return ::testing::AssertionSuccess();
  const std::string why_not = only_here.empty() ? "no literal of " + path + " has this text" : "it has " + only_here;
  return ::testing::AssertionFailure() << "the text of\n  " << actual_source << "\nis\n"
                                       << actual << "\nand should be\n"
                                       << expected << "\n("
                                       << (updates ? why_not + ": change it by hand"
                                                   : "QGEN_UPDATE_EXPECTED=1 writes it into the test: tests/README.md")
                                       << ")";
}

}  // namespace qgen::tests
