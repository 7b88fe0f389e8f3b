// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What specs share. A fragment holds sections of a spec, or of a recipe, in a file of its own:
//
//   fragment: product                     kernel: sum_slices
//   problem:                              problem: [product, {slices: u32}]
//     m: u32                                -> problem: {m: u32, n: u32, slices: u32}
//     n: u32
//
// A section is a list of maps and of names of fragments, whose section stands there; `use: [a, b]` takes all sections
// of a and of b, before what is said beside it. `{words: a}` takes the words of a, and a for the name of their enum.
// Nothing is overridden: what is said twice is an error. All this happens to the tree, in which every node knows its
// place: whoever reads the tree knows no fragments, and what is wrong in one is told where it stands. Private to this
// room.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/spec/keys.h"
#include "codegen/spec/spec.h"

namespace qgen::spec {

class Fragments {
 public:
  // A file of the right shape that is a fragment.
  void add(YamlNode root, const std::string& file);
  // A fragment of this name is wrong, and was reported: who uses it is not read.
  void add_broken(const std::string& name) { broken_.insert(name); }

  struct Merged {
    YamlNode root;
    std::vector<Use> uses;
    Diagnostics errors;
    bool uses_broken = false;
  };
  // A spec of the right shape, with what it uses in its place.
  Merged merge(const YamlNode& root);

  // Fragments whose files bear another name, and names that are given to two.
  Diagnostics check_names() const;
  // Fragments, or sections of them, that no merge() took.
  Diagnostics check_use() const;

 private:
  friend class Merger;

  struct Fragment {
    std::string file;
    YamlNode root;
    mutable std::set<std::string, std::less<>> taken;  // keys of sections
  };

  std::vector<Fragment> all_;  // a name given to two is that of the first
  std::set<std::string, std::less<>> broken_;
};

// Errors of one spec: those that stand in a fragment get a note of where the spec uses it.
Diagnostics with_uses(Diagnostics errors, const std::vector<Use>& uses, std::string_view spec);

}  // namespace qgen::spec
