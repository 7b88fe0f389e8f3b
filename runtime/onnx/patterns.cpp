// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/onnx/patterns.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/onnx/builder.h"

namespace qgen::onnx {
namespace {

const Known* at(Arguments arguments, size_t index) { return index < arguments.size() ? arguments[index] : nullptr; }

Expected<const Known*> needed(Arguments arguments, size_t index) {
  if (const Known* known = at(arguments, index)) return known;
  return refused(fmt::format("it has no input {}", index));
}

Expected<View> view_at(Builder& builder, Arguments arguments, size_t index) {
  const auto known = needed(arguments, index);
  if (!known) return known.error();
  if (const auto view = builder.view_of(**known)) return *view;
  return unsupported(fmt::format("input {} is not quantized to bytes with one scale", index));
}

Expected<const QuantizedConstant*> constant_at(Builder& builder, Arguments arguments, size_t index) {
  const auto known = needed(arguments, index);
  if (!known) return known.error();
  if (const auto* constant = (*known)->as<QuantizedConstant>()) {
    if (Done spent = builder.spend(constant->codes->size()); !spent) return spent.error();
    return constant;
  }
  return unsupported(fmt::format("input {} is no quantized constant", index));
}

// Reals, or what becomes reals: not what is quantized, which other rows take.
Expected<Real> real_at(Builder& builder, Arguments arguments, size_t index) {
  const auto known = needed(arguments, index);
  if (!known) return known.error();
  return builder.real_of(**known);
}

// ---- weights and biases ---------------------------------------------------------------------------------------------

// The real bias, `count` elements; nullopt: none. Operators add reals, so that a bias of integers needs no particular
// scale: they are taken as what they stand for.
Expected<std::optional<ValueId>> bias_at(Builder& builder, const Node& node, Arguments arguments, size_t index,
                                         int64_t count, float factor = 1) {
  const Known* known = at(arguments, index);
  if (!known) return std::optional<ValueId>();
  HostTensor reals;
  const auto* codes = known->as<QuantizedConstant>();
  const int64_t elements = codes ? codes->codes->size() : known->tensor() ? known->tensor()->size() : 0;
  if (Done spent = builder.spend(elements); !spent) return spent.error();
  if (const auto* constant = codes) {
    reals = dequantized(*constant);
  } else if (const TensorPtr tensor = known->tensor(); tensor && is_real(tensor->type)) {
    reals = zeros(DType::f32, tensor->shape);
    for (int64_t i = 0; i < tensor->size(); ++i) reals.as<float>()[static_cast<size_t>(i)] = tensor->real(i);
  } else {
    return unsupported("its bias is no constant");
  }
  const bool is_vector = element_count(reals.shape) == count && (reals.shape.empty() || reals.shape.back() == count);
  if (!is_vector && element_count(reals.shape) != 1)
    return refused(fmt::format("its bias is {}, and it has {} outputs", to_text(reals.shape), count));
  std::vector<float> values(reals.as<float>().begin(), reals.as<float>().end());
  values.resize(static_cast<size_t>(count), values.empty() ? 0 : values.front());
  for (float& value : values) value *= factor;
  return std::optional(builder.constant(node.name + " bias", make_tensor<float>(DType::f32, {count}, values)));
}

// ONNX wants a bias of integers to have the scale of the sums; where a model does not, somebody may be wrong.
void check_bias_scale(Builder& builder, const Node& node, const Known* bias, double input_scale,
                      const HostTensor& weight_scales) {
  const auto* constant = bias ? bias->as<QuantizedConstant>() : nullptr;
  if (!constant) return;
  const auto& scales = constant->parameters.scales;
  const auto sums = weight_scales.as<float>();
  for (size_t i = 0; i < sums.size(); ++i) {
    const double expected = input_scale * sums[i],
                 said = scales[scales.size() == 1 ? 0 : std::min(i, scales.size() - 1)];
    if (std::abs(said - expected) <= 1e-5 * expected) continue;
    builder.note(node.name,
                 fmt::format("its bias has a scale of {} where its sums have {}; it is added as the reals that "
                             "it stands for",
                             said, expected));
    return;
  }
}

void add_weight(Builder& builder, const TensorPtr& source, Pending& pending, SymmetricWeight weight,
                const std::string& form) {
  const ValueId codes = builder.constant_of(source, form, [&] { return std::move(weight.codes); });
  const ValueId scales = builder.constant(pending.name + " weight_scales", std::move(weight.scales));
  pending.constants.push_back({"weight", codes});
  pending.constants.push_back({"weight_scales", scales});
}

Done add_bias(Builder& builder, const Node& node, Arguments arguments, size_t index, int64_t count, Pending& pending,
              float factor = 1) {
  const auto bias = bias_at(builder, node, arguments, index, count, factor);
  if (!bias) return bias.error();
  if (*bias) pending.constants.push_back({"bias", **bias});
  return std::monostate{};
}

// ---- convolutions ---------------------------------------------------------------------------------------------------

bool is_image(const Dims& shape) { return shape.size() == 3 || shape.size() == 4; }

void set_window(Attributes& attributes, const Window& window) {
  attributes.insert_or_assign("stride", AttributeValue(window.strides));
  attributes.insert_or_assign("padding", AttributeValue(window.padding()));
}

Expected<Pending> convolution(Builder& builder, const Node& node, Arguments arguments, Pending::Operand input) {
  const auto constant = constant_at(builder, arguments, 1);
  if (!constant) return constant.error();
  const Shape& taps = (*constant)->codes->shape;
  if (!is_image(input.shape) || taps.size() != input.shape.size())
    return unsupported(
        fmt::format("an input {} and a weight {} are no images or rows", to_text(input.shape), to_text(taps)));
  auto weight = symmetric_along(**constant, 0);
  if (!weight) return unsupported(weight.error().message);
  const int64_t groups = node.integer("group", 1);
  if (groups < 1 || taps[0] % groups != 0 || (!input.shape[1].is_symbol && input.shape[1].value != taps[1] * groups))
    return refused(fmt::format("an input {}, a weight {} and {} groups do not go together", to_text(input.shape),
                               to_text(taps), groups));
  const auto window = window_of(node, {taps.begin() + 2, taps.end()}, input.shape);
  if (!window) return window.error();
  auto shape = places(*window, input.shape, builder.next_symbol);
  if (!shape) return shape.error();
  (*shape)[1] = {taps[0]};

  Pending pending{.name = node.name, .shape = *std::move(shape)};
  if (const auto* view = std::get_if<View>(&input.value))
    check_bias_scale(builder, node, at(arguments, 2), view->quantization.scale, weight->scales);
  pending.operands.push_back(std::move(input));
  add_weight(builder, (*constant)->codes, pending, *std::move(weight), "");
  if (Done biased = add_bias(builder, node, arguments, 2, taps[0], pending); !biased) return biased.error();
  set_window(pending.attributes, *window);
  pending.attributes.insert_or_assign("dilation", AttributeValue(window->dilations));
  pending.attributes.insert_or_assign("groups", AttributeValue(groups));
  return pending;
}

Expected<Pending> conv(Builder& builder, const Node& node, Arguments arguments) {
  const auto view = view_at(builder, arguments, 0);
  if (!view) return view.error();
  return convolution(builder, node, arguments, {"input", *view, arguments[0]->shape});
}

Expected<Pending> conv_of_reals(Builder& builder, const Node& node, Arguments arguments) {
  const auto real = real_at(builder, arguments, 0);
  if (!real) return real.error();
  return convolution(builder, node, arguments, {"input", *real, arguments[0]->shape});
}

// One tap, at each pixel: a product of the weight with the pixels, in which both sides may have zero points.
Expected<Pending> conv_of_pixels(Builder& builder, const Node& node, Arguments arguments) {
  const auto view = view_at(builder, arguments, 0);
  if (!view) return view.error();
  const auto constant = constant_at(builder, arguments, 1);
  if (!constant) return constant.error();
  const Dims& input = arguments[0]->shape;
  const Shape& taps = (*constant)->codes->shape;
  const auto window =
      window_of(node, {taps.begin() + std::min<std::ptrdiff_t>(2, std::ssize(taps)), taps.end()}, input);
  if (!window) return window.error();
  const auto are = [](const std::vector<int64_t>& list, int64_t n) {
    return std::ranges::count(list, n) == std::ssize(list);
  };
  if (!are(window->kernel, 1) || !are(window->strides, 1) || !are(window->padding(), 0) ||
      node.integer("group", 1) != 1)
    return unsupported("its window is more than one tap at each pixel");
  if (at(arguments, 2)) return unsupported("it has a bias");
  if (!is_byte((*constant)->codes->type)) return unsupported("its weight is not of 8 bits");
  if (!(input[1] == Number{taps[1]}))
    return refused(fmt::format("an input {} and a weight {}", to_text(input), to_text(taps)));
  auto weight = reshaped(**constant, {1, taps[0], taps[1]});
  if (!weight) return unsupported(weight.error().message);
  auto flat = reshaped(input, {input[0], input[1], {-1}}, false, builder.next_symbol);
  if (!flat) return flat.error();
  const auto pixels = builder.reshape(node.name + " pixels", view->codes, *flat);
  if (!pixels) return pixels.error();
  Pending pending{.name = node.name, .shape = *flat, .reshaped = input};
  pending.shape[1] = {taps[0]};
  (*pending.reshaped)[1] = {taps[0]};
  pending.operands.push_back({"input", *std::move(weight), dims_of({1, taps[0], taps[1]})});
  pending.operands.push_back({"other", View{*pixels, view->quantization}, *flat});
  return pending;
}

// What a transposed convolution takes off both ends of an axis so that it has as many pixels as the model says.
void trim(Window& window, size_t axis, int64_t pixels, int64_t wanted, bool more_at_end) {
  const int64_t total = std::max<int64_t>(pixels - wanted, 0);
  window.before[axis] = more_at_end ? total / 2 : total - total / 2;
  window.after[axis] = total - window.before[axis];
}

Expected<Pending> conv_transposed(Builder& builder, const Node& node, Arguments arguments) {
  const auto view = view_at(builder, arguments, 0);
  if (!view) return view.error();
  const auto constant = constant_at(builder, arguments, 1);
  if (!constant) return constant.error();
  const Dims& input = arguments[0]->shape;
  const Shape& taps = (*constant)->codes->shape;
  if (!is_image(input) || taps.size() != input.size())
    return unsupported(fmt::format("an input {} and a weight {} are no images or rows", to_text(input), to_text(taps)));
  auto weight = symmetric_along(**constant, 1);
  if (!weight) return unsupported(weight.error().message);
  const int64_t groups = node.integer("group", 1);
  if (groups < 1 || taps[0] % groups != 0 || groups > (int64_t{1} << 30) ||
      (!input[1].is_symbol && input[1].value != taps[0]))
    return refused(fmt::format("an input {}, a weight {} and {} groups do not go together", to_text(input),
                               to_text(taps), groups));
  // Scales go along the outputs of a group, and are the same in all groups.
  const auto of_group = weight->scales.as<float>();
  std::vector<float> scales;
  for (int64_t g = 0; g < groups; ++g) scales.insert(scales.end(), of_group.begin(), of_group.end());
  weight->scales = make_tensor<float>(DType::f32, {std::ssize(scales)}, scales);

  // auto_pad and output_shape say the number of pixels instead of the padding.
  Node explicit_node = node;
  const std::string_view way = node.word("auto_pad", "NOTSET");
  const bool is_same = way == "SAME_UPPER" || way == "SAME_LOWER";
  if (is_same) explicit_node.attributes.erase("auto_pad");
  auto window = window_of(explicit_node, {taps.begin() + 2, taps.end()}, input);
  if (!window) return window.error();
  const std::vector<int64_t> pixels = node.integers("output_shape");
  std::vector<int64_t> more = node.integers("output_padding");
  if (more.empty()) more.assign(window->kernel.size(), 0);
  if (more.size() != window->kernel.size() || (!pixels.empty() && pixels.size() != more.size()))
    return refused("output_padding or output_shape has another length than the window");
  Dims shape{input[0], {std::ssize(scales)}};
  for (size_t i = 0; i < more.size(); ++i) {
    const Number side = input[i + 2];
    const bool says_pixels = !pixels.empty() || is_same;
    if (side.is_symbol && says_pixels) return unsupported("its padding depends on a side that is not known");
    const int64_t reach = window->dilations[i] * (window->kernel[i] - 1) + 1;
    const int64_t all = (side.value - 1) * window->strides[i] + reach + more[i];
    if (!pixels.empty()) trim(*window, i, all, pixels[i], way != "SAME_LOWER");
    else if (is_same) trim(*window, i, all, side.value * window->strides[i], way == "SAME_UPPER");
    const int64_t left = all - window->before[i] - window->after[i];
    if (!side.is_symbol && left < 1) return refused(fmt::format("its output has {} pixels", left));
    shape.push_back(side.is_symbol ? Number{builder.next_symbol++, true} : Number{left});
  }

  Pending pending{.name = node.name, .shape = std::move(shape)};
  check_bias_scale(builder, node, at(arguments, 2), view->quantization.scale, weight->scales);
  pending.operands.push_back({"input", *view, input});
  add_weight(builder, (*constant)->codes, pending, *std::move(weight), "");
  if (Done biased = add_bias(builder, node, arguments, 2, std::ssize(scales), pending); !biased) return biased.error();
  set_window(pending.attributes, *window);
  pending.attributes.insert_or_assign("dilation", AttributeValue(window->dilations));
  pending.attributes.insert_or_assign("groups", AttributeValue(groups));
  pending.attributes.insert_or_assign("output_padding", AttributeValue(more));
  return pending;
}

// ---- products of matrices -------------------------------------------------------------------------------------------

// MatMul and Gemm alike: how the second matrix lies, and what the product and the bias are multiplied by.
struct Product {
  bool is_turned = false;  // the second is [N, K]
  float alpha = 1, beta = 1;
};
Expected<Product> product_of(const Node& node) {
  if (node.op != "Gemm" && node.op != "QGemm") return Product{};
  if (node.integer("transA", 0) != 0) return unsupported("its first matrix is turned (transA)");
  return Product{node.integer("transB", 0) != 0, node.real("alpha", 1), node.real("beta", 1)};
}

// The weight as a matrix [N, K].
Expected<QuantizedConstant> rows_of(const QuantizedConstant& constant, bool is_turned) {
  const Shape& shape = constant.codes->shape;
  if (shape.size() < 2 || element_count(shape) != element_count({shape.end() - 2, shape.end()}))
    return unsupported(fmt::format("its weight is {}, several matrices or none", to_text(shape)));
  auto matrix =
      shape.size() == 2 ? Expected<QuantizedConstant>(constant) : reshaped(constant, {shape.end() - 2, shape.end()});
  if (!matrix) return unsupported(matrix.error().message);
  return is_turned ? *std::move(matrix) : transposed(*matrix, {1, 0});
}

Expected<Pending> linear(Builder& builder, const Node& node, Arguments arguments, Pending::Operand input,
                         Expected<SymmetricWeight> (*symmetric)(const QuantizedConstant&)) {
  const auto constant = constant_at(builder, arguments, 1);
  if (!constant) return constant.error();
  const auto product = product_of(node);
  if (!product) return product.error();
  const auto rows = rows_of(**constant, product->is_turned);
  if (!rows) return rows.error();
  const int64_t n = rows->codes->shape[0], k = rows->codes->shape[1];
  if (input.shape.empty() || !(input.shape.back() == Number{k}))
    return refused(fmt::format("an input {} does not go with {} columns", to_text(input.shape), k));
  auto weight = symmetric(*rows);
  if (!weight) return unsupported(weight.error().message);
  if (!(product->alpha > 0)) return unsupported(fmt::format("alpha is {}", product->alpha));
  for (float& scale : weight->scales.as<float>()) scale *= product->alpha;

  Pending pending{.name = node.name, .shape = input.shape};
  pending.shape.back() = {n};
  if (const auto* view = std::get_if<View>(&input.value))
    check_bias_scale(builder, node, at(arguments, 2), view->quantization.scale, weight->scales);
  pending.operands.push_back(std::move(input));
  add_weight(builder, (*constant)->codes, pending, *std::move(weight), product->is_turned ? "" : " turned");
  if (Done biased = add_bias(builder, node, arguments, 2, n, pending, product->beta); !biased) return biased.error();
  return pending;
}

Expected<Pending> linear_of_bytes(Builder& builder, const Node& node, Arguments arguments) {
  const auto view = view_at(builder, arguments, 0);
  if (!view) return view.error();
  return linear(builder, node, arguments, {"input", *view, arguments[0]->shape},
                [](const QuantizedConstant& rows) { return symmetric_along(rows, 0); });
}

// Four bits first: they have groups, too.
Expected<Pending> linear_of_nibbles(Builder& builder, const Node& node, Arguments arguments) {
  const auto constant = constant_at(builder, arguments, 1);
  if (!constant) return constant.error();
  if (!is_nibble((*constant)->codes->type)) return unsupported("its weight is not of 4 bits");
  const auto real = real_at(builder, arguments, 0);
  if (!real) return real.error();
  return linear(builder, node, arguments, {"input", *real, arguments[0]->shape}, symmetric_groups);
}

Expected<Pending> linear_of_reals(Builder& builder, const Node& node, Arguments arguments) {
  const auto constant = constant_at(builder, arguments, 1);
  if (!constant) return constant.error();
  const auto real = real_at(builder, arguments, 0);
  if (!real) return real.error();
  return linear(builder, node, arguments, {"input", *real, arguments[0]->shape},
                [](const QuantizedConstant& rows) { return symmetric_along(rows, 0); });
}

Expected<Dims> product_shape(const Dims& a, const Dims& b) {
  if (a.size() < 2 || b.size() < 2) return unsupported("a vector is multiplied by a matrix");
  if (!(a.back() == b[b.size() - 2]))
    return refused(fmt::format("matrices {} and {} do not go together", to_text(a), to_text(b)));
  auto shape = broadcast({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
  if (!shape) return shape;
  shape->push_back(a[a.size() - 2]);
  shape->push_back(b.back());
  return shape;
}

Expected<Pending> two_matrices(Builder& builder, const Node& node, Arguments arguments, bool are_bytes) {
  const auto product = product_of(node);
  if (!product) return product.error();
  if (product->is_turned || product->alpha != 1) return unsupported("its second matrix is turned, or alpha is not 1");
  if (at(arguments, 2)) return unsupported("it has a bias");
  Pending pending{.name = node.name};
  DType constants_are = DType::f32;
  for (size_t i = 0; i < 2; ++i) {
    const auto known = needed(arguments, i);
    if (!known) return known.error();
    if (const auto* real = (*known)->as<Real>()) constants_are = real->dtype;
  }
  for (size_t i = 0; i < 2; ++i) {
    auto operand = builder.operand_of(i == 0 ? "input" : "other", *arguments[i], constants_are);
    if (!operand) return operand.error();
    if (are_bytes && std::holds_alternative<Real>(operand->value))
      return unsupported(fmt::format("input {} is real", i));
    pending.operands.push_back(*std::move(operand));
  }
  auto shape = product_shape(arguments[0]->shape, arguments[1]->shape);
  if (!shape) return shape.error();
  pending.shape = *std::move(shape);
  return pending;
}

Expected<Pending> bmm(Builder& builder, const Node& node, Arguments arguments) {
  return two_matrices(builder, node, arguments, true);
}
Expected<Pending> bmm_of_reals(Builder& builder, const Node& node, Arguments arguments) {
  return two_matrices(builder, node, arguments, false);
}

// ---- of two ---------------------------------------------------------------------------------------------------------

Expected<Pending> binary(Builder& builder, const Node& node, Arguments arguments, bool are_bytes) {
  Pending pending{.name = node.name};
  DType constants_are = DType::f32;
  for (size_t i = 0; i < 2; ++i) {
    const auto known = needed(arguments, i);
    if (!known) return known.error();
    if (are_bytes && !builder.view_of(**known))
      return unsupported(fmt::format("input {} is not quantized to bytes with one scale", i));
    if (const auto* real = (*known)->as<Real>()) constants_are = real->dtype;
  }
  for (size_t i = 0; i < 2; ++i) {
    auto operand = builder.operand_of(i == 0 ? "input" : "other", *arguments[i], constants_are);
    if (!operand) return operand.error();
    pending.operands.push_back(*std::move(operand));
  }
  auto shape = broadcast(arguments[0]->shape, arguments[1]->shape);
  if (!shape) return shape.error();
  pending.shape = *std::move(shape);
  return pending;
}

Expected<Pending> both_bytes(Builder& builder, const Node& node, Arguments arguments) {
  return binary(builder, node, arguments, true);
}
Expected<Pending> of_any(Builder& builder, const Node& node, Arguments arguments) {
  return binary(builder, node, arguments, false);
}
// Sums with a factor of -1, which q8ta_add and fused_add both have.
Expected<Pending> difference(Expected<Pending> pending) {
  if (pending) pending->attributes.insert_or_assign("alpha", AttributeValue(-1.0));
  return pending;
}
Expected<Pending> difference_of_bytes(Builder& builder, const Node& node, Arguments arguments) {
  return difference(binary(builder, node, arguments, true));
}
Expected<Pending> difference_of_any(Builder& builder, const Node& node, Arguments arguments) {
  return difference(binary(builder, node, arguments, false));
}

// ---- means ----------------------------------------------------------------------------------------------------------

Expected<Pending> mean_of_all(Builder& builder, const Node& node, Arguments arguments) {
  const auto view = view_at(builder, arguments, 0);
  if (!view) return view.error();
  const Dims& input = arguments[0]->shape;
  if (!is_image(input)) return unsupported(fmt::format("an input {} is no image or row", to_text(input)));
  if (node.integer("channels_last", 0) != 0) return unsupported("its channels are last");
  Pending pending{.name = node.name, .shape = input};
  std::fill(pending.shape.begin() + 2, pending.shape.end(), Number{1});
  pending.operands.push_back({"input", *view, input});
  return pending;
}

// Along all axes of an image, which is what a global pool takes.
Expected<Pending> mean_along(Builder& builder, const Node& node, Arguments arguments) {
  auto pending = mean_of_all(builder, node, arguments);
  if (!pending) return pending;
  const auto rank = static_cast<int64_t>(pending->shape.size());
  std::vector<int64_t> axes = node.integers("axes");
  if (const Known* said = at(arguments, 1)) {
    const TensorPtr tensor = said->tensor();
    if (!tensor || is_real(tensor->type)) return unsupported("its axes are no constants");
    for (int64_t i = 0; i < tensor->size() && i < rank; ++i) axes.push_back(tensor->integer(i));
  }
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::ranges::sort(axes);
  std::vector<int64_t> image(static_cast<size_t>(rank - 2));
  std::iota(image.begin(), image.end(), 2);
  if (axes != image) return unsupported("it is a mean along other axes than those of an image");
  if (node.integer("keepdims", 1) == 0) pending->reshaped = Dims(pending->shape.begin(), pending->shape.begin() + 2);
  return pending;
}

Expected<Pending> mean_of_windows(Builder& builder, const Node& node, Arguments arguments) {
  auto pending = mean_of_all(builder, node, arguments);
  if (!pending) return pending;
  const Dims input = arguments[0]->shape;
  const auto window = window_of(node, node.integers("kernel_shape"), input);
  if (!window) return window.error();
  if (std::ranges::any_of(window->dilations, [](int64_t d) { return d != 1; })) return unsupported("it has dilations");
  auto shape = places(*window, input, builder.next_symbol);
  if (!shape) return shape.error();
  pending->shape = *std::move(shape);
  set_window(pending->attributes, *window);
  pending->attributes.insert_or_assign("kernel_size", AttributeValue(window->kernel));
  pending->attributes.insert_or_assign("ceil_mode", AttributeValue(window->ceil));
  pending->attributes.insert_or_assign("count_include_pad", AttributeValue(node.integer("count_include_pad", 0) != 0));
  return pending;
}

// ---- the table ------------------------------------------------------------------------------------------------------

constexpr Form as_q8ta(std::string_view op, bool has_activation = false, bool has_table = false) {
  return {op, Style::q8ta, has_activation, has_table};
}
constexpr Form as_fused(std::string_view op) { return {op, Style::fused}; }
constexpr Form quantizing(std::string_view op) { return {op, Style::quantizes, true}; }
constexpr Form of_reals(std::string_view op) { return {op, Style::real, true}; }
constexpr Form kNone = {};

constexpr Pattern kPatterns[] = {
    // op              operands               before a QuantizeLinear                       otherwise
    {"Conv", "int8, int8 weight", as_q8ta("q8ta_conv2d", true, true), quantizing("conv2d_q8ta_q8csw"), conv},
    {"Conv", "real, int8 weight", kNone, of_reals("conv2d_q8csw"), conv_of_reals},
    {"Conv", "int8, int8 weight of one tap", as_fused("bmm"), as_fused("bmm"), conv_of_pixels},
    {"ConvTranspose", "int8, int8 weight", as_q8ta("q8ta_conv2d_transposed", true, true), kNone, conv_transposed},
    {"MatMul", "int8, int8 weight", as_q8ta("q8ta_linear", true, true), quantizing("linear_q8ta_q8csw"),
     linear_of_bytes},
    {"MatMul", "real, int4 weight", kNone, of_reals("linear_q4gsw"), linear_of_nibbles},
    {"MatMul", "real, int8 weight", kNone, of_reals("linear_q8csw"), linear_of_reals},
    {"MatMul", "int8, int8", as_fused("bmm"), as_fused("bmm"), bmm},
    {"MatMul", "any, any", as_fused("fused_bmm"), as_fused("fused_bmm"), bmm_of_reals},
    {"MatMulInteger", "int8, int8", as_fused("bmm"), as_fused("bmm"), bmm},
    {"Gemm", "int8, int8 weight", as_q8ta("q8ta_linear", true, true), quantizing("linear_q8ta_q8csw"), linear_of_bytes},
    {"Gemm", "real, int4 weight", kNone, of_reals("linear_q4gsw"), linear_of_nibbles},
    {"Gemm", "real, int8 weight", kNone, of_reals("linear_q8csw"), linear_of_reals},
    {"Gemm", "int8, int8", as_fused("bmm"), as_fused("bmm"), bmm},
    {"Gemm", "any, any", as_fused("fused_bmm"), as_fused("fused_bmm"), bmm_of_reals},
    {"Add", "int8, int8", as_q8ta("q8ta_add", true), as_fused("fused_add"), both_bytes},
    {"Add", "any, any", as_fused("fused_add"), as_fused("fused_add"), of_any},
    {"Sub", "int8, int8", as_q8ta("q8ta_add", true), as_fused("fused_add"), difference_of_bytes},
    {"Sub", "any, any", as_fused("fused_add"), as_fused("fused_add"), difference_of_any},
    {"Mul", "int8, int8", as_q8ta("q8ta_mul", true), as_fused("fused_mul"), both_bytes},
    {"Mul", "any, any", as_fused("fused_mul"), as_fused("fused_mul"), of_any},
    {"AveragePool", "int8", as_q8ta("q8ta_avg_pool2d"), kNone, mean_of_windows},
    {"GlobalAveragePool", "int8", as_q8ta("q8ta_avg_pool2d"), kNone, mean_of_all},
    {"ReduceMean", "int8", as_q8ta("q8ta_avg_pool2d"), kNone, mean_along},
};

constexpr Pattern kIdentity = {"Identity", "int8", as_fused("requantize"), of_reals(""), nullptr};

struct Lack {
  std::string_view op, needs;
};
constexpr Lack kLacks[] = {
    {"Concat", "an operator that joins tensors"},
    {"Split", "an operator that takes tensors apart"},
    {"Slice", "an operator that takes a part of a tensor"},
    {"Gather", "an operator that takes rows of a tensor of activations"},
    {"Transpose", "an operator that puts a tensor's dimensions in another order"},
    {"Pad", "an operator that pads a tensor"},
    {"Resize", "an operator that resizes an image"},
    {"Upsample", "an operator that resizes an image"},
    {"Cast", "an operator that converts from one type to another"},
    {"Softmax", "an operator for softmax"},
    {"LogSoftmax", "an operator for softmax"},
    {"LayerNormalization", "an operator that normalizes rows"},
    {"InstanceNormalization", "an operator that normalizes images"},
    {"BatchNormalization", "a factor and an offset for each channel; exporters fold it into the convolution before it"},
    {"MaxPool", "an operator that pools reals"},
    {"Div", "a quotient of two tensors"},
    {"Pow", "a power of a tensor"},
    {"Sqrt", "a root of a tensor"},
    {"Erf", "the error function of a tensor"},
    {"Exp", "the exponential of a tensor"},
    {"ReduceMax", "the greatest element along an axis"},
    {"ReduceSum", "a sum along an axis"},
    {"ArgMax", "the place of the greatest element along an axis"},
    {"Where", "a choice between two tensors"},
    {"If", "branches, which a graph does not have"},
    {"Loop", "loops, which a graph does not have"},
    {"Scan", "loops, which a graph does not have"},
};

}  // namespace

std::span<const Pattern> patterns() { return kPatterns; }

std::string_view lacking(std::string_view op) {
  const auto found = std::ranges::find(kLacks, op, &Lack::op);
  return found == std::end(kLacks) ? std::string_view() : found->needs;
}

Expected<Pending> match(Builder& builder, std::string_view op, const Node& node, Arguments arguments) {
  std::string reasons;
  for (const Pattern& pattern : kPatterns) {
    if (pattern.op != op) continue;
    auto pending = pattern.match(builder, node, arguments);
    if (pending) {
      pending->pattern = &pattern;
      const bool has_bytes = std::ranges::any_of(arguments, [](const Known* it) { return it && it->as<View>(); });
      if (has_bytes && !reasons.empty())
        builder.note(node.name, fmt::format("becomes {}, since it does not fit what is better: {}",
                                            pattern.quantized ? pattern.quantized.op : pattern.real.op, reasons));
      return pending;
    }
    if (pending.error().kind != Error::Kind::unsupported) return pending;
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", pattern.operands, pending.error().message);
  }
  return unsupported(reasons);
}

Pending identity(const View& view, const Dims& shape) {
  Pending pending{.pattern = &kIdentity, .name = "", .shape = shape};
  pending.operands.push_back({"input", view, shape});
  return pending;
}
bool is_identity(const Pending& pending) { return pending.pattern == &kIdentity; }

}  // namespace qgen::onnx
