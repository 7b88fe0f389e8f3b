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

// Each input of the graph: read from a file; or random, as --shape says or as runner::random_input() does. An open
// dimension comes from `shapes` or --batch. `random_inputs`: the names of those. Errors: unknown names, files that
// cannot be read.
struct Inputs {
  Tensors tensors;  // before make(), of random ones: dtype and shape without data
  std::vector<std::string> random_inputs;
  std::map<std::string, runner::RandomInput> values;  // of random ones
};
// Gives them their data. Errors: it takes more memory than the host has available.
Done make(Inputs& inputs);
// `left_out`: Loaded, with nothing read yet.
Expected<Inputs> inputs_of(const graph::Graph& graph, const Arguments& arguments, const graph::InputShapes& shapes,
                           const std::set<std::string, std::less<>>& left_out = {});

// Those of --input, from their files. Errors: unknown names, files that cannot be read.
Expected<Tensors> given_inputs(const graph::Graph& graph, const Arguments& arguments,
                               const std::set<std::string, std::less<>>& left_out = {});

// "name=value" of a known name, or the value alone where there is one name. Names may hold '=': the longest known name
// before one counts.
Expected<runner::Named> named(std::string_view flag, std::string_view typed, const std::vector<std::string>& known);

// Files by the outputs' names.
Expected<std::map<std::string, std::string>> files_of_outputs(const graph::Graph& graph, std::string_view flag,
                                                              const std::vector<std::string>& typed);

// Writes outputs to these files: all of them or none.
Done write_outputs(const std::map<std::string, std::string>& files, const Tensors& tensors);
// Its dtype, shape and first elements, in a line.
std::string tensor_text(const std::string& name, const HostTensor& tensor);

}  // namespace qgen::model
