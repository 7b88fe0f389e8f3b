// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An If whose condition is a constant becomes the nodes of one branch. So passes over the graph see them: exporters put
// a decoder with a cache and one without it into the branches of one If.
//
//   If(use_cache_branch = true)   ->   the nodes of then_branch, and an Identity for each result
#pragma once

#include "runtime/models/onnx/model.h"

namespace qgen::onnx {

// An If stays if another graph of the model has a name of its branch too, apart from the If's other branch. The importer
// then handles it.
void inline_branches(ModelGraph& graph);

}  // namespace qgen::onnx
