// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Tensors of a model as a person names them: "x.npy" of the only one, or "image=x.npy".
#pragma once

#include "runtime/graph/graph.h"
#include "runtime/model/arguments.h"

namespace qgen::model {

// Each input of the graph: read, made up as --shape says, or as runner::made_up_input() does, of the shape in `shapes`
// or with --batch for each side that is not known. `made_up`: the names of those. Errors: unknown names, files that
// cannot be read.
struct Inputs {
  Tensors tensors;
  std::vector<std::string> made_up;
};
Expected<Inputs> inputs_of(const graph::Graph& graph, const Arguments& arguments, const graph::InputShapes& shapes);

// Files by the outputs' names.
Expected<std::map<std::string, std::string>> files_of_outputs(const graph::Graph& graph, std::string_view flag,
                                                              const std::vector<std::string>& typed);

}  // namespace qgen::model
