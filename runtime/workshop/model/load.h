// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Reads a model from an ONNX file or from a compiled file.
#pragma once

#include <filesystem>
#include <set>

#include "runtime/models/graph/model.h"
#include "runtime/models/onnx/import.h"
#include "runtime/models/onnx/reader.h"
#include "runtime/workshop/model/arguments.h"

namespace qgen::model {

struct Loaded {
  graph::Graph graph;                           // of a compiled model: without the data of weights
  std::optional<graph::Compiled> compiled;      // nullopt: of an ONNX file
  std::vector<std::string> notes;               // for people: parts that run otherwise than expected
  std::set<std::string, std::less<>> left_out;  // inputs of the file that the graph does not have
  double parse_ms = 0;                          // the file
  double fuse_ms = 0;                           // its patterns
};
// Errors: the file cannot be read, or is refused. `fuses`: onnx::ImportOptions. Dimensions with names keep them, unless
// the model cannot be read so: then they get the lengths of the arguments' inputs.
Expected<Loaded> load(const Arguments& arguments, bool fuses = true);
// Whether the file was compiled for named devices: then it has no graph, and load() refuses it.
Expected<bool> is_fixed_file(const std::filesystem::path& file);

// The arguments' values for a model's inputs. Constants: --constant. An input that may become a constant, if the model
// cannot be imported otherwise: integers and booleans with a file of --input, such as a sample rate. Shapes: of all
// inputs, with --batch or 1 for sides that nothing says.
struct Stated {
  Tensors constants;
  Tensors may_be_constants;
  graph::InputShapes shapes;
  bool are_complete = true;  // nothing but --batch is missing, so `shapes` are what a person meant
};
Expected<Stated> stated_by(const Arguments& arguments, const onnx::ModelGraph& graph);

graph::Model model_of(Context& context, OperatorEntries operators, Loaded loaded, const graph::ModelOptions& options);

}  // namespace qgen::model
