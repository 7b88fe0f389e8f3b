// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// x * cos + concat(-second half of x, first half of x) * sin, over the last axis of heads, as RotaryEmbedding. That one
// takes one cos and one sin for two elements. So cos and sin must have equal halves, by how they are made: a Concat of
// one value with itself, or a constant table, and functions of these.
#include <algorithm>
#include <cstring>

#include "runtime/models/onnx/join_attention.h"

namespace qgen::onnx {
namespace {

class RotaryJoiner {
 public:
  RotaryJoiner(Rewriter& rewriter, bool reads_positions) : rewriter_(rewriter), reads_positions_(reads_positions) {}

  void run() {
    for (Node* node : rewriter_.nodes()) {
      if (node->op == "Add" && node->domain.empty() && node->inputs.size() == 2) join(*node);
    }
  }

 private:
  // The two inputs of a product.
  struct Product {
    std::string x, factor;
  };
  // Both orders of the operands of a product that only the sum reads.
  std::vector<Product> products_at(const std::string& value) {
    const Node* product = rewriter_.writer(value, "Mul", 2);
    if (!product || !rewriter_.only_reader(value)) return {};
    const auto& [a, b] = std::tie(product->inputs[0], product->inputs[1]);
    return {{a, b}, {b, a}};
  }

  // Whether the value is the first or the second half of x.
  bool is_half(const std::string& value, const std::string& x, bool is_second) {
    const Node* node = rewriter_.writer(value);
    if (!node || !node->domain.empty() || node->inputs.empty() || node->inputs[0] != x || !rewriter_.only_reader(value))
      return false;
    const auto whole = rewriter_.shapes(x), part = rewriter_.shapes(value);
    if (whole.empty() || part.empty()) return false;
    for (size_t i = 0; i < whole.size(); ++i) {
      Shape half = whole[i];
      if (half.empty() || half.back() % 2 != 0) return false;
      half.back() /= 2;
      if (part[i] != half) return false;
    }
    const auto rank = std::ssize(whole.front());
    if (node->op == "Split") {
      const int64_t axis = node->integer("axis", 0);
      return (axis == -1 || axis == rank - 1) && node->outputs.size() == 2 && node->outputs[is_second ? 1 : 0] == value;
    }
    return node->op == "Slice" &&
           begins_at(*node, is_second ? whole.front().back() / 2 : 0, whole.front().back(), rank);
  }

  // A Slice of the last axis; where it ends, its shape says.
  bool begins_at(const Node& node, int64_t start, int64_t side, int64_t rank) const {
    const auto one = [&](std::string_view attribute, size_t index, int64_t otherwise) -> std::optional<int64_t> {
      if (node.find(attribute)) {
        const auto list = node.integers(attribute);
        return list.size() == 1 ? std::optional(list.front()) : std::nullopt;
      }
      if (!node.has_input(index)) return otherwise;
      const auto number = rewriter_.number(node.inputs[index]);
      return number ? std::optional(static_cast<int64_t>(*number)) : std::nullopt;
    };
    const auto from = one("starts", 1, 0), axis = one("axes", 3, 0), step = one("steps", 4, 1);
    return from && axis && step == 1 && (*axis == -1 || *axis == rank - 1) && (*from == start || *from == start - side);
  }

  // The x of concat(-second half, first half).
  std::optional<std::string> turned_at(const std::string& value) {
    const Node* joint = rewriter_.writer(value, "Concat", 2);
    if (!joint || joint->inputs.size() != 2 || !rewriter_.only_reader(value)) return std::nullopt;
    const Node* negative = rewriter_.writer(joint->inputs[0], "Neg", 1);
    if (!negative || !rewriter_.only_reader(joint->inputs[0])) return std::nullopt;
    const Node* half = rewriter_.writer(negative->inputs[0]);
    if (!half || half->inputs.empty()) return std::nullopt;
    const std::string& x = half->inputs[0];
    const bool is_turned = is_half(negative->inputs[0], x, true) && is_half(joint->inputs[1], x, false);
    return is_turned && is_along_last(*joint, x) ? std::optional(x) : std::nullopt;
  }
  bool is_along_last(const Node& node, const std::string& of) const {
    const auto shapes = rewriter_.shapes(of);
    const int64_t axis = node.integer("axis", 0);
    return !shapes.empty() && (axis == -1 || axis == std::ssize(shapes.front()) - 1);
  }

  // The first half of the last axis, if the second is the same.
  std::optional<std::string> half_of(const std::string& value, int depth = 0) {
    constexpr int kMostNodes = 16;
    if (depth > kMostNodes) return std::nullopt;
    const auto found = halves_.find(value);
    if (found != halves_.end()) return found->second;
    auto half = made_half(value, depth);
    halves_.emplace(value, half);
    return half;
  }
  std::optional<std::string> made_half(const std::string& value, int depth) {
    if (const TensorPtr constant = rewriter_.constant(value)) return half_of_constant(*constant);
    const Node* node = rewriter_.writer(value);
    if (!node || !node->domain.empty() || node->inputs.empty()) return std::nullopt;
    if (node->op == "Concat" && node->inputs.size() == 2 && node->inputs[0] == node->inputs[1])
      return is_along_last(*node, value) ? std::optional(node->inputs[0]) : std::nullopt;
    if (node->op == "Transpose") return half_of_turned(*node);
    constexpr std::string_view kOfOne[] = {"Cast", "Cos", "Identity", "Sin"};
    const bool is_scaled = (node->op == "Mul" || node->op == "Div") && node->inputs.size() == 2;
    const size_t of = is_scaled && rewriter_.number(node->inputs[0]) ? 1 : 0;
    if (is_scaled && !rewriter_.number(node->inputs[1 - of])) return std::nullopt;
    if (is_scaled && node->op == "Div" && of == 1) return std::nullopt;
    const bool is_gather = node->op == "Gather" && node->integer("axis", 0) == 0 && node->inputs.size() == 2;
    if (!is_scaled && !is_gather && std::ranges::find(kOfOne, node->op) == std::end(kOfOne)) return std::nullopt;
    const Node copy = *node;
    const auto half = half_of(is_gather ? whole_table(copy.inputs[0]) : copy.inputs[of], depth + 1);
    if (!half) return std::nullopt;
    std::vector<std::string> inputs = copy.inputs;
    inputs[of] = *half;
    return rewriter_.add(copy.op, std::move(inputs), copy.attributes, copy.name);
  }
  // Halves that were joined along the axis that is the last one afterwards.
  std::optional<std::string> half_of_turned(const Node& turned) {
    const Node* joint = rewriter_.writer(turned.inputs[0], "Concat", 2);
    const auto shapes = rewriter_.shapes(turned.inputs[0]);
    if (!joint || joint->inputs.size() != 2 || joint->inputs[0] != joint->inputs[1] || shapes.empty())
      return std::nullopt;
    const auto rank = std::ssize(shapes.front());
    const std::vector<int64_t> order = permutation_of(turned, shapes.front().size());
    const int64_t axis = joint->integer("axis", 0);
    if (order.empty() || order.back() != (axis < 0 ? axis + rank : axis)) return std::nullopt;
    return rewriter_.add("Transpose", {joint->inputs[0]}, turned.attributes, turned.name);
  }
  // Some models cut a table to the number of tokens. No position is behind that, so the whole one does as well. Older
  // ones store it as [1, 1, Q, D].
  std::string whole_table(const std::string& value) {
    std::string inner = value;
    for (int more = 4; more > 0; --more) {
      const Node* node = rewriter_.writer(inner);
      const bool cuts = node && node->op == "Slice" && node->inputs.size() > 2 &&
                        rewriter_.number(node->inputs[1]) == 0 &&
                        (!node->has_input(4) || rewriter_.number(node->inputs[4]) == 1);
      if (!node || !node->domain.empty() || (!cuts && node->op != "Squeeze")) break;
      inner = node->inputs[0];
    }
    const TensorPtr table = rewriter_.constant(inner);
    const auto shapes = rewriter_.shapes(value);
    if (!table || shapes.empty() || shapes.front().size() != 2 || table->shape.size() < 2) return value;
    const Shape rows(table->shape.end() - 2, table->shape.end());
    const bool is_of_rows = element_count(rows) == table->size() && rows[1] == shapes.front()[1];
    if (!is_of_rows || table->shape.size() == 2) return is_of_rows ? inner : value;
    Tensor matrix = *table;
    matrix.shape = rows;
    return rewriter_.add_constant(std::move(matrix));
  }
  std::optional<std::string> half_of_constant(const Tensor& tensor) {
    if (tensor.shape.empty() || tensor.shape.back() % 2 != 0 || !is_real(tensor.type)) return std::nullopt;
    Tensor half{"", tensor.type, tensor.shape, {}};
    half.shape.back() /= 2;
    const auto width = static_cast<size_t>(half.shape.back() * bytes(tensor.type));
    for (size_t at = 0; width > 0 && at < tensor.data.size(); at += 2 * width) {
      if (std::memcmp(&tensor.data[at], &tensor.data[at + width], width) != 0) return std::nullopt;
      half.data.insert(half.data.end(), &tensor.data[at], &tensor.data[at] + width);
    }
    return rewriter_.add_constant(std::move(half));
  }

  struct Rotation {
    std::string x, cos, sin;  // cos and sin as the model has them
    std::string names;
  };
  std::optional<Rotation> rotation_at(const Node& sum) {
    for (size_t i = 0; i < 2; ++i) {
      for (const Product& plain : products_at(sum.inputs[i])) {
        for (const Product& turned : products_at(sum.inputs[1 - i])) {
          const auto x = turned_at(turned.x);
          if (x == plain.x) return Rotation{*x, plain.factor, turned.factor, sum.name};
        }
      }
    }
    return std::nullopt;
  }

  // The axis of heads, of heads [B, N, S, D] or [B, S, N, D]; cos is [B, S, D] with a 1 there.
  std::optional<size_t> axis_of_heads(const std::string& x, const std::string& cos) const {
    const auto heads = rewriter_.shapes(x), angles = rewriter_.shapes(cos);
    if (heads.empty() || angles.empty()) return std::nullopt;
    // One row of angles for all sequences gets one for each when the input of positions is read instead.
    const bool may_widen = reads_positions_ && rewriter_.depends_on_past(cos);
    for (const size_t axis : {size_t{1}, size_t{2}}) {
      bool fits = true;
      for (size_t i = 0; i < heads.size(); ++i) {
        Shape expected = heads[i];
        fits = fits && expected.size() == 4;
        if (fits) expected[axis] = 1;
        if (fits && may_widen && angles[i].size() == 4 && angles[i][0] == 1) expected[0] = 1;
        fits = fits && angles[i] == expected;
      }
      if (fits) return axis;
    }
    return std::nullopt;
  }

  // [B, S, D / 2] of what an Unsqueeze makes.
  std::optional<std::string> angles_at(const std::string& value) {
    const Node* wider = rewriter_.writer(value, "Unsqueeze", 1);
    if (!wider) return std::nullopt;
    const std::string inner = wider->inputs[0];
    const auto before = rewriter_.shapes(inner);
    if (before.empty() || before.front().size() != 3) return std::nullopt;
    return half_of(inner);
  }

  void join(const Node& sum) {
    const auto rotation = rotation_at(sum);
    if (!rotation) return;
    const auto axis = axis_of_heads(rotation->x, rotation->cos), same = axis_of_heads(rotation->x, rotation->sin);
    if (!axis || axis != same) return;
    const auto cos = angles_at(rotation->cos), sin = angles_at(rotation->sin);
    if (!cos || !sin) return;
    const auto shapes = rewriter_.shapes(rotation->x);
    const int64_t heads = shapes.front()[*axis], width = shapes.front()[3];
    const auto is_same = [&](const Shape& one) { return one[*axis] == heads && one[3] == width; };
    if (!std::ranges::all_of(shapes, is_same)) return;
    std::string x = rotation->x;
    if (*axis == 1) {
      const auto rows = rows_before(rewriter_, x);
      x = rows ? *rows : rewriter_.add("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    }
    x = rewriter_.add("Reshape", {x, rewriter_.add_list({0, 0, heads * width})});
    const std::string rotated = rewriter_.add("RotaryEmbedding", {x, *cos, *sin}, {{"num_heads", heads}}, sum.name);
    const std::string target = rewriter_.add_list({0, 0, heads, width});
    const std::string result = sum.outputs[0];
    if (*axis == 2) {
      rewriter_.replace(
          result, {.name = sum.name + " heads", .op = "Reshape", .inputs = {rotated, target}, .outputs = {result}});
      return;
    }
    const std::string parted = rewriter_.add("Reshape", {rotated, target});
    rewriter_.replace(result, {.name = sum.name + " heads first",
                               .op = "Transpose",
                               .inputs = {parted},
                               .outputs = {result},
                               .attributes = {{"perm", std::vector<int64_t>{0, 2, 1, 3}}}});
  }

  Rewriter& rewriter_;
  bool reads_positions_;
  std::map<std::string, std::optional<std::string>> halves_;
};

// ---- rotations before caches ----------------------------------------------------------------------------------------

class RotatedCacheJoiner {
 public:
  RotatedCacheJoiner(Rewriter& rewriter, std::span<const StateNames> states) : rewriter_(rewriter), states_(states) {}

  void run() {
    for (Node* node : rewriter_.nodes()) {
      if (node->op == "Attention" && node->domain.empty()) join(*node);
    }
  }

 private:
  struct Rotation {
    std::string x, cos, sin;  // tables
    int64_t heads = 0, is_interleaved = 0;
  };

  bool is_state(const Node& node, size_t past, size_t present) const {
    return node.has_input(past) && present < node.outputs.size() &&
           std::ranges::count(states_, StateNames{node.inputs[past], node.outputs[present]}) > 0;
  }

  // Through Reshapes: the first value with these shapes, and so with these elements at their places.
  std::string before_reshapes(const std::string& value) {
    const auto shapes = rewriter_.shapes(value);
    std::string first = value, inner = value;
    for (int more = 8; more > 0 && !shapes.empty(); --more) {
      const Node* node = rewriter_.writer(inner, "Reshape", 2);
      if (!node) break;
      inner = node->inputs[0];
      if (rewriter_.shapes(inner) == shapes) first = inner;
    }
    return first;
  }

  // The RotaryEmbedding that makes the value, or what is a Reshape of it.
  const Node* rotation_of(std::string value) {
    for (int more = 4; more > 0; --more) {
      if (const Node* rotation = rewriter_.writer(value, "RotaryEmbedding", 3)) return rotation;
      const Node* node = rewriter_.writer(value, "Reshape", 2);
      if (!node) break;
      value = node->inputs[0];
    }
    return nullptr;
  }

  // [Q, R] whose rows at kPositions are the value.
  std::optional<std::string> table_of(const std::string& value) {
    std::string rows = rewriter_.passed(value);
    if (const Node* cast = rewriter_.writer(rows, "Cast", 1)) rows = rewriter_.passed(cast->inputs[0]);
    const Node* node = rewriter_.writer(rows, "Gather", 2);
    if (!node || node->integer("axis", 0) != 0 || node->inputs[1] != kPositions) return std::nullopt;
    const TensorPtr table = rewriter_.constant(node->inputs[0]);
    const bool fits = table && table->shape.size() == 2 && is_real(table->type);
    return fits ? std::optional(node->inputs[0]) : std::nullopt;
  }

  // `value`: [B, S, N * D].
  std::optional<Rotation> rotation_at(const std::string& value, int64_t heads) {
    const Node* node = rotation_of(value);
    if (!node || !node->domain.empty() || node->has_input(3) || node->integer("num_heads", 0) != heads)
      return std::nullopt;
    if (rewriter_.shapes(node->inputs[0]).empty() || rewriter_.shapes(node->inputs[0]) != rewriter_.shapes(value))
      return std::nullopt;
    const auto cos = table_of(node->inputs[1]), sin = table_of(node->inputs[2]);
    if (!cos || !sin) return std::nullopt;
    const Shape angles = rewriter_.constant(*cos)->shape;
    const int64_t said = node->integer("rotary_embedding_dim", 0);
    const int64_t width = rewriter_.shapes(value).front().back() / std::max<int64_t>(heads, 1);
    if (rewriter_.constant(*sin)->shape != angles || 2 * angles[1] != (said > 0 ? said : width)) return std::nullopt;
    return Rotation{before_reshapes(node->inputs[0]), *cos, *sin, heads, node->integer("interleaved", 0)};
  }

  void join(Node& node) {
    const bool is_cached = is_state(node, 4, 1) && is_state(node, 5, 2);
    if (!is_cached || node.inputs.size() > 6 || node.integer("q_num_heads", 0) < 1) return;
    const auto query = rotation_at(node.inputs[0], node.integer("q_num_heads", 0));
    const auto key = rotation_at(node.inputs[1], node.integer("kv_num_heads", 0));
    if (!query || !key || query->is_interleaved != key->is_interleaved) return;
    if (!are_equal(query->cos, key->cos) || !are_equal(query->sin, key->sin)) return;
    node.inputs.resize(RotatedInput::count);
    node.inputs[RotatedInput::cos] = query->cos;
    node.inputs[RotatedInput::sin] = query->sin;
    node.inputs[RotatedInput::query] = query->x;
    node.inputs[RotatedInput::key] = key->x;
    node.inputs[2] = before_reshapes(node.inputs[2]);
    node.attributes.insert_or_assign("rotary_interleaved", query->is_interleaved);
    rewriter_.touch();
  }

  bool are_equal(const std::string& a, const std::string& b) const {
    const TensorPtr one = rewriter_.constant(a), other = rewriter_.constant(b);
    return one == other || (one->type == other->type && one->shape == other->shape && one->data == other->data);
  }

  Rewriter& rewriter_;
  std::span<const StateNames> states_;
};

}  // namespace

void join_rotated_caches(Rewriter& rewriter, std::span<const StateNames> states) {
  RotatedCacheJoiner(rewriter, states).run();
}

std::optional<std::string> rows_before(Rewriter& rewriter, const std::string& heads_first) {
  const Node* turned = rewriter.writer(heads_first, "Transpose", 1);
  const bool is_so = turned && turned->integers("perm") == std::vector<int64_t>{0, 2, 1, 3};
  return is_so ? std::optional(turned->inputs[0]) : std::nullopt;
}

void join_rotary(Rewriter& rewriter, bool reads_positions) { RotaryJoiner(rewriter, reads_positions).run(); }

}  // namespace qgen::onnx
