// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/render/blame.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace qgen::render {
namespace {

struct Shared {
  const VariantErrors* first = nullptr;  // by id
  const Diagnostic* error = nullptr;
  size_t count = 0;
};

void add_note(Diagnostic& diagnostic, std::string file, uint32_t line, std::string message) {
  Note note;
  note.where.file = std::move(file);
  note.where.line = line;
  note.message = std::move(message);
  diagnostic.notes.push_back(std::move(note));
}

std::string variants_text(const Shared& shared) {
  const std::string described =
      shared.first->description.empty() ? "" : fmt::format(" ({})", shared.first->description);
  const std::string others = shared.count == 1 ? "" : fmt::format(", and in {} more", shared.count - 1);
  return fmt::format("in variant {}{}{}", shared.first->id, described, others);
}

}  // namespace

void add_include_notes(std::span<const SourceFile> files, uint32_t file, Diagnostic& diagnostic) {
  for (LineOrigin at = files[file].included_at; at.line != 0; at = files[at.file].included_at) {
    add_note(diagnostic, files[at.file].display, at.line, "included here");
  }
}

Diagnostic blame(const Rendered& rendered, uint32_t line, std::string message) {
  Diagnostic diagnostic;
  diagnostic.message = std::move(message);
  if (line == 0 || line > rendered.origins.size()) {
    // The compiler may speak of the end of the text, a line past the last.
    const bool is_end = line > rendered.origins.size() && !rendered.origins.empty();
    diagnostic.where.file = rendered.files.front().display;
    if (is_end) diagnostic.message += " (at the end of the text)";
    return diagnostic;
  }
  const LineOrigin origin = rendered.origins[line - 1];
  diagnostic.where.file = rendered.files[origin.file].display;
  diagnostic.where.line = origin.line;
  add_include_notes(rendered.files, origin.file, diagnostic);
  return diagnostic;
}

Diagnostics gather(std::span<const VariantErrors> variants) {
  std::map<std::tuple<SourceLocation, std::string, std::string, std::string>, Shared> shared;
  for (const VariantErrors& variant : variants) {
    for (const Diagnostic& error : variant.errors) {
      Shared& one = shared[{error.where, error.message, error.expected, error.hint}];
      ++one.count;
      if (one.first && one.first->id <= variant.id) continue;
      one.first = &variant;
      one.error = &error;
    }
  }
  Diagnostics gathered;
  for (const auto& [key, one] : shared) {
    Diagnostic error = *one.error;
    add_note(error, "", 0, variants_text(one));
    std::rotate(error.notes.begin(), error.notes.end() - 1, error.notes.end());
    gathered.push_back(std::move(error));
  }
  return gathered;
}

}  // namespace qgen::render
