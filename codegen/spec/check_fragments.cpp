// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Checks each fragment alone: its name, its interface, and that a spec uses it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "codegen/expression/expression.h"
#include "codegen/spec/check_spec.h"
#include "codegen/spec/fragments.h"
#include "codegen/spec/make_error.h"

namespace qgen::spec {

Diagnostics Fragments::check_names() const {
  Diagnostics errors;
  std::map<std::string, SourceLocation> seen;
  for (const Fragment& fragment : all_) {
    const YamlNode& name = fragment.root.find("fragment")->value;
    append(errors, check_file_name({name.text, name.where}, fragment.file));
    const auto [first, is_new] = seen.emplace(name.text, name.where);
    if (is_new) continue;
    Diagnostic error = make_error(name.where, fmt::format("'{}' is the name of two fragments", name.text));
    error.notes.push_back({first->second, "the other is here"});
    errors.push_back(std::move(error));
  }
  return errors;
}

namespace {

// Texts below a node, without those of keys.
void add_names(const YamlNode& node, std::set<std::string, std::less<>>& names) {
  const std::string_view text = node.text;
  for (std::string name : expression::names_in(text.starts_with('$') ? text.substr(1) : text)) {
    names.insert(name);
    names.insert(name.substr(0, name.find('.')));
  }
  for (const YamlNode& item : node.items) add_names(item, names);
  for (const YamlEntry& entry : node.entries) add_names(entry.value, names);
}

// The names that a fragment reads, and more: every text at a position where a name is possible.
std::set<std::string, std::less<>> names_read(const YamlNode& root) {
  std::set<std::string, std::less<>> names;
  for (const YamlEntry& section : root.entries) {
    const bool is_read = !is_interface(section.key.text) && section.key.text != "fit";
    if (is_read) add_names(section.value, names);
  }
  if (const YamlEntry* takes = root.find(kTakes)) {
    for (const YamlEntry& take : takes->value.entries) {
      if (const YamlEntry* otherwise = take.value.find("default")) add_names(otherwise->value, names);
    }
  }
  return names;
}

bool declares(const YamlNode& root, std::initializer_list<std::string_view> sections, std::string_view name) {
  return std::ranges::any_of(sections, [&](std::string_view key) {
    const YamlEntry* section = root.find(key);
    return section != nullptr && section->value.find(name) != nullptr;
  });
}

bool lists(const YamlEntry* list, std::string_view name) {
  return list != nullptr && std::ranges::find(list->value.items, name, [](const YamlNode& item) -> std::string_view {
                              return item.text;
                            }) != list->value.items.end();
}

Diagnostics check_interface(const YamlNode& root) {
  Diagnostics errors;
  const std::string& fragment = root.find("fragment")->value.text;
  if (const YamlEntry* gives = root.find(kGives)) {
    for (const YamlNode& name : gives->value.items) {
      if (declares(root, {"define", "fit"}, name.text)) continue;
      errors.push_back(make_error(name.where,
                                  fmt::format("'{}' gives '{}', and does not define it", fragment, name.text),
                                  "a name of 'define' or 'fit'", "all others are the spec's without it"));
    }
  }
  const YamlEntry* takes = root.find(kTakes);
  if (takes == nullptr) return errors;
  const auto read = names_read(root);
  for (const YamlEntry& take : takes->value.entries) {
    const std::string& name = take.key.text;
    if (declares(root, {"problem", "parameters", "specialization", "constants", "fit", "define"}, name)) {
      errors.push_back(make_error(take.key.where, fmt::format("'{}' takes '{}', and declares it too", fragment, name)));
    } else if (!read.contains(name)) {
      errors.push_back(make_error(take.key.where, fmt::format("'{}' takes '{}', and never reads it", fragment, name)));
    }
  }
  return errors;
}

}  // namespace

Diagnostics Fragments::check_interfaces() const {
  Diagnostics errors;
  for (const Fragment& fragment : all_) append(errors, check_interface(fragment.root));
  return errors;
}

std::string Fragments::givers_of(std::string_view name) const {
  std::vector<std::string> givers;
  for (const Fragment& fragment : all_) {
    if (declares(fragment.root, {"problem", "parameters", "specialization"}, name) ||
        lists(fragment.root.find(kGives), name))
      givers.push_back(fragment.root.find("fragment")->value.text);
  }
  return fmt::format("{}", fmt::join(givers, " and "));
}

Diagnostics Fragments::check_use() const {
  Diagnostics errors;
  for (const Fragment& fragment : all_) {
    const YamlNode& name = fragment.root.find("fragment")->value;
    if (fragment.taken.empty()) {
      errors.push_back(
          make_error(name.where, fmt::format("no spec uses fragment '{}'", name.text), "", "name it, or delete it"));
      continue;
    }
    const auto check = [&](const YamlNode& key, const std::string& taken_as) {
      if (fragment.taken.count(taken_as) != 0) return;
      errors.push_back(make_error(key.where, fmt::format("no spec uses '{}' of fragment '{}'", key.text, name.text)));
    };
    for (const YamlEntry& entry : fragment.root.entries) {
      if (entry.key.text == kLists) {
        for (const YamlEntry& list : entry.value.entries) check(list.key, list_key(list.key.text));
      } else if (!is_interface(entry.key.text)) {
        check(entry.key, entry.key.text);
      }
    }
  }
  return errors;
}

}  // namespace qgen::spec
