// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/render/interfaces.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/render/blame.h"

namespace qgen::render {
namespace {

using Found = Interfaces::Found;

Found found(const GlslSignature& wanted, std::span<const GlslDefinition* const> definitions) {
  if (definitions.empty()) return Found::no;
  const bool matches = std::any_of(definitions.begin(), definitions.end(), [&](const GlslDefinition* definition) {
    return wanted.matches(definition->signature);
  });
  return matches ? Found::yes : Found::differs;
}

}  // namespace

const GlslNames& Interfaces::read() {
  names_.read(rendered_.text, rendered_.origins);
  return names_;
}

Interfaces::Definitions Interfaces::definitions_of(std::string_view name) const {
  Definitions all;
  const auto [first, last] = names_.definitions().equal_range(name);
  for (auto row = first; row != last; ++row) all.push_back(&row->second);
  return all;
}

Interfaces::Definitions Interfaces::definitions_of(std::string_view name, uint32_t file) const {
  Definitions all = definitions_of(name);
  std::erase_if(all, [&](const GlslDefinition* definition) { return definition->where.file != file; });
  return all;
}

Interfaces::Found Interfaces::need(uint32_t file, const GlslSignature& wanted, const SourceLocation& where) {
  read();
  needed_[file].insert(wanted.name);
  needs_.push_back({file, wanted, where});
  return found(wanted, definitions_of(wanted.name));
}

void Interfaces::give(uint32_t file, const GlslSignature& given, const SourceLocation& where) {
  given_[file].insert(given.name);
  gifts_.push_back({file, given, where});
}

Diagnostics Interfaces::faults() {
  read();
  Diagnostics faults;
  const auto add = [&](std::optional<Diagnostic> fault) {
    if (fault) faults.push_back(*std::move(fault));
  };
  for (const Line& need : needs_) add(fault_of_need(need));
  for (const Line& gift : gifts_) add(fault_of_gift(gift));
  for (const auto& [use, where] : names_.uses()) add(fault_of_use(use.first, use.second, where));
  return faults;
}

std::optional<Diagnostic> Interfaces::fault_of_need(const Line& need) const {
  const std::string& name = need.signature.name;
  if (!names_.uses().contains({need.file, name})) return std::nullopt;
  const Definitions definitions = definitions_of(name);
  const std::string says = fmt::format("{} needs '{}'", body_.files[need.file].display, need.signature.text());
  switch (found(need.signature, definitions)) {
    case Found::yes: break;
    case Found::differs:
      return at(
          need.file, need.where,
          fmt::format("{}, and {} declares '{}'", says, display_of(*definitions[0]), definitions[0]->signature.text()));
    case Found::no: {
      const auto giver = body_.givers->find(name);
      return at(need.file, need.where, says + ", which nothing declares",
                giver == body_.givers->end() ? "" : fmt::format("{} gives it", giver->second));
    }
  }
  return std::nullopt;
}

// What stands in a branch that was not taken is not declared.
std::optional<Diagnostic> Interfaces::fault_of_gift(const Line& gift) const {
  const Definitions definitions = definitions_of(gift.signature.name, gift.file);
  if (found(gift.signature, definitions) != Found::differs) return std::nullopt;
  return at(
      gift.file, gift.where,
      fmt::format("the file gives '{}' and declares '{}'", gift.signature.text(), definitions[0]->signature.text()));
}

std::optional<Diagnostic> Interfaces::fault_of_use(uint32_t file, const std::string& name, LineOrigin where) const {
  if (needed_[file].contains(name)) return std::nullopt;
  const GlslDefinition* hidden = nullptr;
  const GlslDefinition* foreign = nullptr;
  for (const GlslDefinition* definition : definitions_of(name)) {
    const uint32_t from = definition->where.file;
    if (from == file) return std::nullopt;
    if (body_.has_interface[from] && !given_[from].contains(name)) hidden = definition;
    else if (!body_.has_interface[file] || body_.included[file].contains(from)) return std::nullopt;
    else foreign = definition;
  }
  if (!foreign && !hidden) return std::nullopt;  // GLSL's own name, or the spec's
  const SourceLocation place{body_.files[file].display, where.line, 0, 0};
  if (foreign) {
    return at(file, place, fmt::format("'{}' of {} is used without $needs", name, display_of(*foreign)),
              fmt::format("write: $needs {}", foreign->signature.text()));
  }
  return at(file, place, fmt::format("'{}' is private to {}", name, display_of(*hidden)),
            fmt::format("write there: $gives {}", hidden->signature.text()));
}

const std::string& Interfaces::display_of(const GlslDefinition& definition) const {
  return body_.files[definition.where.file].display;
}

Diagnostic Interfaces::at(uint32_t file, SourceLocation where, std::string message, std::string hint) const {
  Diagnostic diagnostic{std::move(where), std::move(message), {}, std::move(hint), {}};
  add_include_notes(body_.files, file, diagnostic);
  return diagnostic;
}

}  // namespace qgen::render
