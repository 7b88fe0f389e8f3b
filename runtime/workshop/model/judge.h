// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Computes a graph with the references of its operators, node by node on the host: slow, without kernels, layouts or
// shared memory. `qgen-model check` compares a device's results with it.
//
//   const auto values = by_reference(graph, operators, {{"image", picture}});
//   (*values)[graph.outputs.front().value]
#pragma once

#include <functional>

#include "runtime/models/graph/graph.h"
#include "runtime/workshop/reference/references.h"

namespace qgen::model {

// Every value of the graph, by ValueId. Errors: the errors of infer(), an operator without a reference.
Expected<std::vector<HostTensor>> by_reference(const graph::Graph& graph, OperatorEntries operators,
                                               const Tensors& inputs,
                                               const std::function<void(size_t node)>& on_node = {});

// Only the graph's outputs, by name.
Expected<Tensors> outputs_by_reference(const graph::Graph& graph, OperatorEntries operators, const Tensors& inputs,
                                       const std::function<void(size_t node)>& on_node = {});

}  // namespace qgen::model
