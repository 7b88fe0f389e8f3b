// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/spec/fragments.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "codegen/spec/check_spec.h"
#include "codegen/spec/make_error.h"
#include "codegen/spec/parse_spec.h"
#include "common/nearest.h"

namespace qgen::spec {

using Kind = YamlNode::Kind;

constexpr size_t kMaxParts =
    20'000;  // entries and items that a spec may be put together from: a small file stays small

// Each is looked for among all names. More misspelt names than these in one spec are one mistake, and are reported
// without suggestions.
constexpr size_t kMostSuggestions = 50;

// One spec on its way to a tree without fragments.
class Merger {
 public:
  explicit Merger(const Fragments& fragments) : fragments_(fragments), parts_(1) {}

  YamlNode merge_spec(const YamlNode& root) {
    YamlNode merged = merge_object(root, {root.find("use")}, spec_keys(), "a spec");
    const ForAllRecipes for_all = {root.find("recipes_use"), root.find("all_recipes")};
    for (const YamlEntry* entry : {for_all.use, for_all.sections}) {
      if (!entry || merged.find("recipes")) continue;
      errors_.push_back(
          make_error(entry->key.where, fmt::format("'{}' of a spec that has no recipes", entry->key.text)));
    }
    for (YamlEntry& section : merged.entries) {
      for (YamlEntry& entry : section.value.entries) {
        if (section.key.text == "recipes") entry.value = merge_recipe(entry.value, for_all);
        if (section.key.text == "attributes" || section.key.text == "problem") name_words(entry.value);
        if (section.key.text == "parameters" || section.key.text == "specialization") name_list(entry.value);
      }
    }
    forget_filled_in();
    return merged;
  }

  Fragments::Merged take(YamlNode root) {
    return {std::move(root), std::move(parts_), std::move(uses_), std::move(errors_), uses_broken_};
  }

 private:
  using Fragment = Fragments::Fragment;

  // A fragment that an object uses, wholly or for some sections.
  struct Used {
    const Fragment* fragment;
    size_t part;
  };
  using PartsOfObject = std::map<const Fragment*, size_t>;

  // What a spec has for all its recipes: a list of fragments, and sections. Each may be null.
  struct ForAllRecipes {
    const YamlEntry* use;
    const YamlEntry* sections;
  };

  YamlNode merge_recipe(const YamlNode& recipe, ForAllRecipes for_all) {
    if (const YamlEntry* none = recipe.find("recipes_use")) {
      if (!for_all.use && !for_all.sections)
        errors_.push_back(
            make_error(none->key.where, "'recipes_use: none' in a spec without 'recipes_use' and 'all_recipes'"));
      for_all = {nullptr, nullptr};
    }
    const YamlNode* shared = for_all.sections ? &for_all.sections->value : nullptr;
    YamlNode merged = merge_object(recipe, {for_all.use, recipe.find("use")}, merged_recipe_keys(), "a recipe", shared);
    move_last_steps(merged);
    visit_texts(merged, [&](YamlNode& text, std::string_view what) { fill_in(text, what); });
    return merged;
  }

  // To the end of the recipe's steps.
  static void move_last_steps(YamlNode& recipe) {
    const auto entry = [&](std::string_view key) {
      return std::ranges::find(recipe.entries, key, [](const YamlEntry& e) { return e.key.text; });
    };
    const auto last = entry("last_steps");
    if (last == recipe.entries.end()) return;
    YamlEntry moved = std::move(*last);
    recipe.entries.erase(last);
    const auto steps = entry("steps");
    if (steps == recipe.entries.end()) {
      moved.key.text = "steps";
      recipe.entries.push_back(std::move(moved));
    } else {
      std::ranges::move(moved.value.items, std::back_inserter(steps->value.items));
    }
  }

  // The texts of a recipe's steps that '$' may begin: the kernel, and the values of its parameters.
  template <typename Recipe, typename Visit>
  static void visit_texts(Recipe& recipe, const Visit& visit) {
    for (auto& section : recipe.entries) {
      if (section.key.text != "steps" && section.key.text != "last_steps") continue;
      for (auto& step : section.value.items) {
        for (auto& key : step.entries) {
          if (key.key.text == "kernel") visit(key.value, "kernel");
          if (key.key.text != "with") continue;
          for (auto& parameter : key.value.entries) visit(parameter.value, "value");
        }
      }
    }
  }

  // {kernel: $tiles} -> {kernel: conv_tile}, if the fragment's user passes {tiles: conv_tile}. If the user is a fragment
  // too, it may pass on what it takes: {tiles: $matrices}. `what` is what the text is: a kernel, or the value of a
  // parameter.
  void fill_in(YamlNode& node, std::string_view what) {
    if (!node.text.starts_with('$')) return;
    const std::string name = node.text.substr(1);
    Part& part = parts_[node.part];
    const auto take = std::ranges::find(part.takes, name, [](const Take& t) { return t.name.text; });
    if (take == part.takes.end()) {
      const std::string text = what == "kernel" ? "kernel's name" : "value";
      errors_.push_back(make_error(node.where, fmt::format("'{}' is no name that this file takes", node.text), "",
                                   fmt::format("'$' is for the recipes of fragments; elsewhere, write the {}", text)));
      return;
    }
    if (const auto& passed = take->given ? take->given : take->otherwise) {
      node = *passed;
      if (take->given) fill_in(node, what);
      return;
    }
    errors_.push_back(make_error(part.where,
                                 fmt::format("{} takes the {} '{}', which nobody gives", part.fragment, what, name),
                                 fmt::format("{{{}: {{{}: <{}>}}}}", part.fragment, name, what)));
  }

  // A name that stands after a '$' is no name in expressions, also where a spec uses other sections of the fragment.
  void note_filled_in(const Fragment& fragment, size_t part) {
    const auto note = [&](const YamlNode& text, std::string_view) {
      if (text.text.starts_with('$')) filled_in_.emplace(part, text.text.substr(1));
    };
    visit_texts(fragment.root, note);
    const YamlEntry* recipes = fragment.root.find("recipes");
    if (recipes == nullptr) return;
    for (const YamlEntry& recipe : recipes->value.entries) visit_texts(recipe.value, note);
  }

  void forget_filled_in() {
    for (const auto& [part, name] : filled_in_)
      std::erase_if(parts_[part].takes, [&, &called = name](const Take& take) { return take.name.text == called; });
  }

  // With the fragments that the lists `uses` name, of which some may be null; then with the sections of `shared`, which
  // may be null. `what` names the object for messages: "a spec".
  YamlNode merge_object(const YamlNode& node, std::initializer_list<const YamlEntry*> uses, KeyTable keys,
                        std::string_view what, const YamlNode* shared = nullptr) {
    const PartsOfObject outer = std::exchange(parts_of_object_, {});
    std::vector<Used> used;
    for (const YamlEntry* use : uses) {
      if (use == nullptr) continue;
      for (const YamlNode& item : use->value.items) {
        if (item.kind == Kind::scalar) add_used(item, nullptr, keys, what, used);
        for (const YamlEntry& entry : item.entries) add_used(entry.key, &entry.value, keys, what, used);
      }
    }
    YamlNode merged = empty(node.kind, node.where);
    merged.part = node.part;
    for (const Key& key : keys) {
      if (key.name == "use" || key.name == "recipes_use" || key.name == "all_recipes") continue;
      const YamlEntry* own = node.find(key.name);
      const bool is_of_operators = key.name == "attributes" || key.name == "recipes";
      const bool is_ours_alone = is_of_operators && node.find("kernel");  // a kernel has none
      std::vector<const YamlEntry*> parts;
      for (const auto& [fragment, part] : used) {
        const bool stands_elsewhere = key.form == Form::section && names(own, *fragment);
        if (!is_ours_alone && !stands_elsewhere) add_section(*fragment, part, key.name, parts);
      }
      if (const YamlEntry* section = shared ? shared->find(key.name) : nullptr) parts.push_back(section);
      if (own) parts.push_back(own);
      if (!parts.empty()) merged.entries.push_back({parts.back()->key, merge_parts(parts, key)});
    }
    parts_of_object_ = outer;
    return merged;
  }

  void add_used(const YamlNode& name, const YamlNode* handed, KeyTable keys, std::string_view what,
                std::vector<Used>& used) {
    const Fragment* fragment = find(name);
    if (!fragment) return;
    check_fits(*fragment, keys, name, what);
    if (std::ranges::find(used, fragment, &Used::fragment) != used.end()) {
      errors_.push_back(make_error(name.where, fmt::format("'{}' is used twice", name.text)));
    } else {
      used.push_back({fragment, part_of(*fragment, name)});
      if (handed) hand_in(parts_[used.back().part], *handed);
    }
  }

  // Of the object that is put together.
  size_t part_of(const Fragment& fragment, const YamlNode& name) {
    const auto [known, is_new] = parts_of_object_.emplace(&fragment, parts_.size());
    if (is_new) {
      Part& part = parts_.emplace_back(Part{name.text, name.where, name.part, {}, {}});
      part.takes = takes_of(fragment, known->second);
      note_filled_in(fragment, known->second);
      if (const YamlEntry* gives = fragment.root.find(kGives)) {
        for (const YamlNode& given : gives->value.items) part.gives.insert(given.text);
      }
    }
    return known->second;
  }

  static std::vector<Take> takes_of(const Fragment& fragment, size_t part) {
    std::vector<Take> takes;
    const YamlEntry* listed = fragment.root.find(kTakes);
    if (listed == nullptr) return takes;
    for (const YamlEntry& entry : listed->value.entries) {
      Take take{entry.key, {}, {}};
      if (const YamlEntry* otherwise = entry.value.find("default")) take.otherwise = marked(otherwise->value, part);
      takes.push_back(std::move(take));
    }
    return takes;
  }

  void hand_in(Part& part, const YamlNode& handed) {
    for (const YamlEntry& entry : handed.entries) {
      const auto take = std::ranges::find(part.takes, entry.key.text, [](const Take& t) { return t.name.text; });
      if (take != part.takes.end()) {
        take->given = entry.value;
        continue;
      }
      std::vector<std::string> names;
      for (const Take& known : part.takes) names.push_back(known.name.text);
      errors_.push_back(make_error(entry.key.where, fmt::format("'{}' takes no '{}'", part.fragment, entry.key.text),
                                   one_of(names), suggest(entry.key.text, names)));
    }
  }

  // Whether the section, a list, contains the fragment's list at an explicit position.
  static bool names(const YamlEntry* section, const Fragment& fragment) {
    const std::string& name = fragment.root.find("fragment")->value.text;
    return section != nullptr && std::ranges::any_of(section->value.items, [&](const YamlNode& item) {
             return item.kind == Kind::scalar && item.text == name;
           });
  }

  // A copy whose nodes are of the part.
  static YamlNode marked(YamlNode node, size_t part) {
    node.part = part;
    for (YamlNode& item : node.items) item = marked(std::move(item), part);
    for (YamlEntry& entry : node.entries) {
      entry.key = marked(std::move(entry.key), part);
      entry.value = marked(std::move(entry.value), part);
    }
    return node;
  }

  static YamlNode empty(Kind kind, const SourceLocation& where) {
    YamlNode node;
    node.kind = kind;
    node.where = where;
    return node;
  }

  const Fragment* find(const YamlNode& name) {
    if (const auto known = fragments_.by_name_.find(name.text); known != fragments_.by_name_.end()) {
      const Fragment& fragment = fragments_.all_[known->second];
      uses_.push_back({fragment.file, {name.text, name.where}});
      return &fragment;
    }
    uses_broken_ |= fragments_.broken_.count(name.text) != 0;
    if (fragments_.broken_.count(name.text) != 0) return nullptr;
    const std::string hint = suggestion_for(name.text);
    errors_.push_back(make_error(name.where, fmt::format("no fragment of this run is named '{}'", name.text), "",
                                 hint.empty() ? "fragments are files too: name their files, or their folder" : hint));
    return nullptr;
  }

  std::string suggestion_for(std::string_view name) {
    if (++suggestions_ > kMostSuggestions) return "";
    std::vector<std::string_view> names;
    for (const auto& [known, index] : fragments_.by_name_) names.push_back(known);
    return did_you_mean(name, names);
  }

  void check_fits(const Fragment& fragment, KeyTable keys, const YamlNode& name, std::string_view what) {
    for (const YamlEntry& entry : fragment.root.entries) {
      if (is_interface(entry.key.text) || entry.key.text == kLists || find_key(keys, entry.key.text)) continue;
      Diagnostic error = make_error(
          name.where, fmt::format("'{}' contains '{}', which {} cannot have", name.text, entry.key.text, what));
      error.notes.push_back({entry.key.where, fmt::format("'{}' is given here", entry.key.text)});
      errors_.push_back(std::move(error));
    }
  }

  void add_section(const Fragment& fragment, size_t part, std::string_view key, std::vector<const YamlEntry*>& parts) {
    const YamlEntry* section = find_section(fragment, key);
    if (!section || size_ > kMaxParts) return;  // no copies of entries that have no room
    sections_.push_back({marked(section->key, part), marked(section->value, part)});
    parts.push_back(&sections_.back());
  }

  static const YamlEntry* find_section(const Fragment& fragment, std::string_view key) {
    const YamlEntry* section = fragment.root.find(key);
    if (section) fragment.taken.emplace(key);
    return section;
  }

  YamlNode merge_parts(const std::vector<const YamlEntry*>& parts, const Key& key) {
    const bool is_object = key.form == Form::one && key.leaf == Leaf::object;  // a fragment may have some of its keys
    if (!is_object && (key.form == Form::one || key.form == Form::tuple)) {
      for (size_t i = 1; i < parts.size(); ++i) report_twice(parts[i]->key, parts[i - 1]->key);
      return parts.back()->value;
    }
    YamlNode merged = empty(key.form == Form::list ? Kind::list : Kind::map, parts.back()->value.where);
    given_.clear();
    has_private_names_ = key.name == "fit" || key.name == "define";
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
    if (!fragment || section_of(*fragment, name, key.name) == nullptr) return;
    std::vector<const YamlEntry*> sections;
    add_section(*fragment, part_of(*fragment, name), key.name, sections);
    if (!sections.empty()) add_part(sections.front()->value, key, merged);
  }

  // Of the fragment that `name` names; null where it has no such section, which is reported.
  const YamlEntry* section_of(const Fragment& fragment, const YamlNode& name, std::string_view key) {
    if (const YamlEntry* section = find_section(fragment, key)) return section;
    Diagnostic error = make_error(name.where, fmt::format("fragment '{}' has no '{}'", name.text, key));
    error.notes.push_back(
        {fragment.root.find("fragment")->value.where, fmt::format("'{}' is defined here", name.text)});
    errors_.push_back(std::move(error));
    return nullptr;
  }

  // {words: words.activation} -> {words: [none, relu], enum: activation}
  void name_words(YamlNode& node) {
    const auto words =
        std::ranges::find_if(node.entries, [](const YamlEntry& entry) { return entry.key.text == "words"; });
    if (words == node.entries.end() || words->value.kind != Kind::scalar) return;
    if (const YamlEntry* other = node.find("enum"))
      errors_.push_back(make_error(other->key.where, "the words have the name of their list, and 'enum' gives another",
                                   "", "leave 'enum' out"));
    YamlEntry name = *words;
    name.key.text = "enum";
    name.value.text = name.value.text.substr(name.value.text.find('.') + 1);
    name_list(words->value);
    node.entries.push_back(std::move(name));
  }

  // `layouts.rows` -> [strided, packed_4w]; check_shape() vouches for the form of the name.
  void name_list(YamlNode& values) {
    if (values.kind != Kind::scalar) return;
    const size_t dot = values.text.find('.');
    YamlNode name = values;
    name.text.resize(dot);
    const std::string wanted = values.text.substr(dot + 1);
    values = empty(Kind::list, name.where);
    const Fragment* fragment = find(name);
    const YamlEntry* lists = fragment ? section_of(*fragment, name, kLists) : nullptr;
    if (lists == nullptr) return;
    const YamlEntry* list = lists->value.find(wanted);
    if (list == nullptr) return report_no_list(name, wanted, lists->value);
    fragment->taken.emplace(Fragments::list_key(wanted));
    for (const YamlNode& value : list->value.items) {
      if (has_room(value)) values.items.push_back(value);
    }
  }

  void report_no_list(const YamlNode& fragment, const std::string& wanted, const YamlNode& lists) {
    std::vector<std::string> names;
    for (const YamlEntry& list : lists.entries) names.push_back(list.key.text);
    errors_.push_back(make_error(fragment.where, fmt::format("'{}' has no list '{}'", fragment.text, wanted),
                                 one_of(names), suggest(wanted, names)));
  }

  void add_entry(const YamlEntry& entry, YamlNode& merged) {
    // A name that only its own part reads may be any name.
    const size_t part = entry.key.part;
    const bool is_private = has_private_names_ && part != 0 && !parts_[part].gives.contains(entry.key.text);
    const auto [first, is_new] = given_.emplace(std::pair(is_private ? part : 0, entry.key.text), &entry.key);
    if (!is_new) report_twice(entry.key, *first->second);
    else if (has_room(entry.key)) merged.entries.push_back(entry);
  }

  bool has_room(const YamlNode& part) {
    if (++size_ == kMaxParts + 1) {
      errors_.push_back(make_error(
          part.where, fmt::format("with this the spec and its fragments have more than {} parts", kMaxParts)));
    }
    return size_ <= kMaxParts;
  }

  void report_twice(const YamlNode& key, const YamlNode& first) {
    Diagnostic error = make_error(key.where, fmt::format("'{}' is given twice", key.text));
    error.notes.push_back({first.where, "first given here"});
    errors_.push_back(std::move(error));
  }

  const Fragments& fragments_;
  std::vector<Use> uses_;
  Diagnostics errors_;
  std::vector<Part> parts_;
  PartsOfObject parts_of_object_;   // of the spec or recipe that is being put together
  std::deque<YamlEntry> sections_;  // of fragments, with their parts
  // The keys of the section that is being merged, and the parts of private ones.
  std::map<std::pair<size_t, std::string>, const YamlNode*> given_;
  bool has_private_names_ = false;
  std::set<std::pair<size_t, std::string>> filled_in_;  // parts, and names that they take, which stand after a '$'
  bool uses_broken_ = false;
  size_t size_ = 0;  // in entries and items
  size_t suggestions_ = 0;
};

void Fragments::add(YamlNode root, const std::string& file) {
  by_name_.emplace(root.find("fragment")->value.text, all_.size());
  all_.push_back({file, std::move(root), {}});
}

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
  std::map<std::string_view, const Use*> by_file;
  for (const Use& use : uses) by_file.emplace(use.file, &use);
  for (Diagnostic& error : errors) {
    const auto use = by_file.find(error.where.file);
    if (use == by_file.end() || std::ranges::any_of(error.notes, is_of_use)) continue;
    error.notes.push_back({use->second->fragment.where, fmt::format("{}'{}' here", kUsedBy, spec)});
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

}  // namespace qgen::spec
