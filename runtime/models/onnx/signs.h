// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Which values of a model are never below 0, as those behind a Relu. DynamicQuantizeLinear of such a value has the zero
// point 0, whatever the model's inputs are: so a convolution of its integers needs no zero point that is computed.
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

  // Nodes in an order in which each stands behind those that it reads. A value that no added node writes, and that is no
  // constant, may have any sign. NaN has none.
  void add(const Node& node);
  bool is_never_negative(std::string_view value) const;

 private:
  bool is_kept(const Node& node) const;

  const ModelGraph& graph_;
  std::set<std::string, std::less<>> never_negative_;
  mutable std::map<const Tensor*, bool> constants_;  // that were looked at
};

}  // namespace qgen::onnx
