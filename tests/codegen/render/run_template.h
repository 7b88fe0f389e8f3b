// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A spec and its templates through the rooms from spec to compile, for tests of an author's view.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "codegen/compile/compile.h"
#include "codegen/expand/variant.h"
#include "codegen/render/blame.h"
#include "codegen/spec/parse_spec.h"

namespace qgen::tests {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline const std::vector<std::string> kTemplateRoots = {"templates"};

inline void add_template(render::TemplateSet& templates, const std::string& path, std::string text) {
  templates[path] = {path, "templates/" + path, std::move(text)};
}

struct Run {
  std::string errors;                           // as an author reads them
  std::map<std::string, std::string> rendered;  // by variant id
  size_t modules = 0;                           // compiled
};

inline Run run(const std::string& spec_file, const std::string& spec_text, const render::TemplateSet& templates) {
  Run result;
  SourceTexts sources{{spec_file, spec_text}};
  for (const auto& [path, file] : templates) sources[file.display] = file.text;
  const auto fail = [&](const Diagnostics& errors) {
    result.errors = to_text(errors, sources);
    return result;
  };

  const auto spec = spec::parse_spec(spec_text, spec_file);
  if (!spec) return fail(spec.error());
  const auto variants = expand::expand(*spec, 1000);
  if (!variants) return fail(variants.error());
  const auto parsed = render::parse_template(*spec, templates, kTemplateRoots);
  if (!parsed) return fail(parsed.error());

  std::vector<render::VariantErrors> errors;
  for (const expand::Variant& variant : *variants) {
    render::VariantErrors mine{variant.id, expand::describe(*spec, variant), {}};
    const auto rendered = render::render(*parsed, *spec, variant);
    if (!rendered) {
      mine.errors = rendered.error();
    } else {
      result.rendered[variant.id] = rendered->text;
      const auto spirv = compile::compile(rendered->text, compile::Optimization::none);
      if (spirv) ++result.modules;
      else
        for (const auto& message : spirv.error()) mine.errors.push_back(blame(*rendered, message.line, message.text));
    }
    if (!mine.errors.empty()) errors.push_back(std::move(mine));
  }
  return fail(render::gather(errors));
}

}  // namespace qgen::tests
