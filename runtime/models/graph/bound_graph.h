// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A prepared graph on a device: its tensors in their arena, its inputs and outputs by name, and the recording that
// computes the outputs. It is run, or recorded on other tensors.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/engine/calls/registry.h"
#include "runtime/engine/dispatch/commands.h"

namespace qgen::graph {

// A model's inputs or outputs, by name.
using LentTensors = std::map<std::string, const DeviceTensor*, std::less<>>;

struct NamedTensor {
  std::string name;
  uint32_t tensor = 0;
};

class BoundGraph {
 public:
  struct Parts {
    std::vector<DeviceTensor> tensors;
    std::vector<uint32_t> owners = {};  // of each, the tensor whose memory it has: another view, or itself
    std::vector<NamedTensor> inputs = {}, outputs = {};
  };
  BoundGraph(Parts parts, Recording recording);

  // All inputs in, all outputs out; waits. Errors: an input that is missing, unknown, or of another dtype or shape.
  Expected<Tensors> run(Executor& executor, const Tensors& inputs);
  // Inputs and outputs that are given are read and written where they lie, row-major; the others lie in the arena.
  // Errors: names that the graph does not have, tensors of another dtype, shape or layout, an output that is an input
  // passed through, outputs that share bytes with what is read.
  Done record(Executor& executor, Commands& commands, const LentTensors& inputs, const LentTensors& outputs);

  const DeviceTensor* input(std::string_view name) const;   // null: there is none
  const DeviceTensor* output(std::string_view name) const;  // the same
  Recording& recording() { return recording_; }

 private:
  using Place = std::pair<const NamedTensor*, const DeviceTensor*>;
  static Expected<std::vector<Place>> places_of(const LentTensors& given, const std::vector<NamedTensor>& named,
                                                std::string_view kind);
  Done check_is_written(const NamedTensor& output) const;
  size_t view_count(const std::vector<Place>& places) const;
  Done rebind(Executor& executor, const Place& place, std::vector<DeviceTensor>& views,
              std::vector<Rebinding>& rebindings) const;
  const DeviceTensor* find(const std::vector<NamedTensor>& named, std::string_view name) const;

  Parts parts_;
  std::map<uint32_t, std::vector<uint32_t>> views_;  // of owners: all views, itself among them
  Recording recording_;
};

}  // namespace qgen::graph
