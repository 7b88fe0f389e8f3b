// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A trial of a model: which shapes its values have if its inputs have these shapes, and what it computes of shapes, small
// constants and given integers. Large constants, which are weights, are not read, and
// nothing of the data is known.
//
//   input_ids [2, 3], past [2, 4, 5, 8]     Range(past, past + rows)  ->  5, 6, 7      MatMul  ->  [2, 4, 3, 8]
//
// Passes that recognise nodes by what they compute (join_attention.h) compare trials of several sizes. What a trial does
// not know, it leaves out: a pass then recognises less.
#pragma once

#include "runtime/models/onnx/builder.h"
#include "runtime/models/onnx/order.h"

namespace qgen::onnx {

class Trial {
 public:
  // `values`: integers of inputs. Inputs without a value have data of the shape. `budget`: how many elements are computed,
  // and more in proportion to the model's constants.
  static constexpr int64_t kBudget = 1 << 20;
  Trial(const Model& model, const Order& order, const std::map<std::string, Shape>& shapes,
        const std::map<std::string, TensorPtr>& values, int64_t budget = kBudget);

  std::optional<Shape> shape(std::string_view value) const;
  // Of a value of shapes or constants; null: it depends on data, or is large.
  TensorPtr value(std::string_view value) const;
  // All elements of a value that are one number.
  std::optional<double> number(std::string_view value) const;
  // Whether both know the same of the value, or nothing.
  static bool agree(const Trial& a, const Trial& b, std::string_view value);

 private:
  void add_constants(const ModelGraph& graph);
  void visit(const ModelGraph& graph, const Node& node);
  void visit_caches(const Node& node, Arguments arguments);
  std::optional<Dims> shape_of(const Node& node, Arguments arguments);
  std::optional<std::vector<Dims>> shapes_of_parts(const Node& node, Arguments arguments) const;

  Builder builder_;
  std::map<std::string, Known, std::less<>> known_;
};

}  // namespace qgen::onnx
