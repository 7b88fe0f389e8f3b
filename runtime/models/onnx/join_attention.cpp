// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Each Softmax is looked at: up to the product of queries and keys, and down to the product with values. Between them
// may be scales, masks and nodes that pass values on, which nothing else reads.
#include "runtime/models/onnx/join_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/models/onnx/mask_effects.h"

namespace qgen::onnx {
namespace {

struct Scores {
  const Node* product = nullptr;
  double scale = 1, softcap = 0;
  std::vector<Mask> masks = {};
};

struct Layer {
  Scores scores;
  std::string query, key, value;           // heads first, of four dimensions
  std::string past_key, past_value;        // empty: none
  std::string present_key, present_value;  // and the new ones are `key` and `value`
  std::vector<Mask> masks;                 // that remain
  bool is_causal = false, has_bias = false;
  int64_t window = kNoWindow;
  std::string result;  // heads first
};

class AttentionJoiner {
 public:
  AttentionJoiner(Rewriter& rewriter, std::span<const StateNames> states, std::vector<Note>& notes, int64_t opset)
      : rewriter_(rewriter), masks_(rewriter), states_(states), notes_(notes), opset_(opset) {}

  void run() {
    for (Node* node : rewriter_.nodes()) {
      if (node->op == "Softmax" && node->domain.empty()) find_layer(*node);
    }
    // All were found first: trials are of the nodes as they were.
    for (const auto& [layer, softmax, last] : found_) write(layer, *softmax, *last);
  }
  size_t joined() const { return found_.size(); }
  // How many have a past that is a state.
  size_t states_joined() const { return states_joined_; }
  // Why some have none; empty: none of them has a past.
  const std::string& refusal() const { return refusal_; }

 private:
  // ---- from the Softmax up ------------------------------------------------------------------------------------------

  // The scores as this value has them. nullopt: there is no product of two computed matrices, or another node reads a
  // value in between.
  std::optional<Scores> scores_at(const std::string& value, int depth = 0) {
    constexpr int kMostNodes = 16;
    const Node* node = rewriter_.writer(value);
    if (!node || !node->domain.empty() || node->inputs.empty() || depth > kMostNodes) return std::nullopt;
    if (!rewriter_.only_reader(value)) {
      if (node->op == "MatMul") reason_ = fmt::format("several nodes read the scores of '{}'", node->name);
      return std::nullopt;
    }
    const auto inner = [&](size_t i) { return scores_at(node->inputs[i], depth + 1); };
    const bool has_two = node->inputs.size() == 2;
    if (node->op == "MatMul" && has_two) {
      const bool are_computed = !rewriter_.constant(node->inputs[0]) && !rewriter_.constant(node->inputs[1]);
      return are_computed ? std::optional(Scores{.product = node}) : std::nullopt;
    }
    if (node->op == "Cast" || node->op == "Identity" || (node->op == "Dropout" && node->inputs.size() == 1))
      return inner(0);
    if (node->op == "Reshape" && has_two) return keeps_rows(node->inputs[0], value) ? inner(0) : std::nullopt;
    if ((node->op == "Mul" || node->op == "Div") && has_two) return scaled(*node, inner);
    if (node->op == "Tanh") {
      auto scores = inner(0);
      if (!scores || !scores->masks.empty() || scores->softcap != 0) return std::nullopt;
      scores->softcap = 1;
      return scores;
    }
    if (node->op == "Max" && has_two) {
      for (size_t i = 0; i < 2; ++i) {
        const auto least = rewriter_.number(node->inputs[1 - i]);
        if (least && *least <= kFilter) return inner(i);
      }
      return std::nullopt;
    }
    if (node->op == "Add" && has_two) return with_added(*node, inner);
    if (node->op == "Where" && node->inputs.size() == 3) return with_filled(*node, inner);
    return std::nullopt;
  }

  template <typename Inner>
  std::optional<Scores> scaled(const Node& node, const Inner& inner) {
    for (size_t i = 0; i < (node.op == "Div" ? 1u : 2u); ++i) {
      const auto factor = rewriter_.number(node.inputs[1 - i]);
      if (!factor) continue;
      auto scores = inner(i);
      const double by = node.op == "Div" ? 1 / *factor : *factor;
      if (scores && !scores->masks.empty() && !(by > 0)) {
        reason_ = fmt::format("'{}' multiplies scores by {} after their mask", node.name, by);
        return std::nullopt;
      }
      // by * cap * tanh(s / cap) has the cap by * cap, and the score by * s.
      if (scores && scores->softcap != 0 && !(by > 0)) return std::nullopt;
      if (scores) scores->scale *= by;
      if (scores) scores->softcap *= by;
      for (size_t m = 0; scores && m < scores->masks.size(); ++m) scores->masks[m].factor *= by;
      return scores;
    }
    return std::nullopt;
  }

  template <typename Inner>
  std::optional<Scores> with_added(const Node& node, const Inner& inner) {
    for (size_t i = 0; i < 2; ++i) {
      auto scores = inner(i);
      if (!scores) continue;
      Mask mask{.value = node.inputs[1 - i]};
      if (!adds_no_rows(mask, node.inputs[i], node.outputs[0])) return std::nullopt;
      scores->masks.push_back(std::move(mask));
      return scores;
    }
    return std::nullopt;
  }

  template <typename Inner>
  std::optional<Scores> with_filled(const Node& node, const Inner& inner) {
    for (size_t i = 1; i < 3; ++i) {
      const std::string& fill = node.inputs[3 - i];
      const auto least = rewriter_.number(fill);
      if (!least || *least > kFilter) continue;
      auto scores = inner(i);
      Mask mask{i == 1 ? Mask::Kind::kept_where_true : Mask::Kind::kept_where_false, node.inputs[0], fill};
      if (!scores || !adds_no_rows(mask, node.inputs[i], node.outputs[0])) return std::nullopt;
      scores->masks.push_back(std::move(mask));
      return scores;
    }
    return std::nullopt;
  }

  // A mask broadcasts to the scores, and not the other way round. Where batches and heads are one dimension, it is the
  // same for all of them, or has this dimension too.
  bool adds_no_rows(Mask& mask, const std::string& scores, const std::string& sum) {
    const auto of_mask = rewriter_.shapes(mask.value), before = rewriter_.shapes(scores), after = rewriter_.shapes(sum);
    if (before.empty() || before != after) return false;
    if (before.front().size() == 4) return true;
    if (before.front().size() != 3 || of_mask.empty()) return false;
    const bool is_of_all = std::ranges::all_of(
        of_mask, [](const Shape& shape) { return shape.size() < 3 || (shape.size() == 3 && shape[0] == 1); });
    mask.is_flat = !is_of_all;
    return is_of_all || std::ranges::equal(of_mask, before, [](const Shape& a, const Shape& b) {
             return a.size() == 3 && a[0] == b[0];
           });
  }

  // [B, N, S, T] as [B * N, S, T], or back.
  bool keeps_rows(const std::string& a, const std::string& b) const {
    auto one = rewriter_.shapes(a), other = rewriter_.shapes(b);
    if (one.empty() || other.empty()) return false;
    if (one.front().size() > other.front().size()) std::swap(one, other);
    for (size_t i = 0; i < one.size(); ++i) {
      const Shape &flat = one[i], &parted = other[i];
      if (flat == parted) continue;
      if (flat.size() != 3 || parted.size() != 4 || flat[0] != parted[0] * parted[1] || flat[1] != parted[2] ||
          flat[2] != parted[3])
        return false;
    }
    return true;
  }

  // ---- from the Softmax down ----------------------------------------------------------------------------------------

  // The only value that is computed of this one, through nodes that pass it on; its reader is a MatMul, with it as the
  // first matrix. Else nullptr.
  Node* product_after(std::string value) {
    for (int more = 8; more > 0; --more) {
      const auto& readers = rewriter_.readers(value);
      if (rewriter_.is_output(value) || readers.empty()) return nullptr;
      if (readers.size() > 1) {
        const auto without_nan = zeros_for_nan(value);
        if (!without_nan) return nullptr;
        value = *without_nan;
        continue;
      }
      Node* reader = readers.front();
      if (!reader->domain.empty()) return nullptr;
      if (reader->op == "MatMul") return reader->inputs.size() == 2 && reader->inputs[0] == value ? reader : nullptr;
      const bool passes =
          reader->op == "Cast" || reader->op == "Identity" || (reader->op == "Dropout" && reader->inputs.size() == 1) ||
          (reader->op == "Reshape" && reader->inputs[0] == value && keeps_rows(value, reader->outputs[0]));
      if (!passes) return nullptr;
      value = reader->outputs[0];
    }
    return nullptr;
  }

  // Where(IsNaN(value), 0, value): rows without a key become zeros, as they do in attention.
  std::optional<std::string> zeros_for_nan(const std::string& value) {
    const auto& readers = rewriter_.readers(value);
    if (readers.size() != 2) return std::nullopt;
    const auto is_choice = [](const Node* node) { return node->op == "Where" && node->inputs.size() == 3; };
    const Node* choice = is_choice(readers[0]) ? readers[0] : readers[1];
    const Node* test = choice == readers[0] ? readers[1] : readers[0];
    const bool fits = is_choice(choice) && test->op == "IsNaN" && choice->inputs[0] == test->outputs[0] &&
                      choice->inputs[2] == value && rewriter_.number(choice->inputs[1]) == 0 &&
                      rewriter_.only_reader(test->outputs[0]);
    return fits ? std::optional(choice->outputs[0]) : std::nullopt;
  }

  // ---- queries, keys and values -------------------------------------------------------------------------------------

  // The value without numbers that it is multiplied by; these are in `scale`.
  std::string unscaled(std::string value, double& scale) {
    while (true) {
      value = rewriter_.passed(value);
      const Node* node = rewriter_.writer(value);
      const bool scales =
          node && node->domain.empty() && (node->op == "Mul" || node->op == "Div") && node->inputs.size() == 2;
      if (!scales) return value;
      const auto second = rewriter_.number(node->inputs[1]);
      const auto first = node->op == "Mul" && !second ? rewriter_.number(node->inputs[0]) : std::nullopt;
      const auto shape = rewriter_.shapes(node->inputs[second ? 0 : 1]);
      if ((!second && !first) || shape.empty() || shape != rewriter_.shapes(value)) return value;
      scale *= second ? (node->op == "Div" ? 1 / *second : *second) : *first;
      value = node->inputs[second ? 0 : 1];
    }
  }

  // [B, N, S, D] of [B * N, S, D]; itself if it has four dimensions; empty: neither.
  std::string parted(const std::string& value) {
    const auto shapes = rewriter_.shapes(value);
    if (shapes.empty()) return {};
    if (shapes.front().size() == 4) return value;
    const Node* flat = rewriter_.writer(value, "Reshape", 2);
    const auto before = flat ? rewriter_.shapes(flat->inputs[0]) : std::vector<Shape>();
    const bool fits = !before.empty() && before.front().size() == 4 && keeps_rows(flat->inputs[0], value);
    return fits ? flat->inputs[0] : std::string();
  }

  // Keys of a product's second matrix [.., D, T].
  std::string keys_of(const std::string& matrix, double& scale) {
    std::string value = unscaled(matrix, scale);
    const auto shapes = rewriter_.shapes(value);
    if (shapes.empty()) return {};
    const size_t rank = shapes.front().size();
    const Node* turned = rewriter_.writer(value, "Transpose", 1);
    const auto order = turned ? permutation_of(*turned, rank) : std::vector<int64_t>();
    using Perm = std::vector<int64_t>;
    if ((rank == 4 && order == Perm{0, 1, 3, 2}) || (rank == 3 && order == Perm{0, 2, 1}))
      return parted(unscaled(turned->inputs[0], scale));
    // [B * N, T, D], turned, and then parted.
    const Node* parts = rank == 4 ? rewriter_.writer(value, "Reshape", 2) : nullptr;
    const Node* flat = parts ? rewriter_.writer(parts->inputs[0], "Transpose", 1) : nullptr;
    if (flat && permutation_of(*flat, 3) == Perm{0, 2, 1} && keeps_rows(parts->inputs[0], value))
      return parted(unscaled(flat->inputs[0], scale));
    if (rank == 4 && order == Perm{0, 2, 3, 1}) {  // of rows first
      const std::string rows = turned->inputs[0];
      return added_transpose(rows, {0, 2, 1, 3});
    }
    return rank == 4 ? added_transpose(value, {0, 1, 3, 2}) : std::string();
  }

  std::string added_transpose(const std::string& value, const std::vector<int64_t>& order) {
    const auto found = turned_.find({value, order});
    if (found != turned_.end()) return found->second;
    const std::string result = rewriter_.add("Transpose", {value}, {{"perm", order}});
    std::vector<Shape> shapes;
    for (const Shape& shape : rewriter_.shapes(value)) {
      Shape& other = shapes.emplace_back();
      for (const int64_t d : order) other.push_back(shape[static_cast<size_t>(d)]);
    }
    shapes_.emplace(result, std::move(shapes));
    turned_.emplace(std::pair(value, order), result);
    return result;
  }
  std::optional<std::string> rows_of(const std::string& heads_first) const {
    for (const auto& [turned, result] : turned_) {
      if (result == heads_first && turned.second == std::vector<int64_t>{0, 2, 1, 3}) return turned.first;
    }
    return rows_before(rewriter_, heads_first);
  }
  std::vector<Shape> shapes(const std::string& value) const {
    const auto found = shapes_.find(value);
    return found == shapes_.end() ? rewriter_.shapes(value) : found->second;
  }

  // [B, M, T, D], if the value is it with each head several times: Unsqueeze, Expand, Reshape.
  std::string not_repeated(const std::string& value) {
    const Node* reshape = rewriter_.writer(value, "Reshape", 2);
    const Node* expand = reshape ? rewriter_.writer(reshape->inputs[0], "Expand", 2) : nullptr;
    const Node* wider = expand ? rewriter_.writer(expand->inputs[0], "Unsqueeze", 1) : nullptr;
    if (!wider) return value;
    const auto heads = rewriter_.shapes(wider->inputs[0]), one = rewriter_.shapes(expand->inputs[0]),
               several = rewriter_.shapes(reshape->inputs[0]), all = rewriter_.shapes(value);
    if (heads.empty() || one.empty() || several.empty() || all.empty() || heads.front().size() != 4) return value;
    for (size_t i = 0; i < heads.size(); ++i) {
      const Shape& h = heads[i];
      if (several[i].size() != 5 || all[i].size() != 4) return value;
      const int64_t group = several[i][2];
      if (one[i] != Shape{h[0], h[1], 1, h[2], h[3]} || several[i] != Shape{h[0], h[1], group, h[2], h[3]} ||
          all[i] != Shape{h[0], h[1] * group, h[2], h[3]})
        return value;
    }
    return wider->inputs[0];
  }

  // Whether keys and values are a past and new ones; and if the past is a state, or is needed, they become so.
  struct Joint {
    std::string past, added;
  };
  std::optional<Joint> joint_at(const std::string& value) {
    const Node* joint = rewriter_.writer(value, "Concat", 2);
    if (!joint || joint->inputs.size() != 2) return std::nullopt;
    const int64_t axis = joint->integer("axis", 0);
    const auto shapes = rewriter_.shapes(value);
    if (shapes.empty() || shapes.front().size() != 4 || (axis != 2 && axis != -2)) return std::nullopt;
    return Joint{rewriter_.passed(joint->inputs[0]), joint->inputs[1]};
  }
  // Values of a cache of reals before a Cast: traced models in halves sum their products in f32, as attention does.
  std::string uncast(const std::string& value) {
    const Node* cast = rewriter_.writer(value, "Cast", 1);
    const auto joint = cast ? joint_at(not_repeated(cast->inputs[0])) : std::nullopt;
    const ValueInfo* past = joint ? rewriter_.input(joint->past) : nullptr;
    return past && is_real(past->type) ? cast->inputs[0] : value;
  }
  // The output that is this value.
  std::string output_of(const std::string& value) {
    if (rewriter_.is_output(value)) return value;
    for (const Node* reader : rewriter_.readers(value)) {
      if (reader->op == "Identity" && rewriter_.is_output(reader->outputs[0])) return reader->outputs[0];
    }
    return {};
  }
  bool is_state(const std::string& past, const std::string& present) const {
    return std::ranges::count(states_, StateNames{past, present}) > 0;
  }

  // ---- masks --------------------------------------------------------------------------------------------------------

  // Takes away the masks that `causal`, or the number of keys, stands for.
  void reduce_masks(Layer& layer, const Node& product, bool is_state, bool has_past) {
    const int64_t heads = shapes(layer.query).front()[1];
    for (const Mask& mask : layer.scores.masks) {
      const Effect& effect = masks_.effect_of(mask, product, heads);
      // The padding of a cache is behind its last token, so no row sees it.
      const bool may_go = is_state || rewriter_.sources(mask.value).inputs.empty();
      const bool is_causal = effect.does == Does::is_causal && (has_past || are_all_new(product));
      if (may_go && is_causal) {
        layer.is_causal = true;
        layer.window = std::min(layer.window, effect.window);
      } else if (is_state && effect.does == Does::is_bias) {
        layer.is_causal = layer.is_causal || effect.bias->hides_later;
        layer.has_bias = true;
        layer.masks.push_back(masks_.of_positions(mask, effect));
      } else if (effect.does == Does::reads_input) {
        layer.masks.push_back(masks_.of_input(mask, effect));
      } else if (!may_go || effect.does != Does::nothing) {
        layer.masks.push_back(mask);
      }
    }
  }
  // As many queries as keys.
  bool are_all_new(const Node& product) const {
    const auto scores = rewriter_.shapes(product.outputs[0]);
    return std::ranges::all_of(scores, [](const Shape& shape) { return shape.back() == shape[shape.size() - 2]; });
  }

  // A mask before nodes that only repeat it, such as rows of an encoder's mask for each query: attention broadcasts it.
  // Element-wise nodes after the repetition are computed before it.
  std::string narrowed(const std::string& value, int depth = 0) {
    constexpr int kMostNodes = 16;
    const auto found = narrowed_.find(value);
    if (found != narrowed_.end()) return found->second;
    const Node* node = rewriter_.writer(value);
    if (!node || !node->domain.empty() || depth > kMostNodes) return value;
    if (node->op == "Expand" && node->inputs.size() == 2) return narrowed(node->inputs[0], depth + 1);
    constexpr std::string_view kElementWise[] = {"Add",  "And", "Cast", "Div", "Equal", "Greater", "Identity",
                                                 "Less", "Mul", "Neg",  "Not", "Or",    "Sub",     "Where"};
    if (std::ranges::find(kElementWise, node->op) == std::end(kElementWise)) return value;
    const Node copy = *node;
    std::vector<std::string> inputs;
    for (const std::string& input : copy.inputs) inputs.push_back(narrowed(input, depth + 1));
    std::string result = inputs == copy.inputs ? value : rewriter_.add(copy.op, inputs, copy.attributes, copy.name);
    narrowed_.emplace(value, result);
    return result;
  }

  // [B, N, S, T] of [B * N, S, T]; S and T may be 1.
  std::string parted_mask(const std::string& flat, int64_t heads) {
    const std::string wider =
        rewriter_.add("Unsqueeze", {flat, rewriter_.add_list({0})}, {{"axes", std::vector<int64_t>{0}}});
    return rewriter_.add("Reshape", {wider, rewriter_.add_list({-1, heads, 0, 0})});
  }

  // The first name of a number that masks have.
  std::string known_fill(const std::string& fill) {
    const TensorPtr constant = rewriter_.constant(fill);
    const Tensor& number = constant ? *constant : *rewriter_.trials().front().value(fill);
    return fills_.emplace(std::tuple(number.type, number.shape, number.data), fill).first->second;
  }

  // The mask as reals that are added.
  std::string reals_of(const Mask& mask, int64_t heads) {
    std::string value = mask.is_flat ? parted_mask(mask.value, heads) : narrowed(mask.value);
    if (mask.kind != Mask::Kind::added) {
      const TensorPtr constant = rewriter_.constant(mask.fill);
      const ElementType type = (constant ? constant : rewriter_.trials().front().value(mask.fill))->type;
      const std::string none =
          rewriter_.add_constant(Tensor{"", type, {}, std::vector<std::byte>(static_cast<size_t>(bytes(type)))});
      const bool keeps_true = mask.kind == Mask::Kind::kept_where_true;
      value = rewriter_.add("Where", {value, keeps_true ? none : mask.fill, keeps_true ? mask.fill : none});
    }
    if (mask.factor == 1) return value;
    const auto factor = static_cast<float>(mask.factor);
    const auto number = tensor_of<float>(ElementType::f32, {}, std::span(&factor, 1));
    return rewriter_.add("Mul", {value, rewriter_.add_constant(number)});
  }

  // The sum of masks. Layers have the same one.
  std::string sum_of(std::vector<Mask> masks, int64_t heads) {
    std::string key;
    for (Mask& mask : masks) {
      if (!mask.fill.empty()) mask.fill = known_fill(mask.fill);
      key += fmt::format("{} '{}' '{}' {} {}, ", static_cast<int>(mask.kind), mask.value, mask.fill, mask.factor,
                         mask.is_flat ? heads : 0);
    }
    std::string& sum = sums_[key];
    if (!sum.empty()) return sum;
    for (const Mask& mask : masks) {
      const std::string value = reals_of(mask, heads);
      sum = sum.empty() ? value : rewriter_.add("Add", {sum, value});
    }
    return sum;
  }

  // ---- one layer ----------------------------------------------------------------------------------------------------

  void find_layer(const Node& softmax) {
    reason_.clear();
    Node* last = product_after(softmax.outputs[0]);
    auto scores = scores_at(softmax.inputs[0]);
    if (!scores && reason_.empty()) return;  // a Softmax of something else
    if (!last && !is_weight(softmax.outputs[0])) return;
    if (last && rewriter_.constant(last->inputs[1])) return;
    if (!last) reason_ = fmt::format("several nodes read the weights of '{}'", softmax.name);
    if (scores && !is_along_keys(softmax)) reason_ = fmt::format("'{}' is not along the keys", softmax.name);
    if (scores && reason_.empty()) {
      if (auto layer = layer_of(*scores, *last)) {
        found_.emplace_back(*std::move(layer), &softmax, last);
        return;
      }
    }
    if (reason_.empty()) reason_ = "its queries, keys and values are not known to be [batch, heads, rows, size]";
    notes_.push_back({softmax.name, fmt::format("its attention stays several nodes: {}", reason_)});
    if (refusal_.empty())
      refusal_ = fmt::format("the attention of '{}' stays several nodes: {}", softmax.name, reason_);
  }

  // Whether a product reads the value as its first matrix.
  bool is_weight(const std::string& value) const {
    return std::ranges::any_of(rewriter_.readers(value),
                               [&](const Node* node) { return node->op == "MatMul" && node->inputs[0] == value; });
  }

  bool is_along_keys(const Node& softmax) {
    const auto shapes = rewriter_.shapes(softmax.outputs[0]);
    if (shapes.empty()) return false;
    const int64_t axis = softmax.integer("axis", opset_ >= 13 ? -1 : 1), rank = std::ssize(shapes.front());
    return axis == -1 || axis == rank - 1;
  }
  std::optional<Layer> layer_of(const Scores& scores, const Node& last) {
    Layer layer{.scores = scores};
    double scale = scores.scale;
    layer.query = parted(unscaled(scores.product->inputs[0], scale));
    layer.key = keys_of(scores.product->inputs[1], scale);
    layer.value = uncast(parted(rewriter_.passed(last.inputs[1])));
    layer.scores.scale = scale;
    layer.result = result_of(last);
    if (layer.query.empty() || layer.key.empty() || layer.value.empty() || layer.result.empty()) return std::nullopt;
    const std::string key = not_repeated(layer.key), value = not_repeated(layer.value);
    if (shapes(key) == shapes(value) || (key != layer.key && value != layer.value)) {
      layer.key = key;
      layer.value = value;
    }
    if (!fit(layer)) return std::nullopt;
    take_past(layer);
    return layer;
  }

  // [B, N, S, E] of the product with the values.
  std::string result_of(const Node& last) {
    const auto made = rewriter_.shapes(last.outputs[0]);
    if (made.empty()) return {};
    if (made.front().size() == 4) return last.outputs[0];
    const Node* reader = rewriter_.only_reader(last.outputs[0]);
    const bool parts = reader && reader->op == "Reshape" && keeps_rows(last.outputs[0], reader->outputs[0]);
    return parts && rewriter_.shapes(reader->outputs[0]).front().size() == 4 ? reader->outputs[0] : std::string();
  }

  bool fit(const Layer& layer) const {
    const auto q = shapes(layer.query), k = shapes(layer.key), v = shapes(layer.value);
    if (q.empty() || k.empty() || v.empty()) return false;
    constexpr int64_t kMostElements = 1024;
    for (size_t i = 0; i < q.size(); ++i) {
      if (q[i].size() != 4 || k[i].size() != 4 || v[i].size() != 4) return false;
      const bool is_one_batch = q[i][0] == k[i][0] && q[i][0] == v[i][0];
      const bool are_groups = k[i][1] > 0 && q[i][1] % k[i][1] == 0 && k[i][1] == v[i][1];
      if (!is_one_batch || !are_groups || k[i][2] != v[i][2] || q[i][3] != k[i][3]) return false;
      if (q[i][3] < 1 || v[i][3] < 1 || q[i][3] > kMostElements || v[i][3] > kMostElements) return false;
    }
    return true;
  }

  void take_past(Layer& layer) {
    const auto keys = joint_at(layer.key), values = joint_at(layer.value);
    const std::string key_output = output_of(layer.key), value_output = output_of(layer.value);
    const bool has_past = keys && values && are_as_many(layer.query, keys->added);
    const bool is_of_states = has_past && is_state(keys->past, key_output) && is_state(values->past, value_output);
    if (is_of_states && !written_.insert(key_output).second) {
      if (refusal_.empty())
        refusal_ = fmt::format("'{}' shares its cache with another layer", layer.scores.product->name);
      return;
    }
    reduce_masks(layer, *layer.scores.product, is_of_states, has_past);
    const auto needs_length = [&](const Mask& mask) { return rewriter_.depends_on_past(mask.value); };
    const bool is_unknown = std::ranges::any_of(layer.masks, needs_length) || (layer.has_bias && !layer.is_causal);
    if (is_of_states && is_unknown) {
      if (refusal_.empty())
        refusal_ = fmt::format("the mask of '{}' is not a causal one in all sizes, or a bias of positions with one",
                               layer.scores.product->name);
      return;
    }
    const bool sees_past = layer.is_causal && !are_all_new(*layer.scores.product);
    if (!is_of_states && !(has_past && sees_past)) return;
    layer.past_key = keys->past;
    layer.past_value = values->past;
    layer.present_key = is_of_states ? key_output : "";
    layer.present_value = is_of_states ? value_output : "";
    layer.key = keys->added;
    layer.value = values->added;
    states_joined_ += is_of_states ? 1 : 0;
  }
  bool are_as_many(const std::string& queries, const std::string& keys) const {
    const auto q = shapes(queries), k = shapes(keys);
    return !q.empty() && std::ranges::equal(q, k, [](const Shape& a, const Shape& b) { return a[2] == b[2]; });
  }

  // What Attention writes: rows first, if all that it reads is turned, and so is what it writes.
  void write(const Layer& layer, const Node& softmax, const Node& last) {
    const auto query = rows_of(layer.query), key = rows_of(layer.key), value = rows_of(layer.value);
    const Node* turned = rewriter_.only_reader(layer.result);
    const bool turns =
        turned && turned->op == "Transpose" && permutation_of(*turned, 4) == std::vector<int64_t>{0, 2, 1, 3};
    Node node{.name = fmt::format("{} + {} + {}", layer.scores.product->name, softmax.name, last.name),
              .op = "Attention"};
    node.attributes = {{"scale", static_cast<float>(layer.scores.scale)}, {"is_causal", int64_t{layer.is_causal}}};
    if (layer.scores.softcap != 0) node.attributes.emplace("softcap", static_cast<float>(layer.scores.softcap));
    if (layer.window != kNoWindow) node.attributes.emplace(std::string(kWindow), layer.window);
    const std::string mask = sum_of(layer.masks, shapes(layer.query).front()[1]);
    const auto give = [&](const std::string& q, const std::string& k, const std::string& v) {
      node.inputs = {q, k, v, mask, layer.past_key, layer.past_value};
      while (node.inputs.back().empty()) node.inputs.pop_back();
    };
    for (const auto& [present, i] : {std::pair{&layer.present_key, 1}, {&layer.present_value, 2}}) {
      if (present->empty()) continue;
      node.outputs.resize(static_cast<size_t>(i) + 1);
      node.outputs[static_cast<size_t>(i)] = *present;
      if (Node* before = rewriter_.writer(*present))
        std::ranges::replace(before->outputs, *present, *present + " unread");
    }
    if (node.outputs.empty()) node.outputs.resize(1);
    const bool have_heads = std::ranges::all_of(std::array{&layer.query, &layer.key, &layer.value},
                                                [&](const std::string* one) { return has_heads(*one); });
    if (!query || !key || !value || !turns || !have_heads) {
      give(layer.query, layer.key, layer.value);
      node.outputs[0] = layer.result;
      rewriter_.replace(layer.result, std::move(node));
      return;
    }
    const Shape q = shapes(layer.query).front(), k = shapes(layer.key).front(), v = shapes(layer.value).front();
    give(flat(*query, q), flat(*key, k), flat(*value, v));
    node.attributes.emplace("q_num_heads", q[1]);
    node.attributes.emplace("kv_num_heads", k[1]);
    const std::string result = turned->outputs[0], name = turned->name;
    const Node* joined = rewriter_.only_reader(result);
    if (joined && joins_heads(*joined, q[1] * v[3])) {
      node.outputs[0] = joined->outputs[0];
      rewriter_.replace(joined->outputs[0], std::move(node));
      return;
    }
    const std::string rows = node.outputs[0] = result + " rows";
    rewriter_.replace(layer.result, std::move(node));
    rewriter_.replace(
        result,
        {.name = name, .op = "Reshape", .inputs = {rows, rewriter_.add_list({0, 0, q[1], v[3]})}, .outputs = {result}});
  }
  // Whether [B, N, S, D] has the same N and D in all trials.
  bool has_heads(const std::string& heads_first) const {
    const auto all = shapes(heads_first);
    return std::ranges::all_of(all,
                               [&](const Shape& one) { return one[1] == all.front()[1] && one[3] == all.front()[3]; });
  }
  // [B, S, N, E] as [B, S, N * E].
  bool joins_heads(const Node& node, int64_t width) const {
    const auto before = rewriter_.shapes(node.inputs[0]), after = rewriter_.shapes(node.outputs[0]);
    if (node.op != "Reshape" || !node.domain.empty() || before.empty() || after.empty()) return false;
    return std::ranges::equal(before, after, [&](const Shape& a, const Shape& b) {
      return b == Shape{a[0], a[1], width};
    });
  }

  // [B, S, N * D] of rows [B, S, N, D].
  std::string flat(const std::string& rows, const Shape& heads_first) {
    return rewriter_.add("Reshape", {rows, rewriter_.add_list({0, 0, heads_first[1] * heads_first[3]})});
  }

  Rewriter& rewriter_;
  MaskReader masks_;
  std::span<const StateNames> states_;
  std::vector<Note>& notes_;
  int64_t opset_;
  std::string reason_;  // why the present Softmax is none of attention
  std::string refusal_;
  size_t states_joined_ = 0;
  std::vector<std::tuple<Layer, const Node*, const Node*>> found_;  // with the Softmax and the last product
  std::set<std::string> written_;                                   // caches of keys that a layer writes
  std::map<std::string, std::string> narrowed_, sums_;
  std::map<std::tuple<ElementType, Shape, std::vector<std::byte>>, std::string> fills_;
  std::map<std::pair<std::string, std::vector<int64_t>>, std::string> turned_;
  std::map<std::string, std::vector<Shape>> shapes_;  // of values that are new
};

bool reads_lengths(const Node& node) {
  return node.op == "Attention" || node.op == "MultiHeadAttention" || node.op == "GroupQueryAttention";
}

constexpr std::string_view kHowToRun = "`qgen-model run` runs the model with its caches as inputs and outputs";

// Whether a node of attention has each state as its past.
bool are_read(Rewriter& rewriter, std::span<const StateNames> states) {
  return std::ranges::all_of(states, [&](const StateNames& state) {
    return std::ranges::any_of(rewriter.readers(state.input), [](const Node* node) { return reads_lengths(*node); });
  });
}

std::vector<std::vector<Shape>> shapes_of_results(Rewriter& rewriter) {
  std::vector<std::vector<Shape>> shapes;
  for (const ValueInfo& output : rewriter.graph().outputs) shapes.push_back(rewriter.shapes(output.name));
  return shapes;
}

// With states, nothing else may depend on the sides of the caches.
Done check_sides(Rewriter& rewriter, const std::vector<std::vector<Shape>>& results) {
  for (const Node* node : rewriter.nodes()) {
    for (const std::string& input : node->inputs) {
      if (input.empty() || reads_lengths(*node) || !rewriter.depends_on_past(input)) continue;
      return unsupported(fmt::format("its caches cannot stay on the device: node '{}' ({}) depends on how many tokens "
                                     "are cached, in a form that qgen does not recognise",
                                     node->name, node->op),
                         std::string(kHowToRun));
    }
  }
  if (shapes_of_results(rewriter) == results) return std::monostate{};
  return unsupported("its caches cannot stay on the device: its positions are of one sequence only");
}

}  // namespace

Done join_attention(Model& model, std::span<const StateNames> states, bool positions_follow_caches,
                    std::vector<Note>& notes) {
  if (std::ranges::count(model.graph.nodes, "Softmax", &Node::op) == 0) return std::monostate{};
  if (std::ranges::count(model.graph.nodes, "MatMul", &Node::op) < 2) return std::monostate{};
  const std::vector<StateNames> caches =
      states.empty() ? states_of(model.graph) : std::vector<StateNames>(states.begin(), states.end());
  const bool has_positions = std::ranges::count(model.graph.inputs, kPositions, &ValueInfo::name) > 0;
  auto rewriter = Rewriter::create(model, caches, !states.empty());
  if (!rewriter) return std::monostate{};  // the importer says why
  keep_sides(*rewriter);
  if (Done fresh = rewriter->refresh(); !fresh) return fresh;
  join_rotary(*rewriter, !states.empty());
  if (Done fresh = rewriter->refresh(); !fresh) return fresh;
  AttentionJoiner joiner(*rewriter, states, notes, model.opsets.find("")->second);
  joiner.run();
  if (joiner.joined() > 0) join_sums(*rewriter);
  if (Done fresh = rewriter->refresh(); !fresh) return fresh;
  if (!joiner.refusal().empty() && !are_read(*rewriter, states))
    return unsupported("its caches cannot stay on the device: " + joiner.refusal(), std::string(kHowToRun));
  if (joiner.states_joined() == 0) return std::monostate{};
  const auto results = shapes_of_results(*rewriter);
  read_positions(*rewriter);
  if (Done fresh = rewriter->refresh(false); !fresh) return fresh;
  if (Done sound = check_sides(*rewriter, results); !sound) return sound;
  // Positions that the model has computed are the places in the caches.
  if (!has_positions || positions_follow_caches) join_rotated_caches(*rewriter, states);
  return rewriter->refresh(false);
}

}  // namespace qgen::onnx
