// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Which values of a model are never below 0, for example those after a Relu. DynamicQuantizeLinear of such a value has
// the zero point 0 for all inputs of the model. So a convolution of its integers needs no computed zero point.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "runtime/models/onnx/model.h"

namespace qgen::onnx {

class Signs {
 public:
  explicit Signs(const ModelGraph& graph) : graph_(graph) {}

  // Nodes in an order in which each comes after the nodes that it reads. A value that no added node writes, and that is
  // no constant, may have any sign. NaN has none.
  void add(const Node& node);
  bool is_never_negative(std::string_view value) const;

 private:
  bool is_kept(const Node& node) const;

  const ModelGraph& graph_;
  std::set<std::string, std::less<>> never_negative_;
  mutable std::map<const Tensor*, bool> constants_;  // the examined ones
};

}  // namespace qgen::onnx
