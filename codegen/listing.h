// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The outputs of qgen's options that print something instead of writing files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/pipeline.h"

namespace qgen {

// --stop-after: the result of a room, as text.
std::string text_of(const Product& product, Room room);

// --list: one id a line.
std::string list_variants(const Product& product);

// --explain: everything about the one variant of `id`.
Result<std::string> explain(const Product& product, std::string_view id);

// --explain-cost: the cost of one kernel on the one device, term by term. The question gives the values that it reads:
// "im2col(input_dtype=f16, unit=4, m=512, ...)".
Result<std::string> explain_cost(const Product& product, std::string_view question,
                                 const std::vector<DeviceProfile>& devices);

// --why-not 'op(param=value,...)': the conditions that removed the combinations with these values, or that they exist.
Result<std::string> why_not(const Product& product, std::string_view question);

// --emit: the translated source of each variant, and a line for each that cannot be translated.
struct Translated {
  std::vector<emit::File> files;     // "msl/quantize_affine/quantize_affine.f32.metal"
  std::vector<std::string> refused;  // "quantize_affine.f16: ..."
};
Translated translate_all(const Product& product, reflect::Language language, const workers::ModuleTools& tools);

}  // namespace qgen
