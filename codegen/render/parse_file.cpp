// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Lines -> blocks. A line is a directive, or text with ${...} in it; runs of plain text become one item. Each file is
// parsed once, independent of the file that includes it, because a rendering includes it once. So it sees no loop
// variables, and no tree of includes is larger than its files. A part of a file is parsed like a file, with the file's
// numbers of lines.
//
// A block whose directive is wrong still ends at its $end, so that one fault is not reported as two.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "codegen/render/directive.h"
#include "codegen/render/parse_state.h"
#include "codegen/support/article.h"
#include "codegen/support/check_text.h"
#include "common/text.h"

namespace qgen::render {
namespace {

using expression::Expression;
using expression::Symbol;
using expression::Type;

constexpr size_t kMaxIncludeDepth = 16;
constexpr size_t kMaxBlockDepth = 64;

// "a, b , c" -> "a", "b", "c"
std::vector<std::string_view> split_at_commas(std::string_view list) {
  std::vector<std::string_view> items;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t comma = std::min(list.find(',', begin), list.size());
    items.push_back(trim(list.substr(begin, comma - begin)));
    begin = comma + 1;
  }
  return items;
}

bool is_part_line(std::string_view line) {
  const auto directive = directive_of(line);
  return directive && directive->keyword == "part";
}

class FileParser {
 public:
  FileParser(ParseState& state, const TemplateFile& file, std::string_view part, uint32_t index)
      : state_(state),
        file_(file),
        index_(index),
        expressions_(state, index),
        rest_(without_byte_order_mark(file.text)) {
    if (part.empty()) return;
    const Parts::Begin& begin = parts_of(state, file).begins.find(part)->second;
    rest_.remove_prefix(begin.offset);
    line_number_ = begin.line;
  }

  Block parse() {
    Block block = parse_block(state_.names, 0);
    // parse_block() stops at a directive that closes or divides a block that was never opened.
    while (current_) {
      const bool is_forgiven = forgiven_ends_ > 0 && current_->keyword == "end";
      if (is_forgiven) --forgiven_ends_;
      else if (forgiven_ends_ == 0)
        report(keyword_place(), fmt::format("'${}' without an open block", current_->keyword));
      Block more = parse_block(state_.names, 0);
      std::move(more.begin(), more.end(), std::back_inserter(block));
    }
    return block;
  }

 private:
  // ---- lines

  // To the end of the file, or of this part of it.
  bool next_line() {
    if (rest_.empty()) return false;
    line_ = take_line(rest_);
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    ++line_number_;
    if (!is_part_line(line_)) return true;
    rest_ = {};
    return false;
  }

  SourceLocation place(std::string_view part) const { return place_of(part, line_, {file_.display, line_number_, 1}); }
  // "$if"
  SourceLocation keyword_place() const { return place({current_->keyword.data() - 1, current_->keyword.size() + 1}); }
  // The text after the keyword, or the keyword itself if there is none.
  SourceLocation rest_place() const { return current_->rest.empty() ? keyword_place() : place(current_->rest); }

  void report(SourceLocation where, std::string message, std::string expected = {}, std::string hint = {}) {
    render::report(state_, index_, std::move(where), std::move(message), std::move(expected), std::move(hint));
  }

  // ---- blocks

  // Up to a directive that ends or divides the block, which is left in current_, or to the end of the file.
  Block parse_block(const Names& names, size_t depth) {
    Block block;
    while (next_line()) {
      current_ = directive_of(line_);
      if (!current_) {
        add_text(block, names);
        continue;
      }
      const std::string_view keyword = current_->keyword;
      if (keyword == "end" || keyword == "else" || keyword == "elif") return block;
      if (keyword == "if") parse_if(block, names, depth);
      else if (keyword == "for") parse_for(block, names, depth);
      else if (keyword == "include") parse_include(block);
      else if (keyword == "require") parse_require(block, names);
      else if (keyword == "needs" || keyword == "gives") parse_interface(block, names);
      else report_unknown_directive();
    }
    current_.reset();
    return block;
  }

  void report_unknown_directive() {
    std::vector<std::string> all;
    for (const std::string_view directive : directive_names()) all.push_back(fmt::format("${}", directive));
    const std::string written = fmt::format("${}", current_->keyword);
    report(keyword_place(), fmt::format("unknown directive '{}'", written), one_of(all), suggest(written, all));
    ++forgiven_ends_;  // it may have been meant to open a block
  }

  std::shared_ptr<const Block> inner_block(const Names& names, size_t depth) {
    return std::make_shared<const Block>(parse_block(names, depth + 1));
  }

  bool is_too_deep(size_t depth) {
    if (depth < kMaxBlockDepth) return false;
    report(keyword_place(), fmt::format("blocks are nested deeper than {}", kMaxBlockDepth));
    rest_ = {};  // later errors would be guesses
    is_given_up_ = true;
    return true;
  }

  void report_unclosed(const SourceLocation& opening, std::string_view keyword) {
    if (!is_given_up_) report(opening, fmt::format("'${}' has no '$end'", keyword));
  }

  void parse_if(Block& block, const Names& names, size_t depth) {
    if (is_too_deep(depth)) return;
    const SourceLocation opening = keyword_place();
    Branches branches;
    branches.branches.push_back({condition(names), nullptr});
    bool has_else = false;
    while (true) {
      branches.branches.back().block = inner_block(names, depth);
      if (!current_) return report_unclosed(opening, "if");
      const std::string_view keyword = current_->keyword;
      if (keyword == "end") break;
      if (has_else) report(keyword_place(), fmt::format("'${}' after '$else'", keyword), "$end");
      has_else |= keyword == "else";
      if (keyword == "else") expect_nothing();
      branches.branches.push_back({keyword == "elif" ? condition(names) : std::nullopt, nullptr});
    }
    expect_nothing();
    current_.reset();
    block.push_back({std::move(branches)});
  }

  void parse_for(Block& block, const Names& names, size_t depth) {
    if (is_too_deep(depth)) return;
    const SourceLocation opening = keyword_place();
    Loop loop;
    loop.where = opening;
    const auto variable = loop_head(loop, names);
    const Names inner = variable ? with_loop_variable(names, *variable) : names;
    loop.variable = names.roles.size();
    state_.body->environment_size = std::max(state_.body->environment_size, inner.roles.size());
    loop.block = inner_block(inner, depth);
    if (!current_) return report_unclosed(opening, "for");
    if (current_->keyword != "end") {
      report(keyword_place(), fmt::format("'${}' in a '$for'", current_->keyword), "$end");
      return skip_to_end(inner, depth);
    }
    expect_nothing();
    current_.reset();
    block.push_back({std::move(loop)});
  }

  // After a misplaced $else: the text up to the $end is checked separately.
  void skip_to_end(const Names& names, size_t depth) {
    do parse_block(names, depth + 1);
    while (current_ && current_->keyword != "end");
    current_.reset();
  }

  void expect_nothing() {
    if (current_->rest.empty()) return;
    report(rest_place(), fmt::format("'${}' must be alone on its line", current_->keyword));
  }

  // ---- directives

  std::optional<Expression> condition(const Names& names) { return in_directive(current_->rest, names, Type::boolean); }

  std::optional<Expression> in_directive(std::string_view text, const Names& names, std::optional<Type> wanted) {
    if (!text.empty()) return expressions_.in_directive(text, place(text), names, wanted);
    report(keyword_place(), fmt::format("'${}' lacks an expression", current_->keyword));
    return std::nullopt;
  }

  // "NAME in range(N)" or "NAME in (a, b, c)"
  std::optional<Symbol> loop_head(Loop& loop, const Names& names) {
    const std::string_view head = current_->rest;
    const std::string_view name = leading_name(head);
    const std::string_view after_name = trim(head.substr(name.size()));
    const std::string_view values = after_name.starts_with("in") ? trim(after_name.substr(2)) : std::string_view{};
    const bool is_range = values.starts_with("range(");
    if (!is_name(name) || !(is_range || values.starts_with('(')) || !values.ends_with(')')) {
      report(rest_place(), "a loop that qgen cannot read", "$for NAME in range(N), or $for NAME in (a, b, c)");
      return std::nullopt;
    }
    if (const Symbol* taken = names.in_directive.find(name)) {
      report(place(name), fmt::format("'{}' is already the name of {}", name, with_article(taken->kind)),
             "another name");
      return std::nullopt;
    }
    const size_t open = values.find('(');
    const std::string_view inside = trim(values.substr(open + 1, values.size() - open - 2));
    Symbol variable{std::string(name), Type::integer, {}, place(name), "loop variable"};
    if (is_range) loop.rounds = in_directive(inside, names, Type::integer);
    else read_loop_values(inside, names, loop, variable);
    return variable;
  }

  void read_loop_values(std::string_view list, const Names& names, Loop& loop, Symbol& variable) {
    for (const std::string_view item : split_at_commas(list)) {
      const Symbol* symbol = names.in_directive.find(item);
      const bool is_word = is_name(item) && item != "true" && item != "false" && !symbol;
      auto value = in_directive(item, names, is_word ? std::optional(Type::word) : std::nullopt);
      if (!value) return;
      if (loop.values.empty()) variable.type = value->type();
      if (value->type() != variable.type) {
        return report(place(item),
                      fmt::format("the loop's values are of two types: {} and {}", expression::name(variable.type),
                                  expression::name(value->type())),
                      "values of one type");
      }
      if (is_word) variable.words.emplace_back(item);
      // A parameter among the values brings all the words that it may be.
      if (symbol) variable.words.insert(variable.words.end(), symbol->words.begin(), symbol->words.end());
      loop.values.push_back(std::move(*value));
    }
  }

  void parse_require(Block& block, const Names& names) {
    if (auto required = condition(names)) block.push_back({Requirement{std::move(*required)}});
  }

  // "uint word_at(uint row)", of $needs also "bool is_wide() { return false; }" and "const uint kGap = 0u".
  void parse_interface(Block& block, const Names& names) {
    const std::string_view rest = current_->rest;
    const std::string_view declaration = rest.substr(0, definition_of(rest));
    const bool is_need = current_->keyword == "needs";
    if (declaration.size() < rest.size() && !is_need)
      return report(rest_place(), "'$gives' has a declaration, without a body or a value");
    auto pieces = pieces_of(trim(declaration), names);
    if (!pieces) return;
    state_.body->has_interface[index_] = true;
    InterfaceLine line{
        is_need ? InterfaceLine::Kind::needs : InterfaceLine::Kind::gives, *std::move(pieces), {}, rest_place()};
    if (declaration.size() < rest.size()) {
      line.otherwise = pieces_of(rest, names);
      if (!rest.ends_with('}') && line.otherwise) line.otherwise->pieces.emplace_back(";");
    }
    block.push_back({std::move(line)});
  }

  // Where the body or the value of a declaration begins; its end where it has neither.
  static size_t definition_of(std::string_view declaration) {
    for (size_t i = 0; i < declaration.size(); ++i) {
      if (declaration[i] == '=') return i;
      if (declaration[i] != '{') continue;
      if (i == 0 || declaration[i - 1] != '$') return i;
      i = std::min(declaration.find('}', i), declaration.size());
    }
    return declaration.size();
  }

  void parse_include(Block& block) {
    const std::string_view rest = current_->rest;
    const size_t close = rest.starts_with('"') ? rest.find('"', 1) : rest.npos;
    const std::string_view part = close == rest.npos ? std::string_view{} : trim(rest.substr(close + 1));
    if (close == rest.npos || !(part.empty() || is_name(part))) {
      return report(rest_place(), "the include has no quoted path", "$include \"lib/name.glsl\"");
    }
    const std::string_view path = rest.substr(1, close - 1);
    if (!check_path(path)) return;
    const auto found = state_.templates.find(path);
    if (found == state_.templates.end()) {
      return render::report(state_, index_, no_template(state_, path, place(path)));
    }
    if (!check_part(found->second, path, part) || !check_chain(path, part)) return;
    parse_file(state_, found->second, part, {index_, line_number_});
    const uint32_t included = state_.file_indices.find(name_of(path, part))->second;
    state_.body->included[index_].insert(included);
    block.push_back({Include{included, line_number_}});
  }

  bool check_path(std::string_view path) {
    if (path.find("${") != path.npos) {
      report(place(path), "the path of an include is fixed", "a path", "write an $include in each branch of an $if");
      return false;
    }
    const bool climbs =
        path == ".." || path.starts_with("../") || path.ends_with("/..") || path.find("/../") != path.npos;
    if (!climbs && !path.starts_with('/') && path.find('\\') == path.npos) return true;
    report(place(path), fmt::format("'{}' leaves the template root", path),
           "a path below the root, with '/' between its parts");
    return false;
  }

  bool check_part(const TemplateFile& file, std::string_view path, std::string_view part) {
    const Parts& parts = parts_of(state_, file);
    if (part.empty() ? parts.has_more || parts.begins.empty() : parts.begins.contains(part)) return true;
    std::vector<std::string> names;
    for (const auto& [name, begin] : parts.begins) names.push_back(name);
    if (part.empty()) {
      report(place(path), fmt::format("'{}' consists of parts, and the include names none", path), one_of(names));
    } else {
      report(place(part), fmt::format("'{}' has no part '{}'", path, part),
             names.empty() ? "the path alone" : one_of(names), suggest(part, names));
    }
    return false;
  }

  bool check_chain(std::string_view path, std::string_view part) {
    const auto& open = state_.open;
    const std::string name = name_of(path, part);
    const auto cycle = std::find(open.begin(), open.end(), name);
    if (cycle != open.end()) {
      std::string chain;
      for (auto at = cycle; at != open.end(); ++at) chain += *at + " -> ";
      report(place(path), fmt::format("a template includes itself: {}{}", chain, name));
      return false;
    }
    if (open.size() < kMaxIncludeDepth) return true;
    report(place(path), fmt::format("includes are nested deeper than {}", kMaxIncludeDepth));
    return false;
  }

  // ---- text

  void add_text(Block& block, const Names& names) {
    state_.has_version |= trim(line_).starts_with("#version");
    if (line_.find("${") != line_.npos) return add_pieces(block, names);
    if (block.empty() || !std::holds_alternative<Text>(block.back().what)) block.push_back({Text{"", line_number_, 0}});
    Text& text = std::get<Text>(block.back().what);
    text.lines.append(line_).append(1, '\n');
    ++text.line_count;
  }

  void add_pieces(Block& block, const Names& names) {
    if (auto pieces = pieces_of(line_, names)) block.push_back({*std::move(pieces)});
  }

  // Of the line or a part of it. nullopt: a ${ has no end.
  std::optional<Pieces> pieces_of(std::string_view rest, const Names& names) {
    Pieces pieces;
    pieces.line = line_number_;
    while (true) {
      const size_t open = std::min(rest.find("${"), rest.size());
      if (open > 0) pieces.pieces.emplace_back(std::string(rest.substr(0, open)));
      rest.remove_prefix(open);
      if (rest.empty()) return pieces;
      const size_t close = rest.find('}');
      if (close == rest.npos) return report(place(rest), "'${' has no '}' on its line"), std::nullopt;
      const std::string_view inside = rest.substr(2, close - 2);
      if (auto filled = expressions_.in_text(inside, place(inside), names))
        pieces.pieces.emplace_back(std::move(*filled));
      rest.remove_prefix(close + 1);
    }
  }

  ParseState& state_;
  const TemplateFile& file_;
  const uint32_t index_;
  ExpressionReader expressions_;
  std::string_view rest_;
  std::string_view line_;
  uint32_t line_number_ = 0;
  std::optional<Directive> current_;  // of line_
  size_t forgiven_ends_ = 0;          // one for each unknown directive
  bool is_given_up_ = false;          // the rest of the text was not read
};

}  // namespace

std::string name_of(std::string_view path, std::string_view part) {
  return part.empty() ? std::string(path) : fmt::format("\"{}\" {}", path, part);
}

const Parts& parts_of(ParseState& state, const TemplateFile& file) {
  const auto [row, is_new] = state.parts.try_emplace(&file);
  Parts& parts = row->second;
  if (!is_new) return parts;
  const bool is_template = state.body->files.empty();
  const std::string_view text = without_byte_order_mark(file.text);
  if (auto fault = check_text(text, file.display)) {
    parts.is_text = false;
    parts.faults.push_back(*std::move(fault));
    return parts;
  }
  uint32_t line_number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = take_line(rest);
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++line_number;
    const auto directive = directive_of(line);
    if (!directive || directive->keyword != "part") {
      parts.has_more |= parts.begins.empty() && !trim(line).empty() && !trim(line).starts_with("//");
      continue;
    }
    const std::string_view name = directive->rest;
    const SourceLocation where =
        place_of(name.empty() ? directive->keyword : name, line, {file.display, line_number, 1});
    const auto add_fault = [&](std::string message, std::string expected) {
      parts.faults.push_back({where, std::move(message), std::move(expected), {}, {}});
    };
    if (is_template) add_fault("a template has no parts: only a file that it includes", {});
    else if (!is_name(name)) add_fault("a part that qgen cannot read", "$part NAME");
    else if (!parts.begins.emplace(name, Parts::Begin{text.size() - rest.size(), line_number}).second)
      add_fault(fmt::format("a second part '{}'", name), "another name");
  }
  return parts;
}

void parse_file(ParseState& state, const TemplateFile& file, std::string_view part, LineOrigin included_at) {
  Template::Body& body = *state.body;
  const auto index = static_cast<uint32_t>(body.files.size());
  const Parts& parts = parts_of(state, file);
  if (!state.file_indices.emplace(name_of(file.path, part), index).second) return;
  body.files.push_back({file.display, included_at});
  body.blocks.emplace_back();
  body.has_interface.push_back(false);
  body.included.emplace_back();
  state.open.push_back(name_of(file.path, part));
  for (Diagnostic& fault : std::exchange(state.parts[&file].faults, {})) report(state, index, std::move(fault));
  Block block;
  if (parts.is_text) block = FileParser(state, file, part, index).parse();
  else state.has_version = true;  // the unread text may contain it
  state.open.pop_back();
  body.blocks[index] = std::move(block);
}

}  // namespace qgen::render
