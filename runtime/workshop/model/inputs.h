// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The inputs and outputs that a person names: "x.npy" if there is one, or "image=x.npy".
#pragma once

#include <set>

#include "runtime/models/graph/graph.h"
#include "runtime/workshop/model/arguments.h"
#include "runtime/workshop/runner/command.h"
#include "runtime/workshop/runner/random_input.h"

namespace qgen::model {

// Each input of the graph: read, made up as --shape says, or as runner::random_input() does, of the shape in `shapes`
// or with --batch for each side that is not known. `random_inputs`: the names of those. Errors: unknown names, files
// that cannot be read.
struct Inputs {
  Tensors tensors;  // of those that are made up, before make(): dtype and shape without data
  std::vector<std::string> random_inputs;
  std::map<std::string, runner::RandomInput> values;  // of what is made up
};
// Gives them their data. Errors: it takes more memory than the host has available.
Done make(Inputs& inputs);
// `left_out`: Loaded, of which nothing is read.
Expected<Inputs> inputs_of(const graph::Graph& graph, const Arguments& arguments, const graph::InputShapes& shapes,
                           const std::set<std::string, std::less<>>& left_out = {});

// "name=value" of a known name, or the value alone where there is one name. Names may hold '=': the longest known name
// before one counts.
Expected<runner::Named> named(std::string_view flag, std::string_view typed, const std::vector<std::string>& known);

// Files by the outputs' names.
Expected<std::map<std::string, std::string>> files_of_outputs(const graph::Graph& graph, std::string_view flag,
                                                              const std::vector<std::string>& typed);

}  // namespace qgen::model
