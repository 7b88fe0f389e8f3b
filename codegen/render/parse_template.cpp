// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Lines -> blocks. A line is a directive, or text with ${...} in it; runs of plain text become one item. Each file is
// parsed once, whatever includes it, because a rendering includes it once: so it sees no loop's variables, and no tree
// of includes is larger than its files.
//
// Every fault is reported, and each once: a block whose directive is wrong still ends at its $end.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "codegen/render/body.h"
#include "codegen/render/directive.h"
#include "codegen/render/glsl.h"
#include "codegen/render/render.h"
#include "codegen/spec/axes.h"

namespace qgen::render {
namespace {

using expression::Expression;
using expression::Symbol;
using expression::Type;

constexpr size_t kMaxIncludeDepth = 16;
constexpr size_t kMaxBlockDepth = 64;

std::vector<std::string> strings(std::span<const std::string_view> views) { return {views.begin(), views.end()}; }

// ---- one template and all that it includes ---------------------------------------------------------------------------

class TemplateParser {
 public:
  TemplateParser(const spec::Spec& spec, const TemplateSet& templates)
      : spec_(spec), templates_(templates), names_(names_of(spec)) {}

  Result<Template> parse() {
    const auto& wanted = *spec_.template_path;
    const auto found = templates_.find(wanted.value);
    if (found == templates_.end()) {
      report(wanted.where, fmt::format("there is no template '{}'", wanted.value), {}, suggest(wanted.value, paths()));
      return errors_;
    }
    body_->environment_size = names_.roles.size();
    parse_file(found->second, {});
    if (!has_version_) report({found->second.display, 1, 1, 0}, "the template has no #version line", "#version 450");
    if (errors_.empty()) report_unused();
    if (!errors_.empty()) return errors_;
    finish();
    return Template(body_);
  }

 private:
  friend class FileParser;

  void parse_file(const TemplateFile& file, LineOrigin included_at);

  std::vector<std::string> paths() const {
    std::vector<std::string> all;
    for (const auto& [path, file] : templates_) all.push_back(path);
    return all;
  }

  void report(SourceLocation where, std::string message, std::string expected = {}, std::string hint = {},
              std::vector<Note> notes = {}) {
    errors_.push_back({std::move(where), std::move(message), std::move(expected), std::move(hint), std::move(notes)});
  }

  // Names begin with the parameters and go on with the specialization constants, each in the spec's order.
  void report_unused() {
    report_unused(spec_.parameters, 0);
    report_unused(spec_.specialization, spec_.parameters.size());
  }

  // Of a record one field is enough: the others may matter to the spec's expressions alone.
  void report_unused(const std::vector<spec::Axis>& axes, size_t offset) {
    for (const spec::AxisGroup& group : spec::groups_of(axes)) {
      const size_t first = offset + group.first;
      const auto next = used_.lower_bound(first);
      if (next != used_.end() && *next < first + group.axes.size()) continue;
      const Symbol& symbol = names_.in_directive.symbols()[first];
      report(symbol.declared,
             fmt::format("no line of '{}' uses {} '{}'", spec_.template_path->value, symbol.kind, group.name()), {},
             "use it, or take it out of the spec: every value of it would be the same kernel");
    }
  }

  void finish() {
    body_->names = names_;
    for (size_t i = 0; i < names_.roles.size(); ++i) {
      if (names_.roles[i] == Role::specialization && used_.contains(i)) body_->constants.push_back(names_.role_index[i]);
    }
    for (const auto& file : body_->files) body_->file_names.push_back(file.display);
    std::sort(body_->file_names.begin(), body_->file_names.end());
  }

  const spec::Spec& spec_;
  const TemplateSet& templates_;
  const Names names_;
  std::shared_ptr<Template::Body> body_ = std::make_shared<Template::Body>();
  std::map<std::string, uint32_t, std::less<>> file_indices_;  // by path
  std::vector<const TemplateFile*> open_;                      // the chain of includes being parsed
  std::set<size_t> used_;                                      // names, by their place in names_
  bool has_version_ = false;
  Diagnostics errors_;
};

// ---- one file --------------------------------------------------------------------------------------------------------

class FileParser {
 public:
  FileParser(TemplateParser& whole, const TemplateFile& file, uint32_t index)
      : whole_(whole), file_(file), index_(index), rest_(file.text) {}

  Block parse() {
    Block block = parse_block(whole_.names_, 0);
    // parse_block() stops at a directive that closes or divides a block that was never opened.
    while (current_) {
      const bool is_end = current_->keyword == "end";
      if (forgiven_ends_ > 0) forgiven_ends_ -= is_end ? 1 : 0;
      else report(keyword_place(), fmt::format("'${}' without an open block", current_->keyword));
      advance();
      Block more = parse_block(whole_.names_, 0);
      std::move(more.begin(), more.end(), std::back_inserter(block));
    }
    return block;
  }

 private:
  // ---- lines

  bool next_line() {
    if (rest_.empty()) return false;
    line_ = take_line(rest_);
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    ++line_number_;
    return true;
  }

  void advance() { current_.reset(); }

  SourceLocation place(std::string_view part) const {
    return {file_.display, line_number_, static_cast<uint32_t>(part.data() - line_.data()) + 1,
            static_cast<uint32_t>(part.size())};
  }
  // "$if"
  SourceLocation keyword_place() const {
    return place({current_->keyword.data() - 1, current_->keyword.size() + 1});
  }

  void report(SourceLocation where, std::string message, std::string expected = {}, std::string hint = {}) {
    whole_.report(std::move(where), std::move(message), std::move(expected), std::move(hint), included_notes());
  }

  std::vector<Note> included_notes() const {
    std::vector<Note> notes;
    for (uint32_t file = index_; whole_.body_->files[file].included_at.line != 0;) {
      const LineOrigin at = whole_.body_->files[file].included_at;
      Note note;
      note.where.file = whole_.body_->files[at.file].display;
      note.where.line = at.line;
      note.message = "included here";
      notes.push_back(std::move(note));
      file = at.file;
    }
    return notes;
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
      else report_unknown_directive();
    }
    current_.reset();
    return block;
  }

  void report_unknown_directive() {
    std::vector<std::string> all;
    for (const std::string_view directive : directive_names()) all.push_back(fmt::format("${}", directive));
    const std::string written = fmt::format("${}", current_->keyword);
    report(keyword_place(), fmt::format("unknown directive '{}'", written), "one of " + join_sorted(all),
           suggest(written, all));
    ++forgiven_ends_;  // it may have been meant to open a block
  }

  // The block of an $if or $for, and whether its depth is bearable; a block too deep is read with no depth left.
  std::shared_ptr<const Block> inner_block(const Names& names, size_t depth) {
    return std::make_shared<const Block>(parse_block(names, depth + 1));
  }

  bool is_too_deep(size_t depth) {
    if (depth < kMaxBlockDepth) return false;
    report(keyword_place(), fmt::format("blocks are nested deeper than {}", kMaxBlockDepth));
    rest_ = {};  // what follows would be guesses
    return true;
  }

  void report_unclosed(const SourceLocation& opening, std::string_view keyword) {
    report(opening, fmt::format("'${}' has no '$end'", keyword));
  }

  void parse_if(Block& block, const Names& names, size_t depth) {
    if (is_too_deep(depth)) return;
    const SourceLocation opening = keyword_place();
    Branches branches;
    branches.branches.push_back({condition(names), nullptr});
    std::optional<SourceLocation> else_place;
    while (true) {
      branches.branches.back().block = inner_block(names, depth);
      if (!current_) return report_unclosed(opening, "if");
      const std::string_view keyword = current_->keyword;
      if (keyword == "end") break;
      if (else_place) report(keyword_place(), fmt::format("'${}' after '$else'", keyword), "$end");
      if (keyword == "else") else_place = keyword_place();
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
    whole_.body_->environment_size = std::max(whole_.body_->environment_size, inner.roles.size());
    loop.block = inner_block(inner, depth);
    if (!current_) return report_unclosed(opening, "for");
    if (current_->keyword != "end") {
      report(keyword_place(), fmt::format("'${}' in a '$for'", current_->keyword), "$end");
      current_.reset();
      parse_rest_of_block(inner, depth);
      return;
    }
    expect_nothing();
    current_.reset();
    block.push_back({std::move(loop)});
  }

  // After a misplaced $else: what follows is read for its own faults, up to the $end.
  void parse_rest_of_block(const Names& names, size_t depth) {
    do {
      current_.reset();
      parse_block(names, depth + 1);
    } while (current_ && current_->keyword != "end");
    current_.reset();
  }

  void expect_nothing() {
    if (current_->rest.empty()) return;
    report(place(current_->rest), fmt::format("'${}' stands alone on its line", current_->keyword));
  }

  // ---- directives

  std::optional<Expression> condition(const Names& names) {
    return in_directive(current_->rest, names, Type::boolean);
  }

  // An expression that is evaluated when a variant is rendered, so only of names that have values then.
  std::optional<Expression> in_directive(std::string_view text, const Names& names, std::optional<Type> wanted) {
    if (text.empty()) {
      report(keyword_place(), fmt::format("'${}' lacks an expression", current_->keyword));
      return std::nullopt;
    }
    auto parsed = expression::parse(text, place(text), names.in_directive, wanted);
    if (!parsed) {
      add_errors(parsed.error());
      return std::nullopt;
    }
    check_known(*parsed, names);
    return *parsed;
  }

  void add_errors(Diagnostics errors) {
    for (Diagnostic& error : errors) {
      for (Note& note : included_notes()) error.notes.push_back(std::move(note));
    }
    append(whole_.errors_, std::move(errors));
  }

  enum class InText : bool { no, yes };

  void check_known(const Expression& expression, const Names& names, InText in_text = InText::no) {
    for (const auto& use : expression::uses_of(expression)) {
      whole_.used_.insert(use.symbol);
      check_known(use, names.in_directive.symbols()[use.symbol].name, names.roles[use.symbol], in_text);
    }
  }

  void check_known(const expression::SymbolUse& use, const std::string& name, Role role, InText in_text) {
    switch (role) {
      case Role::parameter:
      case Role::operand:
      case Role::loop_variable: return;
      case Role::specialization:
        if (in_text == InText::yes) return;
        return report(use.where,
                      fmt::format("'{}' is a specialization constant: it has no value before the pipeline is made", name),
                      "a parameter", "branch on it in GLSL, or move it from 'specialization' to 'parameters'");
      case Role::problem_field:
        return report(use.where, fmt::format("'{}' is a problem field: it has no value before the kernel runs", name),
                      "a parameter", fmt::format("GLSL reads it as problem.{}", name));
      case Role::device_number:
        return report(use.where, fmt::format("'{}' has no value before the kernel is chosen", name), "a parameter",
                      "conditions on the device stand in the spec, under require_device");
    }
  }

  // "NAME in range(N)" or "NAME in (a, b, c)"
  std::optional<Symbol> loop_head(Loop& loop, const Names& names) {
    constexpr std::string_view kForm = "$for NAME in range(N), or $for NAME in (a, b, c)";
    const std::string_view head = current_->rest;
    const std::string_view name = leading_name(head);
    const std::string_view after_name = trim(head.substr(name.size()));
    const std::string_view values = after_name.starts_with("in") ? trim(after_name.substr(2)) : std::string_view{};
    const bool is_range = values.starts_with("range(");
    if (!is_name(name) || !(is_range || values.starts_with('(')) || !values.ends_with(')')) {
      report(head.empty() ? keyword_place() : place(head), "a loop that qgen cannot read", std::string(kForm));
      return std::nullopt;
    }
    if (const Symbol* taken = names.in_directive.find(name)) {
      report(place(name), fmt::format("'{}' is a {} already", name, taken->kind.empty() ? "name" : taken->kind), "another name");
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
    std::vector<std::string_view> items;
    for (size_t begin = 0; begin <= list.size();) {
      const size_t comma = std::min(list.find(',', begin), list.size());
      items.push_back(trim(list.substr(begin, comma - begin)));
      begin = comma + 1;
    }
    for (const std::string_view item : items) {
      const bool is_word = is_name(item) && item != "true" && item != "false" && !names.in_directive.find(item);
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
      if (!is_word) add_words_of(item, names, variable);
      loop.values.push_back(std::move(*value));
    }
  }

  // A parameter among the values brings all the words that it may be.
  static void add_words_of(std::string_view item, const Names& names, Symbol& variable) {
    if (const Symbol* symbol = names.in_directive.find(item)) {
      variable.words.insert(variable.words.end(), symbol->words.begin(), symbol->words.end());
    }
  }

  void parse_require(Block& block, const Names& names) {
    if (auto required = condition(names)) block.push_back({Requirement{std::move(*required)}});
  }

  void parse_include(Block& block) {
    const std::string_view quoted = current_->rest;
    if (quoted.size() < 2 || !quoted.starts_with('"') || quoted.find('"', 1) != quoted.size() - 1) {
      return report(quoted.empty() ? keyword_place() : place(quoted), "an include without a quoted path",
                    "$include \"lib/name.glsl\"");
    }
    const std::string_view path = quoted.substr(1, quoted.size() - 2);
    if (!check_path(path)) return;
    const auto found = whole_.templates_.find(path);
    if (found == whole_.templates_.end()) {
      return report(place(path), fmt::format("there is no template '{}'", path), "",
                    suggest(path, whole_.paths()));
    }
    if (!check_chain(found->second, path)) return;
    whole_.parse_file(found->second, {index_, line_number_});
    block.push_back({Include{whole_.file_indices_.find(path)->second, line_number_}});
  }

  bool check_path(std::string_view path) {
    if (path.find("${") != path.npos) {
      report(place(path), "the path of an include is fixed", "a path",
             "write an $include in each branch of an $if");
      return false;
    }
    const bool climbs = path == ".." || path.starts_with("../") || path.ends_with("/..") || path.find("/../") != path.npos;
    if (!climbs && !path.starts_with('/') && path.find('\\') == path.npos) return true;
    report(place(path), fmt::format("'{}' leaves the template root", path), "a path below the root, with '/' between its parts");
    return false;
  }

  bool check_chain(const TemplateFile& file, std::string_view path) {
    const auto& open = whole_.open_;
    const auto cycle = std::find(open.begin(), open.end(), &file);
    if (cycle != open.end()) {
      std::string chain;
      for (auto at = cycle; at != open.end(); ++at) chain += (*at)->path + " -> ";
      report(place(path), fmt::format("a template includes itself: {}{}", chain, path));
      return false;
    }
    if (open.size() < kMaxIncludeDepth) return true;
    report(place(path), fmt::format("includes are nested deeper than {}", kMaxIncludeDepth));
    return false;
  }

  // ---- text

  void add_text(Block& block, const Names& names) {
    if (line_.find('\0') != line_.npos || line_.find('\x01') != line_.npos) {
      return report(place(line_.substr(0, 0)), "the line holds a control character");
    }
    whole_.has_version_ |= trim(line_).starts_with("#version");
    if (line_.find("${") != line_.npos) return add_pieces(block, names);
    if (block.empty() || !std::holds_alternative<Text>(block.back().what)) block.push_back({Text{"", line_number_, 0}});
    Text& text = std::get<Text>(block.back().what);
    text.lines.append(line_).append(1, '\n');
    ++text.line_count;
  }

  void add_pieces(Block& block, const Names& names) {
    Pieces pieces;
    pieces.line = line_number_;
    std::string_view rest = line_;
    while (true) {
      const size_t open = std::min(rest.find("${"), rest.size());
      if (open > 0) pieces.pieces.emplace_back(std::string(rest.substr(0, open)));
      rest.remove_prefix(open);
      if (rest.empty()) break;
      const size_t close = rest.find('}');
      if (close == rest.npos) return report(place(rest), "'${' has no '}' on its line");
      const std::string_view inside = rest.substr(2, close - 2);
      if (auto filled = substitution(inside, names)) pieces.pieces.emplace_back(std::move(*filled));
      rest.remove_prefix(close + 1);
    }
    block.push_back({std::move(pieces)});
  }

  std::optional<Substitution> substitution(std::string_view inside, const Names& names) {
    SourceLocation start = place(inside);
    if (auto declaration = parse_declaration(inside, start, whole_.spec_, names)) {
      if (!*declaration) return add_errors(declaration->error()), std::nullopt;
      whole_.used_.merge(names_used(**declaration, whole_.spec_, names));
      for (const Expression& argument : arguments_of(**declaration)) check_known(argument, names, InText::yes);
      return Substitution{std::move(**declaration), start};
    }
    if (report_unknown_function(inside, names)) return std::nullopt;
    auto parsed = expression::parse(inside, start, names.in_text);
    if (!parsed) return add_errors(with_constant_hint(parsed.error(), inside, names)), std::nullopt;
    check_known(*parsed, names, InText::yes);
    return Substitution{std::move(*parsed), start};
  }

  // The expression room does not know the declarations, and so could not list or suggest them.
  bool report_unknown_function(std::string_view inside, const Names& names) {
    const std::string_view call = trim(inside);
    const std::string_view name = leading_name(call);
    if (name.empty() || !trim(call.substr(name.size())).starts_with('(')) return false;
    std::vector<std::string> known = {"bytes", "ceil_div", "max", "min", "packed"};
    for (const auto& function : names.in_text.functions()) known.push_back(function.name);
    constexpr std::array<std::string_view, 5> kOperators = {"and", "or", "not", "in", ""};
    if (std::find(known.begin(), known.end(), name) != known.end()) return false;
    if (std::find(kOperators.begin(), kOperators.end(), name) != kOperators.end()) return false;
    const auto declarations = strings(declaration_names());
    if (std::find(declarations.begin(), declarations.end(), name) != declarations.end()) {
      report(place(call), fmt::format("'{}(...)' stands alone in its ${{}}", name));
      return true;
    }
    known.insert(known.end(), declarations.begin(), declarations.end());
    report(place(name), fmt::format("unknown function '{}'", name), "one of " + join_sorted(known), suggest(name, known));
    return true;
  }

  // `${2 * workgroup}` fails, since a constant is a text here; the way out is not plain from that alone.
  static Diagnostics with_constant_hint(Diagnostics errors, std::string_view inside, const Names& names) {
    const auto as_number = expression::parse(inside, {}, names.in_directive);
    if (!as_number) return errors;
    for (const size_t index : expression::symbols_of(*as_number)) {
      if (names.roles[index] != Role::specialization) continue;
      errors.front().hint = fmt::format("'{0}' is a specialization constant, and GLSL computes with it: write ${{{0}}} alone",
                                        names.in_text.symbols()[index].name);
    }
    return errors;
  }

  TemplateParser& whole_;
  const TemplateFile& file_;
  const uint32_t index_;
  std::string_view rest_;
  std::string_view line_;
  uint32_t line_number_ = 0;
  std::optional<Directive> current_;  // of line_
  size_t forgiven_ends_ = 0;          // one for each unknown directive
};

void TemplateParser::parse_file(const TemplateFile& file, LineOrigin included_at) {
  const auto index = static_cast<uint32_t>(body_->files.size());
  if (!file_indices_.emplace(file.path, index).second) return;
  body_->files.push_back({file.display, {}, included_at});
  open_.push_back(&file);
  Block block = FileParser(*this, file, index).parse();
  open_.pop_back();
  body_->files[index].block = std::move(block);
}

}  // namespace

const std::vector<std::string>& Template::files() const { return body_->file_names; }

Result<Template> parse_template(const spec::Spec& spec, const TemplateSet& templates) {
  return TemplateParser(spec, templates).parse();
}

}  // namespace qgen::render
