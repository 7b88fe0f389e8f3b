// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The nodes that the outputs need, each behind those whose results it reads; and who reads what.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/onnx/model.h"

namespace qgen::onnx {

struct Uses {
  size_t all = 0;        // reads by nodes that are needed, and by the graph's outputs
  size_t quantizes = 0;  // those of them that are QuantizeLinear
};

struct Order {
  std::vector<size_t> nodes;
  std::map<std::string_view, Uses> uses;  // of the model's strings
};

// Errors: a value that nothing writes, that is written twice, or that needs itself; an output that is not there.
Expected<Order> order_of(const ModelGraph& graph);

}  // namespace qgen::onnx
