// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The state that all files of a template share while they are parsed. Private to this room, as are these steps:
//
//   parse_template.cpp      one template and all that it includes: names that no line uses, a missing #version
//   parse_file.cpp          the lines of a file -> blocks
//   parse_expressions.cpp   what stands in a directive or in ${...}
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "codegen/render/body.h"
#include "codegen/render/render.h"

namespace qgen::render {

struct ParseState {
  const spec::Spec& spec;
  const TemplateSet& templates;
  const std::span<const std::string> roots;  // that the templates came from
  const Names names;
  std::shared_ptr<Template::Body> body = std::make_shared<Template::Body>();
  std::map<std::string, uint32_t, std::less<>> file_indices = {};  // by path
  std::vector<const TemplateFile*> open = {};                      // the chain of includes being parsed
  std::set<size_t> used = {};                                      // names, by their place in `names`
  bool has_version = false;
  Diagnostics errors = {};
};

// A fault in body->files[file], with the includes that led there as notes.
void report(ParseState& state, uint32_t file, Diagnostic diagnostic);
void report(ParseState& state, uint32_t file, SourceLocation where, std::string message, std::string expected = {},
            std::string hint = {});

// A path that no template has: the searched folders, and a hint.
Diagnostic no_template(const ParseState& state, std::string_view path, const SourceLocation& where);

// A file and all that it includes into body->blocks, unless it is there. `included_at`: line 0 is nowhere.
void parse_file(ParseState& state, const TemplateFile& file, LineOrigin included_at);

// The expressions that stand in one file. Reports their errors; then there is no result.
class ExpressionReader {
 public:
  ExpressionReader(ParseState& state, uint32_t file) : state_(state), file_(file) {}

  // In a directive: evaluated when a variant is rendered, so only names that have values then.
  std::optional<expression::Expression> in_directive(std::string_view text, const SourceLocation& where,
                                                     const Names& names, std::optional<expression::Type> wanted);

  // The text between ${ and }: an expression, or a declaration.
  std::optional<Substitution> in_text(std::string_view text, const SourceLocation& where, const Names& names);

 private:
  enum class Place : bool { directive, text };

  void note_uses(const expression::Expression& expression, const Names& names, Place place);
  void check_use(const expression::SymbolUse& use, const Names& names, Place place);
  bool report_unknown_function(std::string_view text, const SourceLocation& where, const Names& names);
  void report_all(Diagnostics errors);

  ParseState& state_;
  uint32_t file_;
};

}  // namespace qgen::render
