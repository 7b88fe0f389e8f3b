// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A model from a file, whatever its kind.
#pragma once

#include <filesystem>

#include "runtime/graph/model.h"

namespace qgen::model {

struct Loaded {
  graph::Graph graph;                       // of a compiled model: without the data of weights
  std::optional<graph::Compiled> compiled;  // nullopt: of an ONNX file
  std::vector<std::string> notes;           // for people: what runs otherwise than they may think
  double parse_ms = 0;                      // the file
  double fuse_ms = 0;                       // its patterns
};
// Errors: the file cannot be read, or is refused. `fuses`: onnx::ImportOptions.
Expected<Loaded> load(const std::filesystem::path& file, bool fuses = true);

graph::Model model_of(Context& context, OperatorEntries operators, Loaded loaded, const graph::ModelOptions& options);

}  // namespace qgen::model
