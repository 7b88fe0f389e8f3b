// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A model's constants on a device: each parameter once, and each weight in the forms that the chosen kernels read. All
// shapes share them. The host's copy is dropped after the upload.
#pragma once

#include <map>
#include <memory>

#include "runtime/engine/calls/weight.h"
#include "runtime/models/graph/graph.h"

namespace qgen::graph {

class Constants {
 public:
  // Of a graph that infer() took. Makes the weights, on the host; errors: the errors of Weight::create().
  static Expected<Constants> create(const Graph& graph, const Inferred& inferred) {
    return create(graph, inferred, {});
  }

  // With saved weights: the graph's own.
  using SavedWeights = std::map<ValueId, SavedWeight>;
  static Expected<Constants> create(const Graph& graph, const Inferred& inferred, SavedWeights saved);
  Expected<SavedWeights> saved_weights(Executor& executor) const;

  Weight* weight(ValueId value);  // null: it is none of the weights
  std::map<ValueId, TensorDesc> weight_descs() const;
  // Uploaded on the first call.
  Expected<const DeviceTensor*> parameter(Executor& executor, const Graph& graph, ValueId value);

  // Puts the parameters' data back into a graph from which release() took them.
  Done fetch_parameters(Executor& executor, Graph& graph) const;

  // Frees the host's copies of everything that is on the device.
  void release(Graph& graph);
  uint64_t device_bytes() const;

 private:
  std::map<ValueId, std::unique_ptr<Weight>> weights_;
  std::map<ValueId, DeviceTensor> parameters_;
};

}  // namespace qgen::graph
