// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Fragments: files with sections that several specs or recipes share:
//
//   fragment: product                     kernel: sum_slices
//   problem:                              problem: [product, {slices: u32}]
//     m: u32                                -> problem: {m: u32, n: u32, slices: u32}
//     n: u32
//
// A section is a list of maps and of fragment names. A name inserts that section of the fragment. `use: [a, b]` inserts
// all sections of a and b ahead of the spec's sections, except sections that name a or b themselves. Their `last_steps`
// come after the steps of the recipe. `use: [{a: {rows: 2 * m}}]` passes a name that a takes (part_names.h).
// `layout: a.rows` reads the values of the list `rows` of a. `{words: a.mode}` does so too, and names the enum after the
// list. Nothing is overridden: a name that is given twice is an error. All this happens in the YAML tree, and each node
// keeps its location. So the code that reads the tree knows no fragments, and an error names the fragment's file.
// Private to this room.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/spec/keys.h"
#include "codegen/spec/spec.h"

namespace qgen::spec {

// A name that a fragment reads and does not declare.
struct Take {
  YamlNode name;
  std::optional<YamlNode> otherwise;  // the default
  std::optional<YamlNode> given;      // where the use hands it one
};

// The parts of a merged spec: the spec itself, which is the first, and each fragment as often as it is used.
struct Part {
  std::string fragment;  // its name; empty: the spec itself
  SourceLocation where;  // of the use
  size_t user = 0;       // the part that uses it
  std::vector<Take> takes;
  std::set<std::string, std::less<>> gives;
};

class Fragments {
 public:
  // A file of the right shape that is a fragment.
  void add(YamlNode root, const std::string& file);
  // A fragment of this name is wrong, and was reported: who uses it is not read.
  void add_broken(const std::string& name) { broken_.insert(name); }

  struct Merged {
    YamlNode root;  // YamlNode::part names the part of each node
    std::vector<Part> parts;
    std::vector<Use> uses;
    Diagnostics errors;
    bool uses_broken = false;
  };
  // A spec of the right shape, with its fragments inserted.
  Merged merge(const YamlNode& root);

  // Fragments whose files bear another name, and names that are given to two.
  Diagnostics check_names() const;
  // Names that a fragment gives and does not define, or takes and declares itself or never reads.
  Diagnostics check_interfaces() const;
  // Fragments that declare a problem field or an axis of this name, or give it: "a and b"; empty: none.
  std::string givers_of(std::string_view name) const;
  // Fragments, or sections of them, that no merge() took.
  Diagnostics check_use() const;

 private:
  friend class Merger;
  // The name that Fragment::taken gives a list.
  static std::string list_key(std::string_view list) { return "lists." + std::string(list); }

  struct Fragment {
    std::string file;
    YamlNode root;
    mutable std::set<std::string, std::less<>> taken;  // keys of sections
  };

  std::vector<Fragment> all_;
  std::map<std::string, size_t, std::less<>> by_name_;  // into all_; a name with two values has the first
  std::set<std::string, std::less<>> broken_;
};

// Errors of one spec: those that stand in a fragment get a note of where the spec uses it.
Diagnostics with_uses(Diagnostics errors, const std::vector<Use>& uses, std::string_view spec);

}  // namespace qgen::spec
