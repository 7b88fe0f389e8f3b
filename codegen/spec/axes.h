// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Axes as lists of alternatives: one value of a single axis, or one record of several.
//
//   dtype: [f32, f16]                                  group of one    id parts "f32", "f16"
//   shape: [{m: 16, n: 16, k: 32}, {m: 8, n: 8, k: 8}] group of three  id parts "m16n16k32", "m8n8k8"
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/spec/spec.h"

namespace qgen::spec {

// Axes whose i-th values belong together.
struct AxisGroup {
  size_t first = 0;            // its place among all axes
  std::span<const Axis> axes;  // at least one

  size_t size() const { return axes.front().values.size(); }
  std::string_view name() const;  // "dtype", "shape"
  const SourceLocation& where(size_t choice) const;
};
std::vector<AxisGroup> groups_of(const std::vector<Axis>& axes);

// One choice as specs spell it: "4", "{m: 16, n: 16, k: 32}".
std::string value_text(const AxisGroup& group, size_t choice);

// One choice as ids spell it. Words stand alone, numbers follow their name, and booleans are the name or its opposite.
// Native storage access is not spelt. The fields of a record follow each other, with a '_' between two words.
std::string id_part(const AxisGroup& group, size_t choice);

// The values of an axis as specs spell them, in their order: "4", "true", "f16". Those of a record's field may repeat.
std::vector<std::string> texts_of(const Axis& axis);

// The different words of an axis, in the order of the spec; none, if its values are no words.
std::vector<std::string> words_of(const Axis& axis);
// The possible words of an operand's dtype, storage or layout: a fixed one, or those of its parameter.
std::vector<std::string> words_of(const Spec& spec, const Choice& choice);

// The name of a specialization constant in GLSL: "workgroup", of "tile.m" "tile_m".
std::string glsl_name(const Axis& axis);

}  // namespace qgen::spec
