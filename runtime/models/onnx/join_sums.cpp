// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sum of a residual connection and the normalization after it, as one of com.microsoft's nodes: its kernels read both
// summands once, and write the sum and its normalization.
#include <algorithm>

#include "runtime/models/onnx/join_attention.h"

namespace qgen::onnx {
namespace {

// Along the last axis, with a weight.
bool is_of_rows(Rewriter& rewriter, const Node& node) {
  const bool is_known = node.op == "RMSNormalization" || node.op == "LayerNormalization";
  if (!is_known || !node.domain.empty() || node.inputs.size() < 2 || node.outputs.size() != 1) return false;
  const auto shapes = rewriter.shapes(node.inputs[0]);
  const auto weight = rewriter.constant(node.inputs[1]);
  if (shapes.empty() || shapes.front().empty() || !weight || weight->shape != Shape{shapes.front().back()})
    return false;
  const int64_t axis = node.integer("axis", -1), rank = std::ssize(shapes.front());
  const auto axes = node.integers("axes");
  return (axis == -1 || axis == rank - 1) && axes.size() < 2;
}

void join_sum(Rewriter& rewriter, const Node& norm) {
  if (!is_of_rows(rewriter, norm)) return;
  const Node* sum = rewriter.writer(norm.inputs[0], "Add", 2);
  if (!sum || sum->inputs.size() != 2 || rewriter.is_output(norm.inputs[0])) return;
  const auto a = rewriter.shapes(sum->inputs[0]), b = rewriter.shapes(sum->inputs[1]);
  const bool are_computed = !rewriter.constant(sum->inputs[0]) && !rewriter.constant(sum->inputs[1]);
  // Several normalizations of one sum: the first one gets it.
  const auto is_norm = [&](const Node* reader) { return is_of_rows(rewriter, *reader); };
  const auto& readers = rewriter.readers(norm.inputs[0]);
  const auto first = std::ranges::find_if(readers, is_norm);
  if (!are_computed || a.empty() || a != b || first == readers.end() || *first != &norm) return;
  const bool is_simplified = norm.op == "RMSNormalization";
  Node joined{.name = norm.name,
              .op = is_simplified ? "SkipSimplifiedLayerNormalization" : "SkipLayerNormalization",
              .domain = "com.microsoft",
              .inputs = {sum->inputs[0], sum->inputs[1]},
              .outputs = {norm.outputs[0], "", "", norm.inputs[0]},
              .attributes = {{"epsilon", norm.real("epsilon", 1e-5f)}}};
  joined.inputs.insert(joined.inputs.end(), norm.inputs.begin() + 1, norm.inputs.end());
  if (Node* before = rewriter.writer(norm.inputs[0]))
    std::ranges::replace(before->outputs, norm.inputs[0], norm.inputs[0] + " unread");
  rewriter.replace(norm.outputs[0], std::move(joined));
}

}  // namespace

void join_sums(Rewriter& rewriter) {
  for (const Node* node : rewriter.nodes()) join_sum(rewriter, *node);
}

}  // namespace qgen::onnx
