// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Some exporters flatten [batch, rows, size] to [batch * rows, size] before layers, and part it afterwards. A Reshape can
// give the two sides back only if they are known. But most layers compute each row by itself, so they need no flat rows.
//
//   Reshape [B * S, K], LayerNormalization, MatMul, Add, Relu, MatMul, Add, Reshape [B, S, K]   ->   without both Reshapes
//
// Several values can be flat at once, as the residual of a layer is. All nodes between such Reshapes change together, or
// none does.
#include <algorithm>

#include "runtime/models/onnx/functions.h"
#include "runtime/models/onnx/join_attention.h"

namespace qgen::onnx {
namespace {

constexpr std::string_view kProducts[] = {"MatMul", "MatMulInteger", "Gemm"};
constexpr std::string_view kSums[] = {"Add", "Div", "Mul", "Sub"};
constexpr std::string_view kNorms[] = {"LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization"};
constexpr std::string_view kOfOne[] = {"Cast", "DynamicQuantizeLinear", "Identity", "Silu"};

class RowKeeper {
 public:
  explicit RowKeeper(Rewriter& rewriter) : rewriter_(rewriter) {}

  void run() {
    for (Node* node : rewriter_.nodes()) {
      if (seen_.contains(node) || !is_flattening(*node)) continue;
      region_ = {.sides = sides_of(node->inputs[0])};
      region_.flattenings.insert(node);
      const bool is_whole = reach(node->outputs[0]) && std::ranges::includes(region_.values, region_.needed);
      seen_.insert(region_.flattenings.begin(), region_.flattenings.end());
      if (is_whole && !region_.partings.empty()) change();
    }
  }

 private:
  using Sides = std::vector<std::pair<int64_t, int64_t>>;  // of batches and rows, in each trial
  struct Region {
    Sides sides;
    std::set<std::string> values, needed;  // the flat ones; and those that its nodes read beside them
    std::set<Node*> flattenings, partings, layers;
  };

  // [b, s, k] of each trial, and [b * s, k].
  bool is_flat_of(const std::string& wide, const std::string& flat) const {
    const auto before = rewriter_.shapes(wide), after = rewriter_.shapes(flat);
    if (before.empty() || after.empty() || before.front().size() != 3 || after.front().size() != 2) return false;
    for (size_t i = 0; i < before.size(); ++i) {
      if (after[i] != Shape{before[i][0] * before[i][1], before[i][2]}) return false;
    }
    return true;
  }
  // The first two of three.
  Sides sides_of(const std::string& wide) const {
    Sides sides;
    for (const Shape& shape : rewriter_.shapes(wide)) {
      if (shape.size() == 3) sides.emplace_back(shape[0], shape[1]);
    }
    return sides;
  }
  bool is_reshape(const Node& node) const {
    return node.op == "Reshape" && node.domain.empty() && node.inputs.size() == 2;
  }
  // Of two sides that differ between trials, so no Reshape gives them back.
  bool is_flattening(const Node& node) const {
    if (!is_reshape(node) || !is_flat_of(node.inputs[0], node.outputs[0])) return false;
    const Sides sides = sides_of(node.inputs[0]);
    const auto differs = [&](const auto& of) { return std::ranges::any_of(sides, of); };
    return differs([&](const auto& one) { return one.first != sides[0].first; }) &&
           differs([&](const auto& one) { return one.second != sides[0].second; }) &&
           differs([](const auto& one) { return one.first != one.second; });
  }

  // Adds the value's readers, and what they give. false: one of them needs flat rows.
  bool reach(const std::string& first) {
    std::vector<std::string> open{first};
    while (!open.empty()) {
      const std::string value = std::move(open.back());
      open.pop_back();
      if (!region_.values.insert(value).second) continue;
      if (rewriter_.is_output(value)) return false;
      for (Node* reader : rewriter_.readers(value)) {
        if (is_reshape(*reader) && reader->inputs[0] == value && is_flat_of(reader->outputs[0], value) &&
            sides_of(reader->outputs[0]) == region_.sides) {
          region_.partings.insert(reader);
        } else if (takes_rows(*reader, value)) {
          region_.layers.insert(reader);
          open.push_back(reader->outputs[0]);
          if (!add_operands(*reader, value, open)) return false;
        } else {
          return false;
        }
      }
    }
    return true;
  }

  // Whether the node computes each row of the value by itself, and gives a row for it.
  bool takes_rows(const Node& node, const std::string& value) const {
    if (node.domain == "com.microsoft" && node.op == "MatMulNBits") return node.inputs[0] == value;
    if (!node.domain.empty() || std::ranges::count(node.inputs, value) != 1) return false;
    if (is_one_of(node.op, kSums)) return node.inputs.size() == 2;
    if (node.inputs[0] != value) return false;
    if (node.op == "Gemm")
      return node.integer("transA", 0) == 0 && node.real("alpha", 1) == 1 && node.real("beta", 1) == 1;
    if (is_one_of(node.op, kNorms))
      return (node.integer("axis", -1) == -1 || node.integer("axis", -1) == 1) && gives_one_value(node);
    return is_one_of(node.op, kProducts) || is_one_of(node.op, kOfOne) || is_function(node.op);
  }

  // Not the mean, which would be flat too.
  bool gives_one_value(const Node& node) const {
    return std::all_of(node.outputs.begin() + 1, node.outputs.end(), [&](const std::string& output) {
      return output.empty() || (rewriter_.readers(output).empty() && !rewriter_.is_output(output));
    });
  }

  // The operands beside the value: other flat ones, or those that are the same for all rows.
  bool add_operands(const Node& node, const std::string& value, std::vector<std::string>& open) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const std::string& operand = node.inputs[i];
      if (operand.empty() || operand == value) continue;
      const auto shapes = rewriter_.shapes(operand);
      if (shapes.empty()) return false;
      const bool is_weight = i == 1 && (is_one_of(node.op, kProducts) || node.op == "MatMulNBits");
      if (is_weight || node.op == "MatMulNBits" ? rewriter_.constant(operand) != nullptr : shapes.front().size() <= 1)
        continue;
      if (!is_one_of(node.op, kSums)) return false;
      region_.needed.insert(operand);
      Node* writer = rewriter_.writer(operand);
      if (writer && is_flattening(*writer) && sides_of(writer->inputs[0]) == region_.sides) {
        region_.flattenings.insert(writer);
        open.push_back(operand);
      }
    }
    return true;
  }

  void change() {
    for (Node* node : region_.layers) {
      if (node->op == "Gemm") spell_out(*node);
      else if (is_one_of(node->op, kNorms)) node->attributes.insert_or_assign("axis", int64_t{-1});
    }
    for (const auto* ends : {&region_.flattenings, &region_.partings}) {
      for (Node* node : *ends) {
        node->op = "Identity";
        node->inputs.resize(1);
        node->attributes.clear();
      }
    }
    // The model may declare their shapes.
    std::erase_if(rewriter_.graph().values, [&](const ValueInfo& info) { return region_.values.contains(info.name); });
    rewriter_.touch();
  }

  // A Gemm takes matrices only.
  void spell_out(Node& gemm) {
    std::string weight = gemm.inputs[1];
    if (gemm.integer("transB", 0) != 0)
      weight = rewriter_.add("Transpose", {weight}, {{"perm", std::vector<int64_t>{1, 0}}});
    const bool has_bias = gemm.has_input(2);
    const std::string x = gemm.inputs[0], bias = has_bias ? gemm.inputs[2] : std::string();
    gemm.attributes.clear();
    if (!has_bias) {
      gemm.op = "MatMul";
      gemm.inputs = {x, weight};
      return;
    }
    const std::string product = rewriter_.add("MatMul", {x, weight}, {}, gemm.name);
    gemm.name += " bias";
    gemm.op = "Add";
    gemm.inputs = {product, bias};
  }

  Rewriter& rewriter_;
  Region region_;
  std::set<const Node*> seen_;  // flattenings
};

}  // namespace

void keep_rows(Rewriter& rewriter) { RowKeeper(rewriter).run(); }

}  // namespace qgen::onnx
