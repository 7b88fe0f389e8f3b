// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// C++ that embeds a fixed model: a class whose inputs and outputs are named members. qgen_add_model() compiles it.
//
//   scenes::Model model = *scenes::Model::load(device);
//   const auto outputs = model.run({.image = picture});                  // outputs->scores
//   model.record(frame, {.image = &x}, {.scores = &y});                  // an engine's frame
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/models/graph/fixed_part.h"

namespace qgen::model {

// A name in C++ for any text: "input.1" -> "input_1", "class" -> "class_".
std::string cpp_name(std::string_view text);

struct EmbeddedText {
  std::string header, source, assembler;
};
// `stem`: of the files' names, NAME.qgen among them, which the assembler includes.
EmbeddedText embed(const graph::FixedPart& part, const std::string& stem);

}  // namespace qgen::model
