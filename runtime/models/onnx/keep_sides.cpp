// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Nodes that hide what the importer needs to know before the model runs. They become others with the same results:
//
//   Expand before a MatMul that broadcasts                 nothing
//   Shape of a cache, or of a product of attention         Shape of the tokens
//   GatherElements of a table, repeated for each batch     Gather of its rows at the positions
//   Cast of a cache to its own type                        Identity
#include <algorithm>

#include "runtime/models/onnx/fold.h"
#include "runtime/models/onnx/join_attention.h"

namespace qgen::onnx {
namespace {

// The Expand that makes the value, perhaps before Casts; these are given in their order backwards.
const Node* expand_of(Rewriter& rewriter, const std::string& value, std::vector<const Node*>& casts) {
  constexpr size_t kMostCasts = 4;
  std::string inner = value;
  while (const Node* cast = rewriter.writer(inner, "Cast", 1)) {
    if (casts.size() == kMostCasts) return nullptr;
    casts.push_back(cast);
    inner = cast->inputs[0];
  }
  return rewriter.writer(inner, "Expand", 2);
}

// An Expand that only repeats what a MatMul would repeat.
void keep_sides_of_product(Rewriter& rewriter, Node& product) {
  if (product.op != "MatMul" || !product.domain.empty() || product.inputs.size() != 2) return;
  for (size_t i = 0; i < 2; ++i) {
    std::vector<const Node*> casts;
    const Node* expand = expand_of(rewriter, product.inputs[i], casts);
    if (!expand) continue;
    const std::string inner = expand->inputs[0];
    const auto narrow = rewriter.shapes(inner), other = rewriter.shapes(product.inputs[1 - i]),
               made = rewriter.shapes(product.outputs[0]), wide = rewriter.shapes(product.inputs[i]);
    bool fits = !narrow.empty() && !other.empty() && !made.empty() && !wide.empty();
    for (size_t t = 0; fits && t < narrow.size(); ++t) {
      const Shape &a = narrow[t], &b = other[t];
      fits = a.size() >= 2 && b.size() >= 2 && a.size() <= made[t].size() &&
             std::equal(a.end() - 2, a.end(), wide[t].end() - 2);
      if (!fits) break;
      const auto batches = broadcast(dims_of({a.begin(), a.end() - 2}), dims_of({b.begin(), b.end() - 2}));
      fits = batches && known_shape(*batches) == Shape(made[t].begin(), made[t].end() - 2);
    }
    if (!fits) continue;
    std::string operand = inner;
    for (auto cast = casts.rbegin(); cast != casts.rend(); ++cast)
      operand = rewriter.add("Cast", {operand}, (*cast)->attributes, (*cast)->name);
    product.inputs[i] = operand;
    rewriter.touch();
  }
}

// The number of batches, read from the shape of a cache: the tokens have the same.
void keep_sides_of_cache(Rewriter& rewriter, Node& node) {
  if (!node.domain.empty() || node.inputs.empty()) return;
  const bool is_shape = node.op == "Shape" && node.integer("start", 0) == 0 && node.integer("end", 0) == 1;
  const bool is_first = node.op == "Gather" && node.inputs.size() == 2 && rewriter.number(node.inputs[1]) == 0;
  const Node* whole = is_shape ? &node : is_first ? rewriter.writer(node.inputs[0], "Shape", 1) : nullptr;
  if (!whole || whole->integer("start", 0) != 0 || !rewriter.depends_on_past(whole->inputs[0])) return;
  const auto sides = rewriter.shapes(whole->inputs[0]), tokens = rewriter.shapes(kTokens);
  if (sides.empty() || sides.size() != tokens.size() || sides.front().empty()) return;
  for (size_t i = 0; i < sides.size(); ++i) {
    if (tokens[i].empty() || tokens[i][0] != sides[i][0]) return;
  }
  node.inputs[0] = is_shape ? std::string(kTokens) : rewriter.add("Shape", {std::string(kTokens)});
  rewriter.touch();
}

// The value whose shape the node's result is a side of, perhaps times a number, or divided by one. Empty: it is something
// else.
std::string owner_of_side(Rewriter& rewriter, const std::string& side) {
  std::string value = side;
  for (int more = 8; more > 0; --more) {
    const Node* node = rewriter.writer(value);
    if (!node || !node->domain.empty() || node->inputs.empty()) return {};
    if (node->op == "Shape") return node->inputs[0];
    constexpr std::string_view kPassing[] = {"Cast", "Gather", "Identity", "Slice", "Squeeze", "Unsqueeze"};
    const bool scales =
        (node->op == "Div" || node->op == "Mul") && node->inputs.size() == 2 && rewriter.number(node->inputs[1]);
    if (!scales && std::ranges::find(kPassing, node->op) == std::end(kPassing)) return {};
    value = node->inputs[0];
  }
  return {};
}

// The numbers of batches and rows, read from the shape of a product of attention: the tokens have the same. The product
// itself may not be left.
void keep_sides_of_attention(Rewriter& rewriter, Node& node) {
  if (node.outputs.empty() || rewriter.is_output(node.outputs[0])) return;
  const std::string& value = node.outputs[0];
  const Node* product = rewriter.writer(owner_of_side(rewriter, value), "MatMul", 2);
  if (!product || rewriter.constant(product->inputs[0]) || rewriter.constant(product->inputs[1])) return;
  const auto tokens = rewriter.shapes(kTokens);
  if (tokens.empty() || tokens.front().size() != 2) return;
  for (size_t side = 0; side < 2; ++side) {
    bool is_side = true;
    for (size_t i = 0; i < tokens.size(); ++i) {
      const TensorPtr known = rewriter.trials()[i].value(value);
      is_side = is_side && known && known->type == ElementType::i64 && known->size() == 1 && known->shape.size() < 2 &&
                known->integer(0) == tokens[i][side];
    }
    if (!is_side) continue;
    const auto rank = rewriter.shapes(value).front().size();
    const auto index = static_cast<int64_t>(side);
    node.op = "Gather";
    node.inputs = {rewriter.add("Shape", {std::string(kTokens)}),
                   rewriter.add_constant(tensor_of<int64_t>(ElementType::i64, Shape(rank, 1), std::span(&index, 1)))};
    node.attributes.clear();
    rewriter.touch();
    return;
  }
}

// The constant that the value is, perhaps repeated or seen in another shape, as rows of `width` elements.
std::optional<std::pair<std::string, Shape>> table_of(Rewriter& rewriter, std::string value, int64_t width) {
  for (int more = 8; more > 0; --more) {
    if (const TensorPtr constant = rewriter.constant(value)) {
      Shape shape = constant->shape;
      while (shape.size() > 2 && shape.front() == 1) shape.erase(shape.begin());
      const bool fits = shape.size() == 2 && shape[1] == width && is_real(constant->type);
      return fits ? std::optional(std::pair(value, shape)) : std::nullopt;
    }
    const Node* node = rewriter.writer(value);
    constexpr std::string_view kRepeating[] = {"Expand", "Identity", "Reshape", "Tile", "Unsqueeze"};
    if (!node || !node->domain.empty() || std::ranges::find(kRepeating, node->op) == std::end(kRepeating))
      return std::nullopt;
    value = node->inputs[0];
  }
  return std::nullopt;
}

// Whether each row of [B, S, width] is the table's row at the position of the token.
bool are_rows_at_positions(Rewriter& rewriter, const std::string& value, const Tensor& table, int64_t width) {
  const int64_t count = table.size() / std::max<int64_t>(width, 1);
  for (size_t i = 0; i < rewriter.trials().size(); ++i) {
    const auto& [batches, rows, past, others] = rewriter.sizes()[i];
    const TensorPtr made = rewriter.trials()[i].value(value);
    if (!made || made->type != table.type || made->shape != Shape{batches, rows, width}) return false;
    for (int64_t j = 0; j < made->size(); ++j) {
      const int64_t row = past + j / width % rows;
      if (row >= count || made->real(j) != table.real(row * width + j % width)) return false;
    }
  }
  return true;
}

// Rows of a table at the positions, taken element by element from copies of the table for each batch.
void keep_rows_of_table(Rewriter& rewriter, Node& node) {
  if (node.op != "GatherElements" || !node.domain.empty() || rewriter.shapes(kPositions).empty()) return;
  const auto shapes = rewriter.shapes(node.outputs[0]);
  if (shapes.empty() || shapes.front().size() != 3) return;
  const int64_t width = shapes.front()[2];
  const auto table = table_of(rewriter, node.inputs[0], width);
  if (!table || !are_rows_at_positions(rewriter, node.outputs[0], *rewriter.constant(table->first), width)) return;
  const std::string rows = rewriter.add("Reshape", {table->first, rewriter.add_list(table->second)});
  node.op = "Gather";
  node.inputs = {rows, std::string(kPositions)};
  node.attributes = {{"axis", int64_t{0}}};
  rewriter.touch();
}

// A Cast of a cache to the type that it has.
void keep_cache(Rewriter& rewriter, Node& node) {
  if (node.op != "Cast" || !node.domain.empty()) return;
  const Node* joint = rewriter.writer(rewriter.passed(node.inputs[0]), "Concat", 2);
  const ValueInfo* past = joint ? rewriter.input(rewriter.passed(joint->inputs[0])) : nullptr;
  if (!past || past->declared_type == 0 || past->declared_type != node.integer("to", 0)) return;
  node.op = "Identity";
  node.attributes.clear();
  rewriter.touch();
}

}  // namespace

void keep_sides(Rewriter& rewriter) {
  keep_rows(rewriter);
  for (Node* node : rewriter.nodes()) {
    keep_sides_of_product(rewriter, *node);
    keep_sides_of_cache(rewriter, *node);
    keep_sides_of_attention(rewriter, *node);
    keep_rows_of_table(rewriter, *node);
    keep_cache(rewriter, *node);
  }
}

}  // namespace qgen::onnx
