// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// If the caches are states, their third side is the capacity, so nothing can be computed from it. Models that have no
// input of positions compute them: past + 0, 1, 2 ..., or the sum of the mask. And some take rows of a table by a Slice
// from `past` on.
#include <algorithm>

#include "runtime/models/onnx/fold.h"
#include "runtime/models/onnx/join_attention.h"

namespace qgen::onnx {
namespace {

class PositionReader {
 public:
  explicit PositionReader(Rewriter& rewriter) : rewriter_(rewriter) {}

  void run() {
    const auto& inputs = rewriter_.graph().inputs;
    const auto tokens = std::ranges::find(inputs, kTokens, &ValueInfo::name);
    if (tokens == inputs.end() || !tokens->shape || tokens->shape->size() != 2) return;
    const ValueInfo info = *tokens;
    if (!free_name()) return;
    // First those of all sequences. Some models repeat the positions of one sequence for the others.
    for_each_value([&](Node&, const std::string& value) {
      if (is_of_past(value) && is_of_all_sequences(value) && rank_of_positions(value) == 2)
        read_instead_of(value, std::string(kPositions));
    });
    if (is_read_) {
      add_input(info);
      if (!rewriter_.refresh()) return;  // the caller's own refresh says why
    }
    for_each_value([&](Node& node, const std::string& value) { read(node, value); });
    if (is_read_) add_input(info);
  }

 private:
  // The input's name may be that of another value. False: of an output of the model.
  bool free_name() {
    if (std::ranges::count(rewriter_.graph().inputs, kPositions, &ValueInfo::name) > 0) return true;
    if (rewriter_.is_output(kPositions)) return false;
    return rewriter_.rename(std::string(kPositions));
  }

  void add_input(const ValueInfo& tokens) {
    auto& inputs = rewriter_.graph().inputs;
    if (std::ranges::count(inputs, kPositions, &ValueInfo::name) > 0) return;
    inputs.push_back({.name = std::string(kPositions), .type = ElementType::i64, .shape = tokens.shape});
  }

  template <typename Visit>
  void for_each_value(const Visit& visit) {
    for (Node* node : rewriter_.nodes()) {
      for (const std::string& output : node->outputs) {
        if (!output.empty()) visit(*node, output);
      }
    }
  }

  bool is_of_past(const std::string& value) const {
    return !rewriter_.is_output(value) && rewriter_.depends_on_past(value);
  }
  bool is_of_all_sequences(const std::string& value) const {
    const auto shapes = rewriter_.shapes(value);
    bool has_several = false;
    for (size_t i = 0; i < shapes.size(); ++i) {
      const int64_t batches = rewriter_.sizes()[i].batches;
      if (shapes[i].size() != 2 || shapes[i][0] != batches) return false;
      has_several = has_several || batches > 1;
    }
    return has_several;
  }

  void read(Node& node, const std::string& value) {
    if (!is_of_past(value)) return;
    const size_t rank = rank_of_positions(value);
    if (rank == 2) {
      read_instead_of(value, std::string(kPositions));
    } else if (rank == 1) {
      for (Node* reader : rewriter_.readers(value)) take_rows(*reader, value);
    }
    if (is_part_from_past(node)) give_rows(node, node.inputs[0], value);
  }

  // Of past, past + 1 ... in all rows: 1 of [S], 2 of [1, S] or [B, S]; else 0.
  size_t rank_of_positions(const std::string& value) {
    size_t rank = 0;
    for (size_t i = 0; i < rewriter_.trials().size(); ++i) {
      rank = rank_in(rewriter_.trials()[i], rewriter_.sizes()[i], value);
      if (rank == 0) return 0;
    }
    // One that is limited would show in a trial with more tokens than any constant says.
    const int64_t largest = rewriter_.sources(value).largest;
    const TrialSize longer = rewriter_.size_of({1, 2, std::min(largest, kMostKeys) + 3});
    const Trial* trial = largest > kMostKeys ? nullptr : rewriter_.trial_of(longer);
    return trial ? rank_in(*trial, longer, value) : 0;
  }
  static size_t rank_in(const Trial& trial, const TrialSize& size, const std::string& value) {
    const auto& [batches, rows, past, others] = size;
    const TensorPtr tensor = trial.value(value);
    if (!tensor || is_real(tensor->type) || tensor->shape.empty() || tensor->shape.size() > 2) return 0;
    if (tensor->shape.back() != rows) return 0;
    if (tensor->shape.size() == 2 && tensor->shape[0] != 1 && tensor->shape[0] != batches) return 0;
    for (int64_t j = 0; j < tensor->size(); ++j) {
      if (tensor->integer(j) != past + j % rows) return 0;
    }
    return tensor->shape.size();
  }

  void read_instead_of(const std::string& value, const std::string& other) {
    for (Node* reader : rewriter_.readers(value)) std::ranges::replace(reader->inputs, value, other);
    rewriter_.touch();
    is_read_ = true;
  }

  // A Gather of such rows of a table.
  void take_rows(Node& reader, const std::string& positions) {
    const bool is_gather = reader.op == "Gather" && reader.domain.empty() && reader.integer("axis", 0) == 0 &&
                           reader.inputs.size() == 2 && reader.inputs[1] == positions;
    if (is_gather) give_rows(reader, reader.inputs[0], reader.outputs[0]);
  }

  // A Slice of a table, from `past` on, of as many rows as there are tokens.
  bool is_part_from_past(const Node& node) const {
    if (node.op != "Slice" || !node.domain.empty() || node.inputs.size() < 3) return false;
    if (node.has_input(4) && rewriter_.number(node.inputs[4]) != 1) return false;
    const bool is_first = node.has_input(3) && rewriter_.number(node.inputs[3]) == 0;
    for (size_t i = 0; is_first && i < rewriter_.trials().size(); ++i) {
      const Trial& trial = rewriter_.trials()[i];
      const auto& [batches, rows, past, others] = rewriter_.sizes()[i];
      if (trial.number(node.inputs[1]) != static_cast<double>(past)) return false;
      if (trial.number(node.inputs[2]) != static_cast<double>(past + rows)) return false;
    }
    return is_first;
  }

  // [B, S, H] instead of [S, H], where that is added to something, or made [1, S, H].
  void give_rows(const Node& node, const std::string& table, const std::string& value) {
    const auto sides = rewriter_.shapes(table);
    if (sides.empty() || sides.front().size() != 2 || rewriter_.is_output(value)) return;
    std::vector<std::string> replaced;
    bool is_only_added = true;
    for (const Node* reader : rewriter_.readers(value)) {
      const auto made = rewriter_.shapes(reader->outputs[0]);
      is_only_added = is_only_added && reader->op == "Add" && !made.empty() && made.front().size() == 3;
      const bool is_wider =
          reader->op == "Unsqueeze" && !made.empty() && made.front().size() == 3 && made.front()[0] == 1;
      if (is_wider) replaced.push_back(reader->outputs[0]);
    }
    if (is_only_added) replaced = {value};
    if (!is_only_added && replaced.size() != rewriter_.readers(value).size()) return;
    const std::string rows =
        rewriter_.add("Gather", {table, std::string(kPositions)}, {{"axis", int64_t{0}}}, node.name);
    for (const std::string& old : replaced) read_instead_of(old, rows);
  }

  Rewriter& rewriter_;
  bool is_read_ = false;
};

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

void read_positions(Rewriter& rewriter) { PositionReader(rewriter).run(); }

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
