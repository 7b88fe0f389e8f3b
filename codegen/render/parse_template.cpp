// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One template and all that it includes. Every fault is reported, and each once.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/render/blame.h"
#include "codegen/render/directive.h"
#include "codegen/render/glsl_names.h"
#include "codegen/render/parse_state.h"
#include "codegen/spec/axes.h"

namespace qgen::render {
namespace {

// Of a record one field is enough: the others may matter to the spec's expressions alone. `offset` is where the names
// of these axes begin.
void report_unused(ParseState& state, const std::vector<spec::Axis>& axes, size_t offset) {
  for (const spec::AxisGroup& group : spec::groups_of(axes)) {
    const size_t first = offset + group.first;
    const auto next = state.used.lower_bound(first);
    if (next != state.used.end() && *next < first + group.axes.size()) continue;
    const expression::Symbol& symbol = state.names.in_directive.symbols()[first];
    state.errors.push_back(
        {symbol.declared,
         fmt::format("no line of '{}' uses {} '{}'", state.spec.template_path->value, symbol.kind, group.name()),
         "",
         "use it, or remove it from the spec: every value would give the same kernel",
         {}});
  }
}

void report_unused(ParseState& state, const std::vector<spec::PipelineConstant>& constants) {
  for (size_t i = 0; i < constants.size(); ++i) {
    if (state.used.contains(place_of_constant(state.spec, state.spec.specialization.size() + i))) continue;
    state.errors.push_back(
        {constants[i].name.where,
         fmt::format("no line of '{}' uses constant '{}'", state.spec.template_path->value, constants[i].name.value),
         "",
         "use it, or remove it from the spec: every value would give the same pipeline",
         {}});
  }
}

// A file may use what the files give that its includes include.
void close_over_includes(std::vector<std::set<uint32_t>>& included) {
  for (size_t changes = 1; changes > 0;) {
    changes = 0;
    for (std::set<uint32_t>& files : included) {
      const size_t before = files.size();
      for (const uint32_t file : std::vector<uint32_t>(files.begin(), files.end()))
        files.insert(included[file].begin(), included[file].end());
      changes += files.size() - before;
    }
  }
}

// The data of a rendering besides the blocks.
void finish(ParseState& state) {
  Template::Body& body = *state.body;
  body.names = state.names;
  for (size_t i = 0; i < state.names.roles.size(); ++i) {
    if (state.names.roles[i] == Role::specialization && state.used.contains(i)) {
      body.constants.push_back(state.names.role_index[i]);
    }
  }
  close_over_includes(body.included);
  std::set<std::string> displays;  // a file may be here with several parts
  for (const SourceFile& file : body.files) displays.insert(file.display);
  body.file_names.assign(displays.begin(), displays.end());
}

}  // namespace

void report(ParseState& state, uint32_t file, Diagnostic diagnostic) {
  add_include_notes(state.body->files, file, diagnostic);
  state.errors.push_back(std::move(diagnostic));
}

void report(ParseState& state, uint32_t file, SourceLocation where, std::string message, std::string expected,
            std::string hint) {
  report(state, file, Diagnostic{std::move(where), std::move(message), std::move(expected), std::move(hint), {}});
}

Diagnostic no_template(const ParseState& state, std::string_view path, const SourceLocation& where) {
  std::vector<std::string> paths;
  for (const auto& [known, file] : state.templates) paths.push_back(known);
  Diagnostic error{where, fmt::format("there is no template '{}'", path), "", suggest(path, paths), {}};
  const std::string searched = state.roots.empty() ? "no folder of templates was found"
                                                   : fmt::format("searched below {}", fmt::join(state.roots, ", "));
  error.notes.emplace_back().message =
      searched + "; --templates DIR names one more, such as the share/qgen/templates of an installed qgen";
  return error;
}

Givers givers_among(const TemplateSet& templates) {
  Givers givers;
  for (const auto& [path, file] : templates) {
    std::string_view rest = file.text;
    std::string giver = file.display;
    while (!rest.empty()) {
      const auto directive = directive_of(take_line(rest));
      if (directive && directive->keyword == "part")
        giver = fmt::format("part '{}' of {}", directive->rest, file.display);
      if (!directive || directive->keyword != "gives") continue;
      if (const auto signature = signature_of(directive->rest)) givers.emplace(signature->name, giver);
    }
  }
  return givers;
}

const std::vector<std::string>& Template::files() const { return body_->file_names; }

Result<Template> parse_template(const spec::Spec& spec, const TemplateSet& templates,
                                std::span<const std::string> roots, std::shared_ptr<const Givers> givers) {
  ParseState state{spec, templates, roots, names_of(spec)};
  const auto& wanted = *spec.template_path;
  const auto found = templates.find(wanted.value);
  if (found == templates.end()) {
    state.errors.push_back(no_template(state, wanted.value, wanted.where));
    return std::move(state.errors);
  }
  state.body->environment_size = state.names.roles.size();
  parse_file(state, found->second, {}, {});
  if (!state.has_version) {
    report(state, 0, {found->second.display, 1, 1, 0}, "the template has no #version line", "#version 450");
  }
  if (!state.errors.empty()) return std::move(state.errors);
  report_unused(state, spec.parameters, 0);
  report_unused(state, spec.specialization, spec.parameters.size());
  report_unused(state, spec.constants);
  if (!state.errors.empty()) return std::move(state.errors);
  finish(state);
  state.body->givers = givers ? std::move(givers) : std::make_shared<const Givers>(givers_among(templates));
  return Template(state.body);
}

}  // namespace qgen::render
