// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/expression/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace qgen::expression {
namespace {

// Bounds the height of the tree, and so the stack of every recursion over it: a chain of sums is as high as it is long.
constexpr size_t kMaxTokens = 1000;

constexpr std::array<std::string_view, 6> kKeywords = {"and", "or", "not", "in", "true", "false"};
constexpr std::array<std::string_view, 14> kSigns = {"==", "!=", "<=", ">=", "<", ">", "+",
                                                     "-",  "*",  "/",  "%",  "(", ")", ","};

// Operators of C++, and their spelling in expressions.
struct Spelling {
  std::string_view in_cpp;
  std::string_view here;
};
constexpr std::array<Spelling, 6> kSpellings = {
    {{"&&", "and"}, {"||", "or"}, {"!", "not"}, {"=", "=="}, {"&", "and"}, {"|", "or"}}};

// Not <cctype>: that depends on the locale.
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class Lexer {
 public:
  Lexer(std::string_view text, const SourceLocation& start) : text_(text), start_(start) {}

  Result<std::vector<Token>> run() {
    while (true) {
      while (is_space(at(0))) ++offset_;
      if (offset_ >= text_.size()) break;
      if (tokens_.size() == kMaxTokens)
        return error(1, fmt::format("the expression has more than {} words and signs", kMaxTokens));
      const auto failure = next();
      if (failure) return Diagnostics{*failure};
    }
    tokens_.push_back({Token::Kind::end, text_.substr(text_.size()), text_.size()});
    return std::move(tokens_);
  }

 private:
  char at(size_t ahead) const { return offset_ + ahead < text_.size() ? text_[offset_ + ahead] : '\0'; }

  std::optional<Diagnostic> next() {
    if (is_letter(at(0))) return name();
    if (is_digit(at(0))) return number();
    return sign();
  }

  void take(Token::Kind kind, size_t length) {
    tokens_.push_back({kind, text_.substr(offset_, length), offset_});
    offset_ += length;
  }

  // A dotted name is one token: `device.subgroup_size`.
  std::optional<Diagnostic> name() {
    size_t length = 1;
    while (is_letter(at(length)) || is_digit(at(length)) || (at(length) == '.' && is_letter(at(length + 1)))) ++length;
    const bool is_keyword =
        std::find(kKeywords.begin(), kKeywords.end(), text_.substr(offset_, length)) != kKeywords.end();
    take(is_keyword ? Token::Kind::keyword : Token::Kind::name, length);
    return std::nullopt;
  }

  size_t digits_from(size_t length) const {
    while (is_digit(at(length))) ++length;
    return length;
  }

  // 12, 0.5, 1e4, 1.5e-3
  std::optional<Diagnostic> number() {
    size_t length = digits_from(0);
    auto kind = Token::Kind::integer;
    if (at(length) == '.' && is_digit(at(length + 1))) {
      kind = Token::Kind::real;
      length = digits_from(length + 1);
    }
    if (at(length) == 'e' || at(length) == 'E') {
      const size_t exponent = at(length + 1) == '-' || at(length + 1) == '+' ? length + 2 : length + 1;
      if (is_digit(at(exponent))) {
        kind = Token::Kind::real;
        length = digits_from(exponent);
      }
    }
    if (is_letter(at(length))) {
      while (is_letter(at(length)) || is_digit(at(length))) ++length;
      return Diagnostic{place(start_, offset_, length),
                        fmt::format("'{}' is neither a number nor a name", text_.substr(offset_, length)),
                        "a decimal number such as 12, 0.5 or 1e4, or a name that begins with a letter"};
    }
    take(kind, length);
    return std::nullopt;
  }

  std::optional<Diagnostic> sign() {
    const std::string_view rest = text_.substr(offset_);
    for (std::string_view sign : kSigns) {
      if (!rest.starts_with(sign)) continue;
      take(Token::Kind::sign, sign.size());
      return std::nullopt;
    }
    for (const Spelling& spelling : kSpellings) {
      if (rest.starts_with(spelling.in_cpp))
        return unexpected(spelling.in_cpp.size(), fmt::format("write '{}'", spelling.here));
    }
    return unexpected(1, "");
  }

  Diagnostic unexpected(size_t length, std::string hint) const {
    const std::string_view written = text_.substr(offset_, length);
    const bool is_printable = std::all_of(written.begin(), written.end(), [](char c) { return c > ' ' && c < '\x7f'; });
    const std::string shown =
        is_printable ? std::string(written) : fmt::format("\\x{:02x}", static_cast<unsigned char>(written[0]));
    return {place(start_, offset_, length), fmt::format("unexpected '{}' in an expression", shown), "",
            std::move(hint)};
  }

  Diagnostics error(size_t length, std::string message) const {
    return {{place(start_, offset_, length), std::move(message)}};
  }

  std::string_view text_;
  const SourceLocation& start_;
  size_t offset_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

SourceLocation place(const SourceLocation& start, size_t offset, size_t length) {
  if (start.column == 0) return start;
  return {start.file, start.line, start.column + static_cast<uint32_t>(offset), static_cast<uint32_t>(length)};
}

Result<std::vector<Token>> tokenize(std::string_view text, const SourceLocation& start) {
  return Lexer(text, start).run();
}

}  // namespace qgen::expression
