// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One combination of a spec's parameters: one module.
#pragma once

#include <string>
#include <vector>

#include "codegen/spec/spec.h"

namespace qgen::expand {

struct Variant {
  std::string id;                         // "quantize_affine.f32.i8.vec4"
  std::vector<expression::Value> values;  // one a parameter, in Spec::parameters' order
  uint8_t subgroup_size = 0;              // that its module needs; 0: any
};

// Sorted by the bytes of the id; empty if the spec has no template. Errors: two ids that are one C++ identifier; no
// combination left; more than max_variants (with the count); a parameter value that no combination keeps; an unknown
// subgroup size.
Result<std::vector<Variant>> expand(const spec::Spec& spec, size_t max_variants);

// "input_dtype=f32 vec=4"
std::string describe(const spec::Spec& spec, const Variant& variant);

// "quantize_affine.f32.i8.vec4\n..." for --stop-after expand.
std::string to_text(const spec::Spec& spec, const std::vector<Variant>& variants);

}  // namespace qgen::expand
