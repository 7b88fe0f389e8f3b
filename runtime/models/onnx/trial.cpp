// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Nodes of constants are computed by fold.h, which the importer uses too. Of the others only the shape is computed, here.
// Dimensions are numbers always, so a shape with a symbol is one that nobody knows.
#include "runtime/models/onnx/trial.h"

#include <algorithm>
#include <numeric>

#include "runtime/models/onnx/fold.h"
#include "runtime/models/onnx/functions.h"

namespace qgen::onnx {
namespace {

// Larger constants are weights. Tables of positions and masks of booleans may be larger.
constexpr int64_t kMostReals = 1 << 18, kMostIntegers = 1 << 22;

// Some value of that shape.
Known data_of(const Dims& shape) { return {Real{}, shape}; }

// Whose result has the shape that the inputs broadcast to.
constexpr std::string_view kBroadcasting[] = {
    "Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Mean", "Min", "Mod",
    "Mul", "Or",  "Pow", "Sub",   "Sum",     "Where",          "Xor"};
// Whose result has the first input's shape.
constexpr std::string_view kKeeping[] = {"BatchNormalization",
                                         "Cast",
                                         "CastLike",
                                         "Clip",
                                         "CumSum",
                                         "DequantizeLinear",
                                         "Dropout",
                                         "DynamicQuantizeLinear",
                                         "GroupNormalization",
                                         "Identity",
                                         "InstanceNormalization",
                                         "IsInf",
                                         "IsNaN",
                                         "LayerNormalization",
                                         "LogSoftmax",
                                         "Not",
                                         "QuantizeLinear",
                                         "RMSNormalization",
                                         "RotaryEmbedding",
                                         "ScatterElements",
                                         "ScatterND",
                                         "Silu",
                                         "SimplifiedLayerNormalization",
                                         "SkipLayerNormalization",
                                         "SkipSimplifiedLayerNormalization",
                                         "Softmax",
                                         "Trilu"};

std::optional<Dims> broadcast_of(Arguments arguments) {
  Dims shape;
  for (const Known* argument : arguments) {
    if (!argument) continue;
    auto wider = broadcast(shape, argument->shape);
    if (!wider) return std::nullopt;
    shape = *std::move(wider);
  }
  return shape;
}

std::optional<Dims> product_shape(const Dims& a, const Dims& b) {
  if (a.size() < 2 || b.size() < 2 || a.back() != b[b.size() - 2]) return std::nullopt;
  auto shape = broadcast({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
  if (!shape) return std::nullopt;
  shape->push_back(a[a.size() - 2]);
  shape->push_back(b.back());
  return *std::move(shape);
}

std::optional<Dims> gemm_shape(const Node& node, const Dims& a, const Dims& b) {
  if (a.size() != 2 || b.size() != 2) return std::nullopt;
  return Dims{a[node.integer("transA", 0) != 0 ? 1 : 0], b[node.integer("transB", 0) != 0 ? 0 : 1]};
}

std::optional<Dims> convolved_shape(const Node& node, const Dims& image, const Dims& weight) {
  if (weight.size() < 3 || image.size() != weight.size()) return std::nullopt;
  const auto kernel = known_shape({weight.begin() + 2, weight.end()});
  if (!kernel) return std::nullopt;
  const auto window = window_of(node, *kernel, image);
  if (!window) return std::nullopt;
  Symbols symbols;
  const auto sides = places(*window, image, symbols);
  if (!sides) return std::nullopt;
  Dims shape{image[0], weight[0]};
  shape.insert(shape.end(), sides->begin(), sides->end());
  return shape;
}

std::optional<Dims> transposed_shape(const Node& node, const Dims& input) {
  const std::vector<int64_t> order = permutation_of(node, input.size());
  Dims shape;
  for (const int64_t d : order) {
    if (d < 0 || d >= std::ssize(input)) return std::nullopt;
    shape.push_back(input[static_cast<size_t>(d)]);
  }
  return shape;
}

std::optional<Dims> gathered_shape(const Node& node, const Dims& input, const Dims& indices) {
  const auto axis = dimension_at(node.integer("axis", 0), input.size());
  if (!axis) return std::nullopt;
  const auto at = input.begin() + static_cast<std::ptrdiff_t>(*axis);
  Dims shape(input.begin(), at);
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), at + 1, input.end());
  return shape;
}

std::optional<Dims> gathered_rows_shape(const Node& node, const Dims& input, const Dims& indices) {
  const int64_t batches = node.integer("batch_dims", 0);
  if (indices.empty() || batches < 0 || batches + indices.back().value > std::ssize(input)) return std::nullopt;
  Dims shape(indices.begin(), indices.end() - 1);
  shape.insert(shape.end(), input.begin() + static_cast<std::ptrdiff_t>(batches + indices.back().value), input.end());
  return shape;
}

std::optional<Dims> tiled_shape(const Dims& input, const Known& repeats) {
  const auto numbers = numbers_of(repeats);
  if (!numbers || numbers->size() != input.size()) return std::nullopt;
  Dims shape = input;
  for (size_t d = 0; d < shape.size(); ++d) {
    if ((*numbers)[d].is_symbol || __builtin_mul_overflow(shape[d].value, (*numbers)[d].value, &shape[d].value))
      return std::nullopt;
  }
  return shape;
}

std::optional<Dims> joined_shape(const Node& node, Arguments arguments) {
  if (arguments.empty() || !arguments[0]) return std::nullopt;
  Dims shape = arguments[0]->shape;
  const auto axis = dimension_at(node.integer("axis", 1), shape.size());
  if (!axis) return std::nullopt;
  int64_t next = 0;
  for (const Known* part : arguments.subspan(1)) {
    if (!part) return std::nullopt;
    auto sides = joined(shape, part->shape, *axis, next);
    if (!sides) return std::nullopt;
    shape = *std::move(sides);
  }
  return shape;
}

std::optional<Dims> sliced_shape(const Node& node, Arguments arguments) {
  Dims shape = arguments[0]->shape;
  const auto starts = list_at(node, "starts", arguments, 1), ends = list_at(node, "ends", arguments, 2);
  if (!starts || !ends || starts->size() != ends->size()) return std::nullopt;
  std::vector<int64_t> all(starts->size());
  std::iota(all.begin(), all.end(), 0);
  const auto axes = list_at(node, "axes", arguments, 3).value_or(all);
  const auto steps = list_at(node, "steps", arguments, 4).value_or(std::vector<int64_t>(starts->size(), 1));
  if (axes.size() != starts->size() || steps.size() != starts->size()) return std::nullopt;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = dimension_at(axes[i], shape.size());
    if (!axis || steps[i] < 1) return std::nullopt;
    const int64_t side = shape[*axis].value;
    const auto place = [&](int64_t said) {
      return std::clamp<int64_t>(said < 0 ? std::max(said, -side) + side : said, 0, side);
    };
    const int64_t length = std::max<int64_t>(place((*ends)[i]) - place((*starts)[i]), 0);
    shape[*axis].value = length / steps[i] + (length % steps[i] > 0 ? 1 : 0);
  }
  return shape;
}

std::optional<Dims> reduced_shape(const Node& node, Arguments arguments) {
  const Dims& input = arguments[0]->shape;
  const auto axes = list_at(node, "axes", arguments, 1);
  if (!axes) return std::nullopt;
  std::vector<bool> is_reduced(input.size(), false);
  for (const int64_t said : *axes) {
    const auto axis = dimension_at(said, input.size());
    if (!axis) return std::nullopt;
    is_reduced[*axis] = true;
  }
  Dims shape;
  for (size_t d = 0; d < input.size(); ++d) {
    if (!is_reduced[d]) shape.push_back(input[d]);
    else if (node.integer("keepdims", 1) != 0) shape.push_back({1});
  }
  return shape;
}

std::optional<Dims> expanded_shape(const Known& input, const Known& target) {
  const auto numbers = numbers_of(target);
  const auto shape = numbers ? broadcast(input.shape, *numbers) : Expected<Dims>(refused(""));
  return shape ? std::optional(*shape) : std::nullopt;
}

// Known integers as reals, by one scale: a table may be quantized.
TensorPtr dequantized(Arguments arguments, int64_t& budget) {
  if (arguments.size() < 2 || !arguments[0] || !arguments[1]) return nullptr;
  const TensorPtr codes = constant_of(*arguments[0]), scale = constant_of(*arguments[1]);
  const TensorPtr zero = arguments.size() > 2 && arguments[2] ? constant_of(*arguments[2]) : nullptr;
  if (!codes || !scale || is_real(codes->type) || scale->type != ElementType::f32 || scale->size() != 1) return nullptr;
  if ((arguments.size() > 2 && (!zero || zero->size() != 1)) || codes->size() > budget) return nullptr;
  budget -= codes->size();
  std::vector<float> reals;
  for (int64_t i = 0; i < codes->size(); ++i)
    reals.push_back(static_cast<float>(codes->integer(i) - (zero ? zero->integer(0) : 0)) * scale->real(0));
  return std::make_shared<const Tensor>(tensor_of<float>(ElementType::f32, codes->shape, reals));
}

}  // namespace

Trial::Trial(const Model& model, const Order& order, const std::map<std::string, Shape>& shapes,
             const std::map<std::string, TensorPtr>& values, int64_t budget) {
  builder_.budget = budget;
  const auto opset = model.opsets.find("");
  builder_.opset = opset == model.opsets.end() ? 0 : opset->second;
  add_constants(model.graph);
  for (const auto& [name, shape] : shapes) known_.insert_or_assign(name, data_of(dims_of(shape)));
  for (const auto& [name, tensor] : values) known_.insert_or_assign(name, Known{tensor, dims_of(tensor->shape)});
  for (const size_t i : order.nodes) visit(model.graph, model.graph.nodes[i]);
}

void Trial::add_constants(const ModelGraph& graph) {
  // In proportion to the model, as the importer's own: a small file takes a short time.
  constexpr int64_t kPasses = 8;
  for (const auto& [name, tensor] : graph.initializers) {
    builder_.budget += kPasses * tensor->size();
    const Dims shape = dims_of(tensor->shape);
    const bool is_small = tensor->size() <= (is_real(tensor->type) ? kMostReals : kMostIntegers);
    known_.emplace(name, is_small ? Known{tensor, shape} : data_of(shape));
  }
}

void Trial::visit(const ModelGraph& graph, const Node& node) {
  std::vector<const Known*> arguments;
  for (const std::string& input : node.inputs) {
    const auto found = known_.find(input);
    if (!input.empty() && found == known_.end()) return;
    arguments.push_back(input.empty() ? nullptr : &found->second);
  }
  while (!arguments.empty() && !arguments.back()) arguments.pop_back();
  if (node.op == "Split" && node.domain.empty()) {
    const auto parts = arguments.empty() ? std::nullopt : shapes_of_parts(node, arguments);
    for (size_t i = 0; parts && i < parts->size(); ++i) {
      if (!node.outputs[i].empty()) known_.insert_or_assign(node.outputs[i], data_of((*parts)[i]));
    }
    return;
  }
  if (node.outputs.empty() || node.outputs[0].empty()) return;
  // A trial may have positions past the end of a table. The shape is known nevertheless.
  auto folded = fold(builder_, node, arguments);
  if (folded && *folded) {
    known_.insert_or_assign(node.outputs[0], **std::move(folded));
    return;
  }
  if (arguments.empty() || !arguments[0]) return;
  // A weight that is quantized is data.
  if (node.op == "DequantizeLinear" && node.domain.empty() && !graph.initializers.contains(node.inputs[0])) {
    if (const TensorPtr reals = dequantized(arguments, builder_.budget)) {
      known_.insert_or_assign(node.outputs[0], Known{reals, dims_of(reals->shape)});
      return;
    }
  }
  if (const auto shape = shape_of(node, arguments); shape && known_shape(*shape))
    known_.insert_or_assign(node.outputs[0], data_of(*shape));
  if (node.op == "Attention" && node.domain.empty()) visit_caches(node, arguments);
  if (node.op == "DynamicQuantizeLinear") {  // scale and zero point
    for (size_t i = 1; i < node.outputs.size(); ++i) known_.insert_or_assign(node.outputs[i], data_of({}));
  }
  const bool gives_sum = node.op == "SkipLayerNormalization" || node.op == "SkipSimplifiedLayerNormalization";
  if (gives_sum && node.outputs.size() > 3) known_.insert_or_assign(node.outputs[3], data_of(arguments[0]->shape));
}

// The past and the new keys.
void Trial::visit_caches(const Node& node, Arguments arguments) {
  if (arguments.size() < 6 || !arguments[1] || !arguments[4] || arguments[4]->shape.size() != 4) return;
  const Dims& added = arguments[1]->shape;
  Dims shape = arguments[4]->shape;
  shape[2].value += added.size() > 2 ? added[added.size() - 2].value : 0;
  for (size_t i = 1; i < std::min<size_t>(node.outputs.size(), 3); ++i) {
    if (!node.outputs[i].empty()) known_.insert_or_assign(node.outputs[i], data_of(shape));
  }
}

std::optional<Dims> Trial::shape_of(const Node& node, Arguments arguments) {
  const Dims& first = arguments[0]->shape;
  const Known* second = arguments.size() > 1 ? arguments[1] : nullptr;
  if (is_one_of(node.op, kKeeping) || (is_function(node.op) && !is_one_of(node.op, kBroadcasting))) return first;
  if (node.op == "MatMulNBits") {
    Dims shape = first;
    if (!shape.empty()) shape.back() = {node.integer("N", 0)};
    return shape;
  }
  if (node.op == "Attention" && second) return first;
  if (!node.domain.empty()) return std::nullopt;
  if (is_one_of(node.op, kBroadcasting)) return broadcast_of(arguments);
  const bool is_product = node.op == "MatMul" || node.op == "MatMulInteger";
  if (is_product && second) return product_shape(first, second->shape);
  if (node.op == "Gemm" && second) return gemm_shape(node, first, second->shape);
  if ((node.op == "Conv" || node.op == "ConvInteger") && second) return convolved_shape(node, first, second->shape);
  if (node.op == "Transpose") return transposed_shape(node, first);
  if (node.op == "Gather" && second) return gathered_shape(node, first, second->shape);
  if (node.op == "GatherElements" && second) return second->shape;
  if (node.op == "GatherND" && second) return gathered_rows_shape(node, first, second->shape);
  if (node.op == "Tile" && second) return tiled_shape(first, *second);
  if (node.op == "Concat") return joined_shape(node, arguments);
  if (node.op == "Slice") return sliced_shape(node, arguments);
  if (node.op == "Expand" && second) return expanded_shape(*arguments[0], *second);
  if (node.op.starts_with("Reduce")) return reduced_shape(node, arguments);
  const auto view = output_shape_of_view(builder_, node, arguments);
  return view ? *view : std::nullopt;
}

std::optional<std::vector<Dims>> Trial::shapes_of_parts(const Node& node, Arguments arguments) const {
  const Dims& input = arguments[0]->shape;
  const auto axis = dimension_at(node.integer("axis", 0), input.size());
  if (!axis) return std::nullopt;
  const auto count = std::ssize(node.outputs);
  auto sides = list_at(node, "split", arguments, 1);
  if (!sides && arguments.size() == 1 && input[*axis].value % count == 0)
    sides = std::vector<int64_t>(node.outputs.size(), input[*axis].value / count);
  if (!sides || std::ssize(*sides) != count) return std::nullopt;
  std::vector<Dims> shapes;
  for (const int64_t side : *sides) {
    shapes.push_back(input);
    shapes.back()[*axis] = {side};
  }
  return shapes;
}

std::optional<Shape> Trial::shape(std::string_view value) const {
  const auto known = known_.find(value);
  return known == known_.end() ? std::nullopt : known_shape(known->second.shape);
}

TensorPtr Trial::value(std::string_view value) const {
  const auto known = known_.find(value);
  return known == known_.end() ? nullptr : constant_of(known->second);
}

std::optional<double> Trial::number(std::string_view name) const {
  const TensorPtr tensor = value(name);
  if (!tensor || tensor->size() != 1) return std::nullopt;
  return is_real(tensor->type) ? double{tensor->real(0)} : static_cast<double>(tensor->integer(0));
}

bool Trial::agree(const Trial& a, const Trial& b, std::string_view value) {
  if (a.shape(value) != b.shape(value)) return false;
  const TensorPtr x = a.value(value), y = b.value(value);
  return (!x && !y) || (x && y && x->type == y->type && x->data == y->data);
}

}  // namespace qgen::onnx
