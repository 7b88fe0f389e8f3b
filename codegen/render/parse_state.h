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

// Where the parts of a file begin: the text after "$part NAME".
struct Parts {
  struct Begin {
    size_t offset = 0;
    uint32_t line = 0;
  };
  std::map<std::string, Begin, std::less<>> begins;  // by name
  bool has_more = false;                             // before the first, besides comments
  bool is_text = true;
  Diagnostics faults;  // until they are reported
};

struct ParseState {
  const spec::Spec& spec;
  const TemplateSet& templates;
  const std::span<const std::string> roots;  // that the templates came from
  const Names names;
  std::shared_ptr<Template::Body> body = std::make_shared<Template::Body>();
  std::map<std::string, uint32_t, std::less<>> file_indices = {};  // by name_of()
  std::map<const TemplateFile*, Parts> parts = {};                 // of files that were looked at
  std::vector<std::string> open = {};                              // the chain of includes being parsed
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

// What an include names: lib/scaled.glsl, or a part as "lib/scaled.glsl" rows. No path has a quote.
std::string name_of(std::string_view path, std::string_view part);

const Parts& parts_of(ParseState& state, const TemplateFile& file);

// A file, or a part of one, and all that it includes into body->blocks, unless it is there. `included_at`: line 0 is
// nowhere.
void parse_file(ParseState& state, const TemplateFile& file, std::string_view part, LineOrigin included_at);

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
