// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/render/glsl_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "codegen/render/directive.h"

namespace qgen::render {
namespace {

using Tokens = std::span<const std::string>;
using Kind = GlslSignature::Kind;

constexpr std::array<std::string_view, 20> kQualifiers = {
    "const",     "shared", "precise", "in",   "uniform", "buffer", "coherent", "volatile", "restrict", "readonly",
    "writeonly", "highp",  "mediump", "lowp", "flat",    "patch",  "sample",   "centroid", "smooth",   "invariant"};
constexpr std::array<std::string_view, 12> kStatementWords = {
    "return", "else", "case", "in", "do", "const", "if", "continue", "for", "switch", "while", "precise"};

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& words, std::string_view token) {
  return std::find(words.begin(), words.end(), token) != words.end();
}

constexpr std::string_view kGeneric = "coopmat";  // the only type with arguments

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The next token of a line without comments: a name, a number, or one character. Empty: none is left.
std::string_view take_token(std::string_view& line) {
  line = trim(line);
  if (line.empty()) return {};
  size_t length = std::max<size_t>(leading_name(line).size(), 1);
  while (is_digit(line[0]) && length < line.size() && line[length] == '.') {  // 1.0f
    length += 1 + leading_name(line.substr(length + 1)).size();
  }
  const std::string_view token = line.substr(0, length);
  line.remove_prefix(length);
  return token;
}

// The index behind the bracket that closes the one at `open`; the end where none does.
size_t behind_closing(Tokens tokens, size_t open, std::string_view opening, std::string_view closing) {
  size_t depth = 0;
  for (size_t i = open; i < tokens.size(); ++i) {
    if (tokens[i] == opening) ++depth;
    if (tokens[i] == closing && --depth == 0) return i + 1;
  }
  return tokens.size();
}

Tokens without_qualifiers(Tokens tokens) {
  while (!tokens.empty()) {
    if (tokens[0] == "layout") tokens = tokens.subspan(behind_closing(tokens, 1, "(", ")"));
    else if (is_one_of(kQualifiers, tokens[0])) tokens = tokens.subspan(1);
    else break;
  }
  return tokens;
}

// "uint", "uvec4[2]", "coopmat<...>": as many tokens as a type has at the beginning. 0: there is none.
size_t type_length(Tokens tokens) {
  if (tokens.empty() || !is_name(tokens[0])) return 0;
  size_t length = 1;
  if (length < tokens.size() && tokens[length] == "<") length = behind_closing(tokens, length, "<", ">");
  while (length < tokens.size() && tokens[length] == "[") length = behind_closing(tokens, length, "[", "]");
  return length;
}

std::string joined(Tokens tokens) { return fmt::format("{}", fmt::join(tokens, "")); }

// "const inout uint rows[2]" -> "inout uint[2]"
std::string parameter_type(Tokens tokens) {
  std::string direction;
  while (!tokens.empty() && (is_one_of(kQualifiers, tokens[0]) || tokens[0] == "inout" || tokens[0] == "out")) {
    if (tokens[0] == "inout" || tokens[0] == "out") direction = tokens[0] + " ";
    tokens = tokens.subspan(1);
  }
  const size_t length = type_length(tokens);
  const Tokens behind_name = tokens.subspan(std::min(length + 1, tokens.size()));
  return direction + joined(tokens.first(length)) + joined(behind_name);
}

std::vector<std::string> parameter_types(Tokens list) {
  std::vector<std::string> types;
  size_t begin = 0, depth = 0;
  for (size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size() && (list[i] == "<" || list[i] == "[")) ++depth;
    if (i < list.size() && (list[i] == ">" || list[i] == "]")) --depth;
    if (i < list.size() && (list[i] != "," || depth > 0)) continue;
    if (i > begin) types.push_back(parameter_type(list.subspan(begin, i - begin)));
    begin = i + 1;
  }
  if (types.size() == 1 && types[0] == "void") types.clear();
  return types;
}

std::optional<GlslSignature> signature_of_tokens(Tokens tokens) {
  if (tokens.size() == 1 && is_name(tokens[0])) return GlslSignature{Kind::any, "", tokens[0], {}};
  if (tokens.size() == 2 && tokens[0] == "struct" && is_name(tokens[1]))
    return GlslSignature{Kind::type, "", tokens[1], {}};
  tokens = without_qualifiers(tokens);
  const size_t length = type_length(tokens);
  if (length == 0 || length >= tokens.size() || !is_name(tokens[length])) return std::nullopt;
  GlslSignature signature{Kind::value, joined(tokens.first(length)), tokens[length], {}};
  const Tokens behind = tokens.subspan(length + 1);
  if (behind.empty() || type_length(tokens.subspan(length)) == tokens.size() - length) return signature;  // rows[2]
  const size_t end = behind_closing(behind, 0, "(", ")");
  if (behind[0] != "(" || end != behind.size() || behind.back() != ")") return std::nullopt;
  signature.kind = Kind::function;
  signature.parameters = parameter_types(behind.subspan(1, end - 2));
  return signature;
}

std::vector<std::string> tokens_of(std::string_view text) {
  std::vector<std::string> tokens;
  for (std::string_view token = take_token(text); !token.empty(); token = take_token(text)) tokens.emplace_back(token);
  return tokens;
}

}  // namespace

std::string GlslSignature::text() const {
  switch (kind) {
    case Kind::type: return "struct " + name;
    case Kind::any: return name;
    case Kind::value: return fmt::format("{} {}", type, name);
    case Kind::function: break;
  }
  return fmt::format("{} {}({})", type, name, fmt::join(parameters, ", "));
}

bool GlslSignature::matches(const GlslSignature& other) const {
  if (name != other.name) return false;
  if (kind == Kind::any || other.kind == Kind::any) return true;
  return kind == other.kind && type == other.type && parameters == other.parameters;
}

std::optional<GlslSignature> signature_of(std::string_view declaration) {
  return signature_of_tokens(tokens_of(declaration));
}

void GlslNames::read(std::string_view text, std::span<const LineOrigin> origins) {
  std::string_view rest = text.substr(bytes_);
  while (!rest.empty() && lines_ < origins.size()) {
    here_ = origins[lines_++];
    read_line(take_line(rest));
  }
  bytes_ = text.size();
}

void GlslNames::read_line(std::string_view line) {
  std::string code;  // without its comments
  while (!line.empty()) {
    if (is_in_comment_) {
      const size_t end = line.find("*/");
      if (end == line.npos) return;
      line.remove_prefix(end + 2);
      is_in_comment_ = false;
    }
    const size_t comment = std::min({line.find("//"), line.find("/*"), line.size()});
    code.append(line.substr(0, comment)).append(1, ' ');
    if (comment == line.size() || line[comment + 1] == '/') break;
    is_in_comment_ = true;
    line.remove_prefix(comment + 2);
  }
  std::string_view rest = trim(code);
  if (is_in_macro_ || rest.starts_with('#')) return read_macro(rest);
  for (std::string_view token = take_token(rest); !token.empty(); token = take_token(rest)) read_token(token);
}

// What a macro stands for is not looked at: it may be half a statement.
void GlslNames::read_macro(std::string_view line) {
  constexpr std::string_view kDefine = "#define ";
  if (!is_in_macro_ && line.starts_with(kDefine))
    define({Kind::any, "", std::string(leading_name(trim(line.substr(kDefine.size())))), {}});
  is_in_macro_ = line.ends_with('\\');
}

void GlslNames::read_token(std::string_view token) {
  if (braces_ == Braces::none) return read_outside(token);
  if (token == "{") ++depth_;
  if (token == "}" && --depth_ == 0) {
    if (braces_ == Braces::function) declaration_.clear();
    braces_ = Braces::none;
    return;
  }
  if (braces_ == Braces::function) return read_inside(token);
  // Of members only their types are names, and the constants in their brackets.
  const bool is_member = braces_ == Braces::members && (is_name(last_) || last_ == "]" || last_ == ",");
  if (is_name(token) && !is_member) use(token);
  last_ = token;
}

void GlslNames::read_outside(std::string_view token) {
  if (token == "{") return open_braces();
  if (token == ";") return end_declaration();
  declaration_.emplace_back(token);
}

void GlslNames::open_braces() {
  depth_ = 1;
  last_.clear();
  const Tokens tokens = declaration_;
  if (std::find(tokens.begin(), tokens.end(), "=") != tokens.end()) {
    braces_ = Braces::value;
    return;
  }
  braces_ = Braces::members;
  if (!tokens.empty() && tokens[0] == "struct") {
    define({Kind::type, "", tokens.size() > 1 ? tokens[1] : std::string(), {}});
    declaration_.clear();
    return;
  }
  auto signature = signature_of_tokens(tokens);
  if (!signature || signature->kind != Kind::function) return;
  locals_.clear();
  parentheses_ = 0;
  local_parentheses_.reset();
  is_in_generic_ = false;
  braces_ = Braces::function;
  // The names of parameters stand before a comma, an array's bracket or the end.
  for (size_t i = 1; i + 1 < tokens.size(); ++i) {
    const std::string& next = tokens[i + 1];
    if (is_name(tokens[i]) && (next == "," || next == ")" || next == "[")) locals_.insert(tokens[i]);
  }
  for (const std::string& name : tokens)
    if (is_name(name) && name != signature->name && !locals_.contains(name)) use(name);
  define(*std::move(signature));
}

// `uint a = f(b), c;` declares a and c. A prototype declares nothing.
void GlslNames::end_declaration() {
  const Tokens all = declaration_;
  const bool is_interface = !all.empty() && all[0] == "layout";  // operands, constants: names of the spec
  const Tokens tokens = without_qualifiers(all);
  const size_t type = type_length(tokens);
  const size_t assignment = static_cast<size_t>(std::find(tokens.begin(), tokens.end(), "=") - tokens.begin());
  std::set<size_t> declared;
  if (auto signature = signature_of_tokens(tokens.first(assignment));
      !is_interface && type > 0 && type < tokens.size() && (!signature || signature->kind != Kind::function)) {
    size_t depth = 0;
    for (size_t i = type; i < tokens.size(); ++i) {
      if (tokens[i] == "(" || tokens[i] == "[" || tokens[i] == "{") ++depth;
      if (tokens[i] == ")" || tokens[i] == "]" || tokens[i] == "}") --depth;
      if (depth > 0 || !is_name(tokens[i]) || (i != type && tokens[i - 1] != ",")) continue;
      declared.insert(i);
      define({Kind::value, joined(tokens.first(type)), tokens[i], {}});
    }
  }
  for (size_t i = 0; i < tokens.size(); ++i)
    if (is_name(tokens[i]) && !declared.contains(i) && (i == 0 || tokens[i - 1] != ".")) use(tokens[i]);
  declaration_.clear();
}

void GlslNames::read_inside(std::string_view token) {
  if (token == "(" || token == "[") ++parentheses_;
  if ((token == ")" || token == "]") && parentheses_ > 0) --parentheses_;
  if (token == ";") local_parentheses_.reset();
  if (last_ == kGeneric && token == "<") is_in_generic_ = true;
  if (is_name(token) && last_ != ".") {
    const bool is_behind_type = last_ == "]" || (is_name(last_) && !is_one_of(kStatementWords, last_));
    if (is_behind_type || (last_ == "," && local_parentheses_ == parentheses_ && !is_in_generic_)) {
      locals_.emplace(token);
      local_parentheses_ = parentheses_;
    } else if (!locals_.contains(token)) {
      use(token);
    }
  }
  last_ = token;
  if (is_in_generic_ && token == ">") {  // coopmat<...> is one name, as types are
    is_in_generic_ = false;
    last_ = kGeneric;
  }
}

void GlslNames::define(GlslSignature signature) {
  std::string name = signature.name;
  definitions_.emplace(std::move(name), GlslDefinition{std::move(signature), here_});
}

void GlslNames::use(std::string_view name) { uses_.emplace(std::pair(here_.file, std::string(name)), here_); }

}  // namespace qgen::render
