// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Renders a parsed template. It is bounded whatever the template says: by the rounds of a loop, by the items visited,
// by the bytes written.
//
// Declarations of specialization constants go before the first line of GLSL proper: after #version, every #extension
// and #define at the top, and comments. Where that line stands within an #if, they go before the outermost #if.
#include "codegen/render/render.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/render/blame.h"
#include "codegen/render/body.h"
#include "codegen/render/directive.h"
#include "codegen/render/glsl.h"
#include "codegen/render/interfaces.h"

namespace qgen::render {
namespace {

using expression::Expression;
using expression::Value;

constexpr size_t kMaxBytes = size_t{4} << 20;
constexpr int64_t kMaxRounds = 4096;
constexpr size_t kMaxVisits = size_t{1} << 20;  // nested loops may write nothing and yet never end

std::string_view trim_left(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

// The line (from 0) before which declarations can stand; the count of lines if no line is GLSL proper.
size_t first_code_line(std::string_view text) {
  std::optional<size_t> outermost_if;
  size_t depth = 0;
  size_t number = 0;
  bool is_in_comment = false;
  bool is_continued = false;  // a directive that goes on after a backslash
  for (; !text.empty(); ++number) {
    std::string_view line = trim_left(take_line(text));
    while (!is_continued) {
      if (is_in_comment) {
        const size_t end = line.find("*/");
        if (end == line.npos) break;
        line = trim_left(line.substr(end + 2));
        is_in_comment = false;
      }
      if (!line.starts_with("/*")) break;
      is_in_comment = true;
      line.remove_prefix(2);
    }
    const bool is_directive = is_continued || line.starts_with('#');
    if (!is_in_comment && !is_directive && !line.empty() && !line.starts_with("//"))
      return outermost_if.value_or(number);
    if (line.starts_with("#if") && depth++ == 0) outermost_if = number;
    if (line.starts_with("#endif") && depth > 0 && --depth == 0) outermost_if.reset();
    is_continued = is_directive && line.ends_with('\\');
  }
  return number;
}

// Such as ${declare(input)}, which is alone in its line.
bool holds_declaration(const Pieces& line) {
  const auto* substitution = line.pieces.size() == 1 ? std::get_if<Substitution>(&line.pieces[0]) : nullptr;
  return substitution && std::holds_alternative<Declaration>(substitution->what);
}

class Renderer {
 public:
  Renderer(const Template::Body& body, const spec::Spec& spec, const expand::Variant& variant)
      : body_(body),
        spec_(spec),
        environment_(environment_of(body.names, spec, variant)),
        interfaces_(body, rendered_),
        has_interfaces_(std::find(body.has_interface.begin(), body.has_interface.end(), true) !=
                        body.has_interface.end()) {
    environment_.resize(body.environment_size);
    is_included_.resize(body.files.size());
  }

  Result<Rendered> render() {
    rendered_.files = body_.files;
    walk_file(0);
    if (error_.empty() && has_interfaces_) error_ = interfaces_.faults();
    if (!error_.empty()) return error_;
    insert_constants();
    return std::move(rendered_);
  }

 private:
  bool is_done() const { return !error_.empty(); }

  void fail(SourceLocation where, std::string message, std::string expected = {}, std::string hint = {}) {
    Diagnostic diagnostic{std::move(where), std::move(message), std::move(expected), std::move(hint), {}};
    add_include_notes(rendered_.files, file_, diagnostic);
    error_.push_back(std::move(diagnostic));
  }

  void walk_file(uint32_t file) {
    if (is_included_[file]) return;
    is_included_[file] = true;
    const uint32_t outer = std::exchange(file_, file);
    walk(body_.blocks[file]);
    file_ = outer;
  }

  void walk(const Block& block) {
    for (const Item& item : block) {
      if (is_done()) return;
      if (++visits_ > kMaxVisits || rendered_.text.size() > kMaxBytes) {
        return fail(
            {rendered_.files[0].display, 0, 0, 0},
            fmt::format("the rendered text exceeds {} MiB, or takes more than {} steps", kMaxBytes >> 20, kMaxVisits));
      }
      std::visit([this](const auto& what) { visit(what); }, item.what);
    }
  }

  void visit(const Text& text) {
    rendered_.text += text.lines;
    for (uint32_t i = 0; i < text.line_count; ++i) rendered_.origins.push_back({file_, text.first_line + i});
  }

  // A line that is only a declaration, and declares nothing, is no line.
  void visit(const Pieces& line) {
    auto filled = filled_in(line);
    if (!filled || (line.pieces.size() == 1 && filled->empty())) return;
    *filled += '\n';
    const bool is_declaration = has_interfaces_ && holds_declaration(line);
    if (is_declaration) interfaces_.begin_declaration();
    rendered_.text += *filled;
    rendered_.origins.insert(rendered_.origins.end(),
                             static_cast<size_t>(std::count(filled->begin(), filled->end(), '\n')), {file_, line.line});
    if (is_declaration) interfaces_.end_declaration();
  }

  // nullopt: it failed.
  std::optional<std::string> filled_in(const Pieces& line) {
    std::string text;
    for (const auto& piece : line.pieces) {
      if (const auto* literal = std::get_if<std::string>(&piece)) {
        text += *literal;
        continue;
      }
      const auto& substitution = std::get<Substitution>(piece);
      const std::string filled = text_of(substitution);
      if (const auto message = failure_message(filled))
        return fail(substitution.where, std::string(*message)), std::nullopt;
      text += filled;
    }
    return text;
  }

  std::string text_of(const Substitution& substitution) const {
    if (const auto* expression = std::get_if<Expression>(&substitution.what)) {
      return expression::to_text(expression::evaluate(*expression, environment_));
    }
    return print(std::get<Declaration>(substitution.what), spec_, environment_);
  }

  void visit(const Branches& branches) {
    for (const Branches::Branch& branch : branches.branches) {
      if (!branch.condition || is_true(*branch.condition)) return walk(*branch.block);
    }
  }

  void visit(const Loop& loop) {
    if (!loop.rounds) {
      for (const Expression& value : loop.values) run(loop, expression::evaluate(value, environment_));
      return;
    }
    const int64_t rounds = std::get<Integer>(expression::evaluate(*loop.rounds, environment_)).value;
    if (rounds > kMaxRounds) {
      return fail(loop.rounds->where(), fmt::format("the loop runs {} times", rounds),
                  fmt::format("at most {}", kMaxRounds), "leave long loops to GLSL");
    }
    for (int64_t i = 0; i < rounds && !is_done(); ++i) run(loop, Integer(i));
  }

  void run(const Loop& loop, Value value) {
    environment_[loop.variable] = std::move(value);
    if (++visits_ > kMaxVisits) {
      return fail(loop.where, fmt::format("the loops of the template take more than {} steps", kMaxVisits), "",
                  "leave long loops to GLSL");
    }
    walk(*loop.block);
  }

  void visit(const Include& include) { walk_file(include.file); }

  void visit(const Requirement& requirement) {
    if (is_true(requirement.condition)) return;
    fail(requirement.condition.where(),
         fmt::format("the template requires {}", expression::to_text(requirement.condition)), "",
         "exclude the variant in the spec, under require");
  }

  void visit(const InterfaceLine& line) {
    const auto declaration = filled_in(line.declaration);
    if (!declaration) return;
    const auto signature = signature_of(*declaration);
    if (!signature) {
      return fail(line.where, "a declaration that qgen cannot read",
                  "TYPE NAME(TYPE NAME, ...), TYPE NAME, struct NAME, or NAME alone");
    }
    if (line.kind == InterfaceLine::Kind::gives) return interfaces_.give(file_, *signature, line.where);
    const Interfaces::Found found = interfaces_.need(file_, *signature, line.where);
    if (found == Interfaces::Found::no && line.otherwise) visit(*line.otherwise);
  }

  bool is_true(const Expression& condition) const {
    return std::get<bool>(expression::evaluate(condition, environment_));
  }

  void insert_constants() {
    if (body_.constants.empty()) return;
    const auto spec_file = static_cast<uint32_t>(rendered_.files.size());
    rendered_.files.push_back({spec_.file, {}});
    const size_t line = first_code_line(rendered_.text);
    size_t offset = 0;
    for (size_t i = 0; i < line; ++i)
      offset = std::min(rendered_.text.find('\n', offset), rendered_.text.size() - 1) + 1;
    std::string declarations;
    std::vector<LineOrigin> origins;
    for (const size_t id : body_.constants) {
      const DeclaredConstant constant = declared_constant(spec_, id);
      declarations += fmt::format("layout(constant_id = {}) const {} {} = {};\n", id, constant.type,
                                  constant.name.value, constant.initial);
      origins.push_back({spec_file, constant.name.where.line});
    }
    rendered_.text.insert(offset, declarations);
    rendered_.origins.insert(rendered_.origins.begin() + static_cast<ptrdiff_t>(line), origins.begin(), origins.end());
  }

  const Template::Body& body_;
  const spec::Spec& spec_;
  std::vector<Value> environment_;
  Rendered rendered_;
  Interfaces interfaces_;  // of rendered_
  const bool has_interfaces_;
  std::vector<bool> is_included_;  // by file
  uint32_t file_ = 0;
  size_t visits_ = 0;
  Diagnostics error_;  // the first ends the rendering
};

}  // namespace

Result<Rendered> render(const Template& parsed, const spec::Spec& spec, const expand::Variant& variant) {
  return Renderer(parsed.body(), spec, variant).render();
}

}  // namespace qgen::render
