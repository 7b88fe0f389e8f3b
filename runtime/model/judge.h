// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What a graph computes, by the definition of each of its operators: node by node on the host, slow, with no kernel, no
// layout and no shared memory. What runs on a device is held to it.
//
//   const auto values = by_reference(graph, operators, {{"image", picture}});
//   (*values)[graph.outputs.front().value]
#pragma once

#include <functional>

#include "runtime/graph/graph.h"
#include "runtime/reference/references.h"

namespace qgen::model {

// Every value of the graph, by ValueId. Errors: those of infer(), an operator without a reference.
Expected<std::vector<HostTensor>> by_reference(const graph::Graph& graph, OperatorEntries operators,
                                               const Tensors& inputs,
                                               const std::function<void(size_t node)>& on_node = {});

// The graph's outputs alone, by their names.
Expected<Tensors> outputs_by_reference(const graph::Graph& graph, OperatorEntries operators, const Tensors& inputs,
                                       const std::function<void(size_t node)>& on_node = {});

}  // namespace qgen::model
