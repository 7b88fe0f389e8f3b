// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// YAML -> Spec. specs/README.md describes the language.
//
//   auto spec = parse_spec(text, "specs/quant/quantize_affine.yaml");
//   Diagnostics errors = check_specs(specs);     // what concerns more than one of them
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/spec/spec.h"

namespace qgen::spec {

// A file of a run; `file` is its name in diagnostics; its stem must be the name of the spec or fragment.
struct SpecText {
  std::string file;
  std::string_view text;
};

// Whether a fragment that no spec uses is a mistake: only where all specs are there.
enum class UnusedFragments : uint8_t { are_fine, are_errors };

// The specs of a run, in the order of their files; fragments (specs/README.md) give none, and stand in the specs that
// use them. For a file, all errors of its shape at once (keys, kinds). If the shape is right, all errors of its meaning
// at once (names, types, words).
Result<std::vector<Spec>> parse_specs(const std::vector<SpecText>& files,
                                      UnusedFragments unused = UnusedFragments::are_fine);
// One that uses no fragments.
Result<Spec> parse_spec(std::string_view text, const std::string& file);

// Names given twice; recipe steps against the specs they name: kernels, operands, problem fields, parameters.
Diagnostics check_specs(const std::vector<Spec>& specs);

// Errors that a room found in one spec; those inside a fragment are reported at its use.
Diagnostics with_uses(Diagnostics errors, const Spec& spec);
// One fault of a fragment is one report, however many specs share it.
Diagnostics gather(Diagnostics errors);

// The spec as YAML in one fixed form, for --stop-after spec; parsed again, it gives the same spec.
std::string to_text(const Spec& spec);

// A JSON Schema of spec files, for editors.
std::string json_schema();

}  // namespace qgen::spec
