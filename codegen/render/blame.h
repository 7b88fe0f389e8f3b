// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Turns faults of many variants into one report per fault. A fault of a template shows in each variant with this line,
// but its author has to read and correct it once:
//
//   templates/row_softmax.comp:42: error: 'acc': undeclared identifier
//     in variant row_softmax.f32.vec4 (dtype=f32 vec=4), and in 11 more
#pragma once

#include <span>
#include <string>

#include "codegen/render/render.h"

namespace qgen::render {

// A fault of the rendered text, at the template's line that made it; line 0 is the text as a whole. In an included file
// the includes that led there are noted.
Diagnostic blame(const Rendered& rendered, uint32_t line, std::string message);

// Notes where files[file] was included from, outermost last.
void add_include_notes(std::span<const SourceFile> files, uint32_t file, Diagnostic& diagnostic);

struct VariantErrors {
  std::string id;           // "row_softmax.f32.vec4"
  std::string description;  // "dtype=f32 vec=4"
  Diagnostics errors;       // of blame(), of render(), of any room that looks at one variant
};

// Equal errors become one, which names its first variant (by id) and counts the others.
Diagnostics gather(std::span<const VariantErrors> variants);

}  // namespace qgen::render
