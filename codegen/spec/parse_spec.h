// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// YAML -> Spec. specs/README.md is the language on one page.
//
//   auto spec = parse_spec(text, "specs/quant/quantize_affine.yaml");
//   Diagnostics errors = check_specs(specs);     // what concerns more than one of them
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/spec/spec.h"

namespace qgen::spec {

// All errors of the file's shape at once (keys, kinds); a file of the right shape, all errors of its meaning at once
// (names, types, words). `file` is how diagnostics name it; its stem must be the operator's name.
Result<Spec> parse_spec(std::string_view text, const std::string& file);

// Names given twice; recipe steps against the specs they name: kernels, operands, problem fields, parameters.
Diagnostics check_specs(const std::vector<Spec>& specs);

// The spec as YAML in one fixed form, for --stop-after spec; parsed again, it gives the same spec.
std::string to_text(const Spec& spec);

// A JSON Schema of spec files, for editors.
std::string json_schema();

}  // namespace qgen::spec
