// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What qgen prints about specs and variants when it is asked, and not told to write.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/pipeline.h"

namespace qgen {

// --stop-after: the text form of what a room made.
std::string text_of(const Product& product, Room room);

// --list: one id a line.
std::string list_variants(const Product& product);

// --explain: everything about the one variant of `id`.
Result<std::string> explain(const Product& product, std::string_view id);

// --why-not 'op(param=value,...)': which conditions removed the combinations that have these values, or that they
// exist.
Result<std::string> why_not(const Product& product, std::string_view question);

// --emit: the translated source of each variant, and a line for each that cannot be translated.
struct Translated {
  std::vector<emit::File> files;     // "msl/quantize_affine/quantize_affine.f32.metal"
  std::vector<std::string> refused;  // "quantize_affine.f16: ..."
};
Translated translate_all(const Product& product, reflect::Language language, const workers::ModuleTools& tools);

}  // namespace qgen
