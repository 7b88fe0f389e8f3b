// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// $needs and $gives of the files of one rendering, against what its text declares and uses. Private to this room.
// templates/README.md has the rules.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/render/body.h"
#include "codegen/render/glsl_names.h"

namespace qgen::render {

class Interfaces {
 public:
  Interfaces(const Template::Body& body, const Rendered& rendered)
      : body_(body), rendered_(rendered), needed_(body.files.size()), given_(body.files.size()) {}

  enum class Found : uint8_t { yes, no, differs };

  // The text so far declares names of the spec until end_declaration(): operands, fields. Every file may use them.
  void begin_declaration() { read(); }
  void end_declaration() { names_.skip(rendered_.text, rendered_.origins); }

  // Whether the text so far declares what a file needs. It may be declared later too, if GLSL allows it.
  Found need(uint32_t file, const GlslSignature& wanted, const SourceLocation& where);
  // A file lets others use this.
  void give(uint32_t file, const GlslSignature& given, const SourceLocation& where);

  // Of the whole text:
  //   needs of what the file uses and nothing declares
  //   gifts that the file declares with another type
  //   uses of names that the file neither declares nor needs, and that no file gives that it includes
  //   uses of names that another file keeps to itself
  Diagnostics faults();

 private:
  struct Line {
    uint32_t file = 0;
    GlslSignature signature;
    SourceLocation where;
  };

  const GlslNames& read();
  using Definitions = std::vector<const GlslDefinition*>;
  Definitions definitions_of(std::string_view name) const;
  Definitions definitions_of(std::string_view name, uint32_t file) const;
  std::optional<Diagnostic> fault_of_need(const Line& need) const;
  std::optional<Diagnostic> fault_of_gift(const Line& gift) const;
  std::optional<Diagnostic> fault_of_use(uint32_t file, const std::string& name, LineOrigin where) const;
  const std::string& display_of(const GlslDefinition& definition) const;
  Diagnostic at(uint32_t file, SourceLocation where, std::string message, std::string hint = {}) const;

  const Template::Body& body_;
  const Rendered& rendered_;
  GlslNames names_;
  std::vector<Line> needs_, gifts_;
  std::vector<std::set<std::string, std::less<>>> needed_, given_;  // by file
};

}  // namespace qgen::render
