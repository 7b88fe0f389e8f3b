// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// x * cos + concat(-second half of x, first half of x) * sin, over the last axis of heads, as RotaryEmbedding. That one
// takes one cos and one sin for two elements. So cos and sin must have equal halves, by how they are made: a Concat of
// one value with itself, or a constant table, and functions of these.
//
// The interleaved form pairs neighbours instead of halves. There are two ways to write it, x1 and x2 being the elements
// with even and odd numbers:
//
//   x * cos + flatten(stack(-x2, x1)) * sin                        cos and sin have each angle twice
//   flatten(stack(x1 * cos - x2 * sin, x2 * cos + x1 * sin))       cos and sin have it once
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
      if (node->op == "Add" && node->domain.empty() && node->inputs.size() == 2) join_sum(*node);
      if (node->op == "Reshape" && node->domain.empty() && node->inputs.size() == 2) join_stack(*node);
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
  bool begins_at(const Node& node, int64_t start, int64_t side, int64_t rank) {
    const auto from = constant_at(node, "starts", 1, 0), axis = constant_at(node, "axes", 3, 0),
               step = constant_at(node, "steps", 4, 1);
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

  // ---- neighbours ---------------------------------------------------------------------------------------------------

  std::optional<int64_t> constant_at(const Node& node, std::string_view attribute, size_t index, int64_t otherwise) {
    if (node.find(attribute)) {
      const auto list = node.integers(attribute);
      return list.size() == 1 ? std::optional(list.front()) : std::nullopt;
    }
    if (!node.has_input(index)) return otherwise;
    const auto number = rewriter_.number(node.inputs[index]);
    return number ? std::optional(static_cast<int64_t>(*number)) : std::nullopt;
  }

  // The x whose elements with even numbers the value is, or with odd ones: x[..., start::2], or the same of x with the
  // last axis parted in pairs.
  std::optional<std::string> every_second_of(const std::string& value, int64_t start) {
    const Node* node = rewriter_.writer(value);
    if (!node || !node->domain.empty() || node->inputs.empty()) return std::nullopt;
    const Node* parts = node->op == "Gather" ? rewriter_.writer(node->inputs[0], "Reshape", 2) : nullptr;
    if (node->op != "Slice" && !parts) return std::nullopt;
    const std::string& x = parts ? parts->inputs[0] : node->inputs[0];
    const auto whole = rewriter_.shapes(x), half = rewriter_.shapes(value), pairs = rewriter_.shapes(node->inputs[0]);
    if (whole.empty() || half.empty() || pairs.empty() || whole.front().empty()) return std::nullopt;
    for (size_t i = 0; i < whole.size(); ++i) {
      Shape expected = whole[i];
      if (expected.back() % 2 != 0 || expected.back() != whole.front().back()) return std::nullopt;
      expected.back() /= 2;
      if (half[i] != expected) return std::nullopt;
      expected.push_back(2);
      if (parts && pairs[i] != expected) return std::nullopt;
    }
    const int64_t rank = std::ssize(whole.front()), side = whole.front().back();
    if (parts) {
      const int64_t axis = node->integer("axis", 0);
      const auto index = rewriter_.number(node->inputs.size() > 1 ? node->inputs[1] : "");
      const bool fits = (axis == -1 || axis == rank) && index &&
                        (*index == static_cast<double>(start) || *index == static_cast<double>(start - 2));
      return fits ? std::optional(x) : std::nullopt;
    }
    const auto from = constant_at(*node, "starts", 1, 0), axis = constant_at(*node, "axes", 3, 0),
               step = constant_at(*node, "steps", 4, 1);
    const bool fits =
        from && axis && step == 2 && (*axis == -1 || *axis == rank - 1) && (*from == start || *from == start - side);
    return fits ? std::optional(x) : std::nullopt;
  }

  // The two values that are stacked along a new last axis, which is then joined with the one before.
  std::optional<std::pair<std::string, std::string>> stacked_at(const Node& flattening) {
    const Node* joint = rewriter_.writer(flattening.inputs[0], "Concat", 2);
    // Other nodes may read its shape.
    if (!joint || joint->inputs.size() != 2 || !is_along_last(*joint, flattening.inputs[0])) return std::nullopt;
    const auto result = rewriter_.shapes(flattening.outputs[0]);
    std::vector<std::string> parts;
    for (const std::string& wide : joint->inputs) {
      const Node* wider = rewriter_.writer(wide, "Unsqueeze", 1);
      const auto before = wider ? rewriter_.shapes(wider->inputs[0]) : std::vector<Shape>();
      const auto after = rewriter_.shapes(wide);
      if (before.empty() || before.size() != after.size() || before.size() != result.size()) return std::nullopt;
      for (size_t i = 0; i < before.size(); ++i) {
        Shape expected = before[i];
        expected.push_back(1);
        if (after[i] != expected) return std::nullopt;
        expected.pop_back();
        if (expected.empty()) return std::nullopt;
        expected.back() *= 2;
        if (result[i] != expected) return std::nullopt;
      }
      parts.push_back(wider->inputs[0]);
    }
    return std::pair(parts[0], parts[1]);
  }

  // The x of flatten(stack(-x2, x1)).
  std::optional<std::string> turned_pairs_at(const std::string& value) {
    const Node* flattening = rewriter_.writer(value, "Reshape", 2);
    if (!flattening || !rewriter_.only_reader(value)) return std::nullopt;
    const auto parts = stacked_at(*flattening);
    const Node* negative = parts ? rewriter_.writer(parts->first, "Neg", 1) : nullptr;
    if (!negative) return std::nullopt;
    const auto odd = every_second_of(negative->inputs[0], 1), even = every_second_of(parts->second, 0);
    return odd && odd == even ? odd : std::nullopt;
  }

  // [.., R] of [.., 2 R], if each element is there twice.
  std::optional<std::string> single_of(const std::string& value, int depth = 0) {
    constexpr int kMostNodes = 16;
    if (depth > kMostNodes) return std::nullopt;
    const auto found = singles_.find(value);
    if (found != singles_.end()) return found->second;
    auto single = made_single(value, depth);
    singles_.emplace(value, single);
    return single;
  }
  std::optional<std::string> made_single(const std::string& value, int depth) {
    if (const TensorPtr constant = rewriter_.constant(value)) return single_of_constant(*constant);
    const Node* node = rewriter_.writer(value);
    if (!node || !node->domain.empty() || node->inputs.empty()) return std::nullopt;
    if (node->op == "Reshape" && node->inputs.size() == 2) return repeated_at(*node);
    if (node->op == "Gather" && is_along_last(*node, node->inputs[0])) return gathered_twice(*node);
    return function_of_part(*node, [&](const std::string& input) { return single_of(input, depth + 1); });
  }
  // Unsqueeze along a new last axis, Expand, Tile or Concat to two of them, and Reshape.
  std::optional<std::string> repeated_at(const Node& flattening) {
    const Node* repeat = rewriter_.writer(flattening.inputs[0]);
    const bool repeats =
        repeat && repeat->domain.empty() &&
        (repeat->op == "Expand" || repeat->op == "Tile" ||
         (repeat->op == "Concat" && repeat->inputs.size() == 2 && repeat->inputs[0] == repeat->inputs[1]));
    const Node* wider = repeats ? rewriter_.writer(repeat->inputs[0], "Unsqueeze", 1) : nullptr;
    if (!wider) return std::nullopt;
    const auto inner = rewriter_.shapes(wider->inputs[0]), one = rewriter_.shapes(repeat->inputs[0]),
               two = rewriter_.shapes(flattening.inputs[0]), flat = rewriter_.shapes(flattening.outputs[0]);
    if (inner.empty() || one.empty() || two.empty() || flat.empty() || inner.front().empty()) return std::nullopt;
    for (size_t i = 0; i < inner.size(); ++i) {
      Shape expected = inner[i];
      expected.push_back(1);
      if (one[i] != expected) return std::nullopt;
      expected.back() = 2;
      if (two[i] != expected) return std::nullopt;
      expected.pop_back();
      expected.back() *= 2;
      if (flat[i] != expected) return std::nullopt;
    }
    return wider->inputs[0];
  }
  // By the numbers 0, 0, 1, 1, 2, 2, ...
  std::optional<std::string> gathered_twice(const Node& node) {
    const TensorPtr numbers = node.inputs.size() == 2 ? rewriter_.constant(node.inputs[1]) : nullptr;
    const auto shapes = rewriter_.shapes(node.inputs[0]);
    if (!numbers || is_real(numbers->type) || numbers->shape.size() != 1 || shapes.empty()) return std::nullopt;
    for (const Shape& shape : shapes) {
      if (numbers->size() != 2 * shape.back()) return std::nullopt;
    }
    for (int64_t i = 0; i < numbers->size(); ++i) {
      if (numbers->integer(i) != i / 2) return std::nullopt;
    }
    return node.inputs[0];
  }
  std::optional<std::string> single_of_constant(const Tensor& tensor) {
    if (tensor.shape.empty() || tensor.shape.back() % 2 != 0 || !is_real(tensor.type)) return std::nullopt;
    Tensor single{"", tensor.type, tensor.shape, {}};
    single.shape.back() /= 2;
    const auto size = static_cast<size_t>(bytes(tensor.type));
    for (size_t at = 0; at < tensor.data.size(); at += 2 * size) {
      if (std::memcmp(&tensor.data[at], &tensor.data[at + size], size) != 0) return std::nullopt;
      single.data.insert(single.data.end(), &tensor.data[at], &tensor.data[at] + size);
    }
    return rewriter_.add_constant(std::move(single));
  }

  // ---- halves -------------------------------------------------------------------------------------------------------

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
    return function_of_part(*node, [&](const std::string& input) { return half_of(input, depth + 1); });
  }
  // A function of each element, or rows of a table, of the part of its input that `part_of` gives.
  template <typename PartOf>
  std::optional<std::string> function_of_part(const Node& node, const PartOf& part_of) {
    constexpr std::string_view kOfOne[] = {"Cast", "Cos", "Identity", "Sin"};
    const bool is_scaled = (node.op == "Mul" || node.op == "Div") && node.inputs.size() == 2;
    const size_t of = is_scaled && rewriter_.number(node.inputs[0]) ? 1 : 0;
    if (is_scaled && !rewriter_.number(node.inputs[1 - of])) return std::nullopt;
    if (is_scaled && node.op == "Div" && of == 1) return std::nullopt;
    const bool is_gather = node.op == "Gather" && node.integer("axis", 0) == 0 && node.inputs.size() == 2;
    if (!is_scaled && !is_gather && std::ranges::find(kOfOne, node.op) == std::end(kOfOne)) return std::nullopt;
    const Node copy = node;
    const auto part = part_of(is_gather ? whole_table(copy.inputs[0]) : copy.inputs[of]);
    if (!part) return std::nullopt;
    std::vector<std::string> inputs = copy.inputs;
    inputs[of] = *part;
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
    bool is_interleaved = false;
    int64_t per_angle = 2;  // elements of x for one of cos
  };
  std::optional<Rotation> rotation_at(const Node& sum) {
    for (size_t i = 0; i < 2; ++i) {
      for (const Product& plain : products_at(sum.inputs[i])) {
        for (const Product& turned : products_at(sum.inputs[1 - i])) {
          const auto x = turned_at(turned.x), of_pairs = x ? std::nullopt : turned_pairs_at(turned.x);
          if (x == plain.x) return Rotation{*x, plain.factor, turned.factor, sum.name, false, 1};
          if (of_pairs == plain.x) return Rotation{*of_pairs, plain.factor, turned.factor, sum.name, true, 1};
        }
      }
    }
    return std::nullopt;
  }

  // The axis of heads, of heads [B, N, S, D] or [B, S, N, D]; cos is [B, S, D] or [B, S, D / 2] with a 1 there.
  std::optional<size_t> axis_of_heads(const std::string& x, const std::string& cos, int64_t per_angle) const {
    const auto heads = rewriter_.shapes(x), angles = rewriter_.shapes(cos);
    if (heads.empty() || angles.empty()) return std::nullopt;
    // One row of angles for all sequences gets one for each when the input of positions is read instead.
    const bool may_widen = reads_positions_ && rewriter_.depends_on_past(cos);
    for (const size_t axis : {size_t{1}, size_t{2}}) {
      bool fits = true;
      for (size_t i = 0; i < heads.size(); ++i) {
        Shape expected = heads[i];
        fits = fits && expected.size() == 4 && expected.back() % per_angle == 0;
        if (fits) expected[axis] = 1;
        if (fits) expected.back() /= per_angle;
        if (fits && may_widen && angles[i].size() == 4 && angles[i][0] == 1) expected[0] = 1;
        fits = fits && angles[i] == expected;
      }
      if (fits) return axis;
    }
    return std::nullopt;
  }

  // [B, S, ..] of what an Unsqueeze makes.
  std::optional<std::string> rows_at(const std::string& value) {
    const Node* wider = rewriter_.writer(value, "Unsqueeze", 1);
    if (!wider) return std::nullopt;
    const auto before = rewriter_.shapes(wider->inputs[0]);
    return before.empty() || before.front().size() != 3 ? std::nullopt : std::optional(wider->inputs[0]);
  }
  // [B, S, D / 2].
  std::optional<std::string> angles_at(const std::string& value, const Rotation& rotation) {
    const auto rows = rows_at(value);
    if (rotation.per_angle == 2) return rows;
    if (rows) return rotation.is_interleaved ? single_of(*rows) : half_of(*rows);
    const auto single = rotation.is_interleaved ? single_of(value) : std::nullopt;
    return single ? rows_at(*single) : std::nullopt;
  }

  void join_sum(const Node& sum) {
    const auto rotation = rotation_at(sum);
    if (rotation) join(*rotation, sum.outputs[0]);
  }

  // A product of the value and something, in both orders.
  std::optional<std::string> factor_at(const std::string& value, const std::string& of) {
    const Node* product = rewriter_.writer(value, "Mul", 2);
    if (!product || product->inputs.size() != 2) return std::nullopt;
    for (size_t i = 0; i < 2; ++i) {
      if (product->inputs[i] == of) return product->inputs[1 - i];
    }
    return std::nullopt;
  }

  // flatten(stack(x1 * cos - x2 * sin, x2 * cos + x1 * sin))
  void join_stack(const Node& flattening) {
    const auto parts = stacked_at(flattening);
    const Node* difference = parts ? rewriter_.writer(parts->first, "Sub", 2) : nullptr;
    const Node* sum = difference ? rewriter_.writer(parts->second, "Add", 2) : nullptr;
    const Node* first = sum ? rewriter_.writer(difference->inputs[0], "Mul", 2) : nullptr;
    const Node* second = first ? rewriter_.writer(difference->inputs[1], "Mul", 2) : nullptr;
    if (!second || sum->inputs.size() != 2 || !rewriter_.only_reader(parts->first) ||
        !rewriter_.only_reader(parts->second))
      return;
    for (const std::string& x1 : first->inputs) {
      const auto x = every_second_of(x1, 0);
      if (!x) continue;
      for (const std::string& x2 : second->inputs) {
        if (every_second_of(x2, 1) != x) continue;
        const auto cos = factor_at(difference->inputs[0], x1), sin = factor_at(difference->inputs[1], x2);
        for (size_t i = 0; i < 2; ++i) {
          const bool fits =
              cos && sin && factor_at(sum->inputs[i], x2) == cos && factor_at(sum->inputs[1 - i], x1) == sin;
          if (!fits) continue;
          join({*x, *cos, *sin, flattening.name, true, 2}, flattening.outputs[0]);
          return;
        }
      }
    }
  }

  void join(const Rotation& rotation, std::string result) {
    if (rewriter_.shapes(result) != rewriter_.shapes(rotation.x)) return;
    const auto axis = axis_of_heads(rotation.x, rotation.cos, rotation.per_angle),
               same = axis_of_heads(rotation.x, rotation.sin, rotation.per_angle);
    if (!axis || axis != same) return;
    const auto cos = angles_at(rotation.cos, rotation), sin = angles_at(rotation.sin, rotation);
    if (!cos || !sin) return;
    const auto shapes = rewriter_.shapes(rotation.x);
    const int64_t heads = shapes.front()[*axis], width = shapes.front()[3];
    const auto is_same = [&](const Shape& one) { return one[*axis] == heads && one[3] == width; };
    if (!std::ranges::all_of(shapes, is_same)) return;
    std::string x = rotation.x;
    if (*axis == 1) {
      const auto rows = rows_before(rewriter_, x);
      x = rows ? *rows : rewriter_.add("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    }
    x = rewriter_.add("Reshape", {x, rewriter_.add_list({0, 0, heads * width})});
    std::map<std::string, AttributeData, std::less<>> attributes{{"num_heads", heads}};
    if (rotation.is_interleaved) attributes.emplace("interleaved", int64_t{1});
    const std::string rotated = rewriter_.add("RotaryEmbedding", {x, *cos, *sin}, attributes, rotation.names);
    const std::string target = rewriter_.add_list({0, 0, heads, width});
    if (*axis == 2) {
      rewriter_.replace(
          result,
          {.name = rotation.names + " heads", .op = "Reshape", .inputs = {rotated, target}, .outputs = {result}});
      return;
    }
    const std::string parted = rewriter_.add("Reshape", {rotated, target});
    rewriter_.replace(result, {.name = rotation.names + " heads first",
                               .op = "Transpose",
                               .inputs = {parted},
                               .outputs = {result},
                               .attributes = {{"perm", std::vector<int64_t>{0, 2, 1, 3}}}});
  }

  Rewriter& rewriter_;
  bool reads_positions_;
  std::map<std::string, std::optional<std::string>> halves_, singles_;
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
