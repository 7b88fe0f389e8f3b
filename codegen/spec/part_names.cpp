// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/spec/part_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/spec/words.h"

namespace qgen::spec {
namespace {

using expression::Names;

constexpr std::string_view kDefineKey = "define", kFitKey = "fit";

// A definition on its way into the merged spec.
struct Definition {
  YamlEntry entry;
  bool is_written;                                // otherwise it is an argument of a fragment, or a default
  std::set<std::string, std::less<>> reads = {};  // names of the merged spec
  bool is_placed = false;
};

class NameSettler {
 public:
  NameSettler(YamlNode& root, const std::vector<Part>& parts) : root_(root), parts_(parts) {
    result_.of_part.resize(parts.size());
  }

  PartNames run() {
    for (std::string_view key : {"operands", "constants"}) {
      for (const YamlEntry& entry : entries(key)) taken_.insert(entry.key.text);
    }
    for (const YamlEntry& entry : entries("problem")) declare(entry.key, entry.key.text);
    for (std::string_view key : {"parameters", "specialization"}) {
      for (const YamlEntry& entry : entries(key)) declare_axis(entry);
    }
    for (std::string_view key : {kFitKey, kDefineKey}) {
      for (const YamlEntry& entry : entries(key)) {
        if (!is_private(entry.key)) declare(entry.key, entry.key.text);
      }
    }
    for (std::string_view key : {kFitKey, kDefineKey}) {
      for (YamlEntry& entry : entries(key)) {
        if (is_private(entry.key)) hide(entry.key);
      }
    }
    for (size_t part = 1; part < parts_.size(); ++part) {
      for (const Take& take : parts_[part].takes) bind(part, take);
    }
    place_definitions();
    return std::move(result_);
  }

 private:
  std::vector<YamlEntry>& entries(std::string_view key) {
    static std::vector<YamlEntry> none;
    const auto section = std::ranges::find(root_.entries, key,
                                           [](const YamlEntry& entry) -> const std::string& { return entry.key.text; });
    return section == root_.entries.end() ? none : section->value.entries;
  }

  // ---- what is declared

  // Declares a name that the spec and the declaring part may read.
  void declare(const YamlNode& key, const std::string& name) {
    taken_.insert(name);
    result_.of_part[0].emplace(name, name);
    result_.of_part[key.part].emplace(name, name);
  }

  // C++ and GLSL call a field of a record `tile_m`, and no word may be the name of something else.
  void declare_axis(const YamlEntry& axis) {
    declare(axis.key, axis.key.text);
    for (const YamlNode& value : axis.value.items) {
      taken_.insert(value.text);
      for (const YamlEntry& field : value.entries) {
        declare(axis.key, fmt::format("{}.{}", axis.key.text, field.key.text));
        taken_.insert(fmt::format("{}_{}", axis.key.text, field.key.text));
        taken_.insert(field.value.text);
      }
    }
  }

  bool is_private(const YamlNode& key) const { return key.part != 0 && !parts_[key.part].gives.contains(key.text); }

  void hide(YamlNode& key) {
    std::string name = free_name(key.text, key.part);
    result_.of_part[key.part].emplace(key.text, name);
    result_.hidden.insert(name);
    key.text = std::move(name);
  }

  // The name itself, else with the fragment's before it.
  std::string free_name(const std::string& name, size_t part) {
    const std::string with_fragment = fmt::format("{}_{}", parts_[part].fragment, name);
    std::string free = name;
    for (size_t i = 1; !taken_.insert(free).second; ++i)
      free = i == 1 ? with_fragment : fmt::format("{}_{}", with_fragment, i);
    return free;
  }

  // ---- what fragments take

  void bind(size_t part, const Take& take) {
    const std::string& name = take.name.text;
    const size_t user = parts_[part].user;
    if (take.given && (calls(part, name, user, take.given->text) || define(part, name, *take.given))) return;
    if (calls(part, name, user, name)) return;
    if (take.otherwise) define(part, name, *take.otherwise);
    else result_.missing.emplace(std::pair(part, name), &take);
  }

  // Whether `theirs` is a name that the user knows, as a whole or as a record: then the part calls it `ours`.
  bool calls(size_t part, const std::string& ours, size_t user, const std::string& theirs) {
    const Names known = result_.of_part[user];
    bool is_known = false;
    for (const auto& [name, in_spec] : known) {
      const bool is_field = name.starts_with(theirs) && name.substr(theirs.size()).starts_with('.');
      if (name != theirs && !is_field) continue;
      result_.of_part[part][ours + name.substr(theirs.size())] = in_spec;
      is_known = true;
    }
    return is_known;
  }

  bool define(size_t part, const std::string& name, const YamlNode& meaning) {
    YamlNode key = meaning;
    key.text = free_name(name, part);
    result_.of_part[part][name] = key.text;
    result_.hidden.insert(key.text);
    definitions_.push_back({{std::move(key), meaning}, false});
    return true;
  }

  // ---- the order of definitions

  // The first that may stand next, again and again. Those of one file keep their order.
  void place_definitions() {
    std::vector<Definition> written;
    for (YamlEntry& entry : entries(kDefineKey)) written.push_back({std::move(entry), true});
    definitions_.insert(definitions_.begin(), written.begin(), written.end());
    if (definitions_.empty()) return;
    for (Definition& definition : definitions_) read_names(definition);
    std::vector<YamlEntry> placed;
    while (Definition* next = next_definition()) {
      next->is_placed = true;
      placed.push_back(next->entry);
    }
    for (const Definition& definition : definitions_) {  // of a circle, about which the reader of expressions complains
      if (!definition.is_placed) placed.push_back(definition.entry);
    }
    section_of_definitions().entries = std::move(placed);
  }

  void read_names(Definition& definition) const {
    const YamlNode& value = definition.entry.value;
    const Names& names = result_.of_part[value.part];
    for (const std::string& name : expression::names_in(value.text)) {
      const auto known = names.find(name);
      if (known != names.end()) definition.reads.insert(known->second);
    }
  }

  Definition* next_definition() {
    std::set<size_t> waiting;  // parts with an earlier definition that is not placed yet
    for (Definition& definition : definitions_) {
      if (definition.is_placed) continue;
      const bool is_next = !definition.is_written || !waiting.contains(definition.entry.key.part);
      if (is_next && !reads_unplaced(definition)) return &definition;
      if (definition.is_written) waiting.insert(definition.entry.key.part);
    }
    return nullptr;
  }

  bool reads_unplaced(const Definition& definition) const {
    return std::ranges::any_of(definitions_, [&](const Definition& other) {
      return !other.is_placed && definition.reads.contains(other.entry.key.text);
    });
  }

  YamlNode& section_of_definitions() {
    for (YamlEntry& entry : root_.entries) {
      if (entry.key.text == kDefineKey) return entry.value;
    }
    YamlEntry section;
    section.key.text = kDefineKey;
    section.key.where = section.value.where = root_.where;
    section.value.kind = YamlNode::Kind::map;
    root_.entries.push_back(std::move(section));
    return root_.entries.back().value;
  }

  YamlNode& root_;
  const std::vector<Part>& parts_;
  PartNames result_;
  std::set<std::string, std::less<>> taken_;
  std::vector<Definition> definitions_;
};

}  // namespace

PartNames settle_names(YamlNode& root, const std::vector<Part>& parts) { return NameSettler(root, parts).run(); }

}  // namespace qgen::spec
