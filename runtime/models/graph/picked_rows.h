// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Rows of a value, picked before the nodes that compute each row separately. A language model needs the logits of the
// last token only, so its last product is of one row for each sequence, instead of one for each token.
#pragma once

#include "runtime/models/graph/graph.h"

namespace qgen::graph {

// [N, W]: of `value`, which is [..., W], the rows that `rows`, i32 [N], gives. They are counted over all dimensions but
// the last one. `inferred` is of this graph, at any shapes; no output of the graph may be `value`.
//
// The pick is a `gather`. It comes before nodes that compute each row of their output from the same row of one input
// and from constants, if nothing else reads what they compute. Those are products with a constant matrix and
// element-wise steps. `value` is then not in the graph any more.
ValueId add_picked_rows(Graph& graph, const Inferred& inferred, ValueId value, ValueId rows);

}  // namespace qgen::graph
