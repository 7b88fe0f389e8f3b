// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/spec/fragments.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "codegen/spec/check_spec.h"
#include "codegen/spec/make_error.h"
#include "codegen/spec/parse_spec.h"

namespace qgen::spec {

using Kind = YamlNode::Kind;

constexpr size_t kMaxParts =
    20'000;  // entries and items that a spec may be put together from: a small file stays small

// One spec on its way to a tree without fragments.
class Merger {
 public:
  explicit Merger(const Fragments& fragments) : fragments_(fragments) {}

  YamlNode merge_spec(const YamlNode& root) {
    YamlNode merged = merge_object(root, {root.find("use")}, spec_keys(), "a spec");
    const YamlEntry* of_recipes = root.find("recipes_use");
    if (of_recipes && !merged.find("recipes"))
      errors_.push_back(make_error(of_recipes->key.where, "'recipes_use' of a spec that has no recipes"));
    for (YamlEntry& section : merged.entries) {
      for (YamlEntry& entry : section.value.entries) {
        if (section.key.text == "recipes")
          entry.value = merge_object(entry.value, {of_recipes, entry.value.find("use")}, recipe_keys(), "a recipe");
        if (section.key.text == "attributes" || section.key.text == "problem") name_words(entry.value);
      }
    }
    return merged;
  }

  Fragments::Merged take(YamlNode root) {
    return {std::move(root), std::move(uses_), std::move(errors_), uses_broken_};
  }

 private:
  using Fragment = Fragments::Fragment;

  // With the fragments that the lists `uses` name; some may be null. `what` names the object for messages: "a spec".
  YamlNode merge_object(const YamlNode& node, std::initializer_list<const YamlEntry*> uses, KeyTable keys,
                        std::string_view what) {
    std::vector<const Fragment*> used;
    for (const YamlEntry* use : uses) {
      if (use == nullptr) continue;
      for (const YamlNode& name : use->value.items) {
        const Fragment* fragment = find(name);
        if (!fragment) continue;
        check_fits(*fragment, keys, name, what);
        if (std::ranges::find(used, fragment) == used.end()) used.push_back(fragment);
        else errors_.push_back(make_error(name.where, fmt::format("'{}' is used twice", name.text)));
      }
    }
    YamlNode merged = empty(node.kind, node.where);
    for (const Key& key : keys) {
      if (key.name == "use" || key.name == "recipes_use") continue;
      std::vector<const YamlEntry*> parts;
      for (const Fragment* fragment : used) add_section(*fragment, key.name, parts);
      if (const YamlEntry* own = node.find(key.name)) parts.push_back(own);
      if (!parts.empty()) merged.entries.push_back({parts.back()->key, merge_parts(parts, key)});
    }
    return merged;
  }

  static YamlNode empty(Kind kind, const SourceLocation& where) {
    YamlNode node;
    node.kind = kind;
    node.where = where;
    return node;
  }

  const Fragment* find(const YamlNode& name) {
    std::vector<std::string> names;
    for (const Fragment& fragment : fragments_.all_) {
      const YamlNode& known = fragment.root.find("fragment")->value;
      if (known.text == name.text) {
        uses_.push_back({fragment.file, {name.text, name.where}});
        return &fragment;
      }
      names.push_back(known.text);
    }
    uses_broken_ |= fragments_.broken_.count(name.text) != 0;
    if (fragments_.broken_.count(name.text) != 0) return nullptr;
    const std::string hint = suggest(name.text, names);
    errors_.push_back(
        make_error(name.where, fmt::format("no fragment of this run is named '{}'", name.text), "",
                   hint.empty() ? "fragments are files beside specs: name theirs, or their folder" : hint));
    return nullptr;
  }

  void check_fits(const Fragment& fragment, KeyTable keys, const YamlNode& name, std::string_view what) {
    for (const YamlEntry& entry : fragment.root.entries) {
      if (entry.key.text == "fragment" || find_key(keys, entry.key.text)) continue;
      Diagnostic error = make_error(
          name.where, fmt::format("'{}' holds '{}', which {} has no place for", name.text, entry.key.text, what));
      error.notes.push_back({entry.key.where, fmt::format("'{}' is given here", entry.key.text)});
      errors_.push_back(std::move(error));
    }
  }

  static void add_section(const Fragment& fragment, std::string_view key, std::vector<const YamlEntry*>& parts) {
    const YamlEntry* section = fragment.root.find(key);
    if (!section) return;
    fragment.taken.emplace(key);
    parts.push_back(section);
  }

  YamlNode merge_parts(const std::vector<const YamlEntry*>& parts, const Key& key) {
    if (key.form == Form::one || key.form == Form::tuple) {
      for (size_t i = 1; i < parts.size(); ++i) report_twice(parts[i]->key, parts[i - 1]->key);
      return parts.back()->value;
    }
    YamlNode merged = empty(key.form == Form::list ? Kind::list : Kind::map, parts.back()->value.where);
    for (const YamlEntry* part : parts) {
      if (key.form == Form::list) {
        for (const YamlNode& item : part->value.items) {
          if (has_room(item)) merged.items.push_back(item);
        }
      } else {
        add_part(part->value, key, merged);
      }
    }
    return merged;
  }

  // A map, or a list of maps and of names of fragments.
  void add_part(const YamlNode& part, const Key& key, YamlNode& merged) {
    for (const YamlEntry& entry : part.entries) add_entry(entry, merged);
    for (const YamlNode& item : part.items) {
      if (item.kind == Kind::map) add_part(item, key, merged);
      else add_named(item, key, merged);
    }
  }

  void add_named(const YamlNode& name, const Key& key, YamlNode& merged) {
    const Fragment* fragment = find(name);
    if (!fragment) return;
    const YamlEntry* section = section_of(*fragment, name, key.name);
    if (section) add_part(section->value, key, merged);
  }

  // Of the fragment that `name` names; null where it has no such section, which is reported.
  const YamlEntry* section_of(const Fragment& fragment, const YamlNode& name, std::string_view key) {
    std::vector<const YamlEntry*> parts;
    add_section(fragment, key, parts);
    if (!parts.empty()) return parts.front();
    Diagnostic error = make_error(name.where, fmt::format("fragment '{}' has no '{}'", name.text, key));
    error.notes.push_back({fragment.root.find("fragment")->value.where, fmt::format("'{}' is this", name.text)});
    errors_.push_back(std::move(error));
    return nullptr;
  }

  // {words: activation} -> {words: [none, relu], enum: activation}
  void name_words(YamlNode& node) {
    const auto words =
        std::ranges::find_if(node.entries, [](const YamlEntry& entry) { return entry.key.text == "words"; });
    if (words == node.entries.end() || words->value.kind != Kind::scalar) return;
    if (const YamlEntry* other = node.find("enum"))
      errors_.push_back(make_error(other->key.where, "the words of a fragment have its name", "", "leave 'enum' out"));
    YamlEntry name = *words;
    name.key.text = "enum";
    words->value = words_named(name.value);
    node.entries.push_back(std::move(name));
  }

  YamlNode words_named(const YamlNode& name) {
    YamlNode words = empty(Kind::list, name.where);
    const Fragment* fragment = find(name);
    const YamlEntry* section = fragment ? section_of(*fragment, name, "words") : nullptr;
    if (section == nullptr) return words;
    for (const YamlNode& word : section->value.items) {
      if (has_room(word)) words.items.push_back(word);
    }
    return words;
  }

  void add_entry(const YamlEntry& entry, YamlNode& merged) {
    if (const YamlEntry* first = merged.find(entry.key.text)) report_twice(entry.key, first->key);
    else if (has_room(entry.key)) merged.entries.push_back(entry);
  }

  bool has_room(const YamlNode& part) {
    if (++parts_ == kMaxParts + 1) {
      errors_.push_back(make_error(
          part.where, fmt::format("with this the spec and its fragments have more than {} parts", kMaxParts)));
    }
    return parts_ <= kMaxParts;
  }

  void report_twice(const YamlNode& key, const YamlNode& first) {
    Diagnostic error = make_error(key.where, fmt::format("'{}' is given twice", key.text));
    error.notes.push_back({first.where, "first given here"});
    errors_.push_back(std::move(error));
  }

  const Fragments& fragments_;
  std::vector<Use> uses_;
  Diagnostics errors_;
  bool uses_broken_ = false;
  size_t parts_ = 0;
};

void Fragments::add(YamlNode root, const std::string& file) { all_.push_back({file, std::move(root), {}}); }

Fragments::Merged Fragments::merge(const YamlNode& root) {
  Merger merger(*this);
  YamlNode root_without = merger.merge_spec(root);
  Merged merged = merger.take(std::move(root_without));
  const YamlEntry* name = root.find("operator") ? root.find("operator") : root.find("kernel");
  merged.errors = with_uses(std::move(merged.errors), merged.uses, name ? name->value.text : "");
  return merged;
}

namespace {

constexpr std::string_view kUsedBy = "used by ";

bool is_of_use(const Note& note) { return note.message.starts_with(kUsedBy); }

}  // namespace

Diagnostics with_uses(Diagnostics errors, const std::vector<Use>& uses, std::string_view spec) {
  for (Diagnostic& error : errors) {
    const auto use = std::ranges::find(uses, error.where.file, &Use::file);
    if (use == uses.end() || std::ranges::any_of(error.notes, is_of_use)) continue;
    error.notes.push_back({use->fragment.where, fmt::format("{}'{}' here", kUsedBy, spec)});
  }
  return errors;
}

Diagnostics gather(Diagnostics errors) {
  std::stable_sort(errors.begin(), errors.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.where, a.message) < std::tie(b.where, b.message);
  });
  Diagnostics gathered;
  size_t more = 0;  // specs that share the last one
  const auto finish = [&] {
    if (more == 0) return;
    gathered.back().notes.emplace_back().message = fmt::format("and by {} more", more);
    more = 0;
  };
  for (Diagnostic& error : errors) {
    const bool is_shared = !gathered.empty() && std::ranges::any_of(error.notes, is_of_use) &&
                           error.where == gathered.back().where && error.message == gathered.back().message;
    if (is_shared) {
      const auto use = std::ranges::find_if(error.notes, is_of_use);
      more += std::ranges::none_of(gathered.back().notes, [&](const Note& n) { return n.where == use->where; }) ? 1 : 0;
    } else {
      finish();
      gathered.push_back(std::move(error));
    }
  }
  finish();
  return gathered;
}

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

Diagnostics Fragments::check_use() const {
  Diagnostics errors;
  for (const Fragment& fragment : all_) {
    const YamlNode& name = fragment.root.find("fragment")->value;
    if (fragment.taken.empty()) {
      errors.push_back(
          make_error(name.where, fmt::format("no spec uses fragment '{}'", name.text), "", "name it, or delete it"));
      continue;
    }
    for (const YamlEntry& entry : fragment.root.entries) {
      if (entry.key.text == "fragment" || fragment.taken.count(entry.key.text) != 0) continue;
      errors.push_back(
          make_error(entry.key.where, fmt::format("no spec uses '{}' of fragment '{}'", entry.key.text, name.text)));
    }
  }
  return errors;
}

}  // namespace qgen::spec
