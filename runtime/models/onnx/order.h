// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The nodes that the outputs need, each after the nodes whose results it reads; and the readers of each value.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/models/onnx/model.h"

namespace qgen::onnx {

struct Uses {
  size_t all = 0;        // reads by nodes that are needed, and by the graph's outputs
  size_t quantizes = 0;  // the number of QuantizeLinear among them
};

struct Order {
  std::vector<size_t> nodes;
  std::map<std::string_view, Uses> uses;  // of the model's strings
};

// The node's inputs, then the outer values that its branches read.
std::vector<std::string_view> reads_of(const Node& node);

// Errors: a value that nothing writes, that is written twice, or that needs itself; an output that is not there.
// Whether a graph may read values that others write: branches do.
enum class Around : uint8_t { is_empty, may_be_read };
Expected<Order> order_of(const ModelGraph& graph, Around around = Around::is_empty);

}  // namespace qgen::onnx
