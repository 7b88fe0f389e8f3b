// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An If whose condition is a constant becomes the nodes of one branch. So passes over the graph see them: exporters put
// a decoder with a cache and one without it into the branches of one If.
//
//   If(use_cache_branch = true)   ->   the nodes of then_branch, and an Identity for each result
//
// Such a decoder gets keys of an encoder from the run before. The branch without caches computes them of the encoder's
// result, and the one with caches passes them on, or gives none. Then the graph computes them itself:
//
//   past_key_values.0.encoder.key -> ...   ->   encoder_hidden_states -> MatMul -> ...
#pragma once

#include "runtime/models/onnx/import.h"
#include "runtime/models/onnx/model.h"

namespace qgen::onnx {

// What the branches that were not taken have in place of results of their Ifs.
struct OtherResult {
  std::shared_ptr<const ModelGraph> branch;
  std::string value;
};
using OtherResults = std::map<std::string, OtherResult, std::less<>>;

// A name of the branch that another graph has too gets a suffix. That of the branch which is not taken does not count.
OtherResults inline_branches(ModelGraph& graph);

// States that a run passes on unchanged, or leaves without elements, are none: they leave `states`. If the other branch
// computes them only of inputs that are no tokens, masks, positions or states, so does the graph from now on. Else they
// are inputs of the model.
void take_constant_states(ModelGraph& graph, const OtherResults& others, std::vector<StateNames>& states);

}  // namespace qgen::onnx
