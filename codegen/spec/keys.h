// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Every key of the spec language, once. The reader checks a file against these tables, and the JSON Schema for editors
// is printed from them. Private to this room.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/spec/yaml_tree.h"

namespace qgen::spec {

// The kind of a single value.
enum class Leaf : uint8_t {
  name,       // of something the spec declares: becomes a name in C++ and GLSL
  reference,  // a name declared elsewhere
  taken,      // the same; or $name in a fragment: the name that its user passes for one that it takes
  text,
  boolean,
  number,    // not negative: 0.5, 2^-11
  fitted,    // such a number; or an object of Key::object, which says its unit too
  value,     // a parameter's: an integer, a boolean or a word
  axis,      // a list of them, or of records of them
  word,      // one of Key::words
  choice,    // one of Key::words, or $parameter
  field,     // u32, i32 or f32, or an array of them: u32[8]; or an object of Key::object
  shape,     // of a tensor: [..., N, K], or a list of such
  constant,  // a number, a boolean, a word or a text
  range,     // of a number: [0, 2^119], or one of Key::words
  expression,
  use,     // the name of a fragment; or a map from it to a value for each name that it takes
  take,    // a line of help; or an object of Key::object
  object,  // of Key::object
};

// How many of them.
enum class Form : uint8_t {
  one,
  tuple,  // a list that is one value
  list,
  map,
  section,  // a map; in a spec also a list of maps and of names of fragments, whose section of this key stands there
  shared_list,  // a list; or a fragment's list: words.mode
};

struct Key;
using KeyTable = std::span<const Key>;

struct Key {
  std::string_view name;
  std::string_view help;
  Form form = Form::one;
  Leaf leaf = Leaf::text;
  bool is_required = false;
  std::vector<std::string> words = {};
  KeyTable object = {};
  std::string_view noun = {};  // the term for an entry, if not `name`: "architecture"
};

KeyTable spec_keys();
// Of a recipe, and what fragments may add to it.
KeyTable merged_recipe_keys();
// The sections that a fragment may have: those of a spec, or of a recipe.
KeyTable fragment_keys();

// Sections that only fragments have: the names that they take and give, and lists of values.
constexpr std::string_view kTakes = "takes", kGives = "gives", kLists = "lists";
// Keys of a fragment that are no section of a spec or recipe.
inline bool is_interface(std::string_view key) { return key == "fragment" || key == kTakes || key == kGives; }

const Key* find_key(KeyTable keys, std::string_view name);

// A file that begins with `fragment: name` is a fragment and no spec.
inline bool is_fragment(const YamlNode& root) { return root.find("fragment") != nullptr; }

// A file NAME.cost.yaml, which begins with `cost_of: NAME`, holds the cost of that spec or fragment.
constexpr std::string_view kCostOf = "cost_of";
inline bool is_cost(const YamlNode& root) { return root.find(kCostOf) != nullptr; }
KeyTable cost_keys();

// Whether the tree has the keys and kinds of the tables: unknown keys, missing keys, wrong kinds, misspelt words.
Diagnostics check_shape(const YamlNode& root);

}  // namespace qgen::spec
