// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Inputs that are the same in many runs, such as an encoder's result while a decoder generates tokens. What a graph
// computes from them alone is computed once. The graph is divided in two:
//
//   encoder_hidden_states -> MatMul -> keys ---+        once: encoder_hidden_states -> MatMul -> keys
//   tokens -> ... -> queries ------------------+-> ...  rest: keys, tokens -> ...
//
// The values between the two are kept inputs (Graph::kept) of the rest.
#pragma once

#include "runtime/models/graph/graph.h"

namespace qgen::graph {

struct Divided {
  Graph once;  // without nodes, if all nodes that read given inputs read other ones too
  Graph rest;
};

// `given`: inputs of the graph. `inferred`: of the graph at any shapes. Outputs that depend on given inputs only are left
// out of both.
Divided divided(const Graph& graph, const Inferred& inferred, std::span<const ValueId> given);

}  // namespace qgen::graph
