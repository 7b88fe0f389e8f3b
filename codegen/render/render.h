// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// template + variant -> GLSL, with a map back to the template's lines. templates/README.md is the language.
//
// A template is parsed once per spec, with the names of that spec. All its errors are found then. Rendering a variant
// only goes through the checked blocks.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/expand/variant.h"
#include "codegen/spec/spec.h"

namespace qgen::render {

// Template files by path relative to their root ("lib/affine.glsl"), all read beforehand: rendering touches no disk.
// Where two roots hold one path, the first root wins.
struct TemplateFile {
  std::string path;     // relative to its root, '/'-separated
  std::string display;  // as diagnostics name it: root joined with path
  std::string text;
  bool is_of_first_root = true;
};
using TemplateSet = std::map<std::string, TemplateFile, std::less<>>;

struct LineOrigin {
  uint32_t file = 0;  // index into Rendered::files
  uint32_t line = 0;
};

struct SourceFile {
  std::string display;     // TemplateFile::display, or the spec
  LineOrigin included_at;  // the first place; line 0: it was not included
};

struct Rendered {
  std::string text;                 // GLSL
  std::vector<LineOrigin> origins;  // one a line of `text`
  std::vector<SourceFile> files;    // the template first, then its includes, last the spec
};

// A template checked against one spec. Cheap to copy.
class Template {
 public:
  struct Body;
  explicit Template(std::shared_ptr<const Body> body) : body_(std::move(body)) {}
  const Body& body() const { return *body_; }
  // The display names of the template and everything it includes, for depfiles: sorted.
  const std::vector<std::string>& files() const;

 private:
  std::shared_ptr<const Body> body_;
};

// Which file gives a name, by its $gives: for hints.
using Givers = std::map<std::string, std::string, std::less<>>;  // a name: one file that gives it, or a part of one
Givers givers_among(const TemplateSet& templates);

// `roots` are the folders of the templates, for errors about missing files. `givers` of these templates: a caller with
// many specs computes them once.
Result<Template> parse_template(const spec::Spec& spec, const TemplateSet& templates,
                                std::span<const std::string> roots = {}, std::shared_ptr<const Givers> givers = {});

// Errors: a $require that fails for this variant, an impossible argument of a function, more than 4096 rounds of a
// loop, text over 4 MiB. gather() of blame.h joins the errors of many variants.
Result<Rendered> render(const Template& parsed, const spec::Spec& spec, const expand::Variant& variant);

// The rendered text without comments, blank lines and surplus blanks. The compiler's grammar sees only this, so it is
// the key of the cache. The same tokens in the same order; preprocessor lines stay lines. A text that uses __LINE__ is
// returned unchanged.
std::string without_comments(std::string_view glsl);

}  // namespace qgen::render
