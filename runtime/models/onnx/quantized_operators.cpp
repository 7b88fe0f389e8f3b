// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>

#include <algorithm>

#include "runtime/models/onnx/importer.h"

namespace qgen::onnx {

const QuantizedOperator* find_quantized_operator(std::string_view op, std::string_view domain) {
  constexpr std::string_view kMicrosoft = "com.microsoft";
  static const std::vector<QuantizedOperator> kOperators = {
      {"QLinearConv", "", "Conv", {0, 3}, 6, 8, WeightAxis::first},
      {"QLinearMatMul", "", "MatMul", {0, 3}, 6, -1, WeightAxis::last},
      {"QLinearMatMul", kMicrosoft, "MatMul", {0, 3}, 6, -1, WeightAxis::last},
      {"QGemm", kMicrosoft, "Gemm", {0, 3}, 7, 6, WeightAxis::of_gemm},
      {"QLinearAdd", kMicrosoft, "Add", {0, 3}, 6},
      {"QLinearMul", kMicrosoft, "Mul", {0, 3}, 6},
      {"QLinearConcat", kMicrosoft, "Concat", {}, 0},
      {"QLinearAveragePool", kMicrosoft, "AveragePool", {0}, 3},
      {"QLinearGlobalAveragePool", kMicrosoft, "GlobalAveragePool", {0}, 3},
      {"QLinearReduceMean", kMicrosoft, "ReduceMean", {0}, 3},
      {"QLinearSoftmax", kMicrosoft, "Softmax", {0}, 3},
      {"QLinearSigmoid", kMicrosoft, "Sigmoid", {0}, 3},
      {"QLinearLeakyRelu", kMicrosoft, "LeakyRelu", {0}, 3},
  };
  const auto found = std::ranges::find_if(
      kOperators, [&](const QuantizedOperator& row) { return row.op == op && row.domain == domain; });
  return found == kOperators.end() ? nullptr : &*found;
}

Expected<Known> Importer::operand_of(const QuantizedOperator& row, size_t first, bool may_be_weight, const Node& node,
                                     Arguments arguments) {
  const Known* input = first < arguments.size() ? arguments[first] : nullptr;
  const TensorPtr scale = tensor_at(arguments, first + 1), zero = tensor_at(arguments, first + 2);
  if (!input || !scale || (first + 2 < arguments.size() && arguments[first + 2] && !zero))
    return unsupported(fmt::format("input {} is missing, or its scale or zero point is not constant", first));
  const ElementType type = type_of(*input);
  const size_t rank = input->shape.size();
  const bool is_turned = node.integer("transB", 0) != 0;
  const bool is_last = row.weight_axis == WeightAxis::last || (row.weight_axis == WeightAxis::of_gemm && !is_turned);
  if (scale->size() > 1 && (!may_be_weight || row.weight_axis == WeightAxis::none || rank == 0))
    return unsupported(fmt::format("input {} has several scales", first));
  const size_t axis = is_last && rank > 0 ? rank - 1 : 0;
  auto parameters = parameters_along(axis, rank, scale, zero, type);
  if (!parameters) return parameters.error();
  if (!parameters->is_per_tensor() && input->shape[axis] != Number{std::ssize(parameters->scales)})
    return refused(
        fmt::format("input {} is {}, and has {} scales", first, to_text(input->shape), parameters->scales.size()));
  return view_of(*input, *std::move(parameters), type);
}

Expected<Known> Importer::bias_of(const TensorPtr& bias, const Known& input, const Known& weight, const Node& node) {
  const auto* view = input.as<View>();
  const auto* constant = weight.as<QuantizedConstant>();
  if (!bias || bias->type != ElementType::i32 || !view || !constant)
    return unsupported("its bias is not an int32 constant");
  Parameters parameters{.shape = {}, .type = ElementType::i32};
  // alpha multiplies QGemm's sums and its bias: alpha * a_scale * b_scale * ((A - za)(B - zb) + C).
  const float alpha = node.op == "QGemm" ? node.real("alpha", 1) : 1;
  for (const float scale : constant->parameters.scales)
    parameters.scales.push_back(alpha * (view->quantization.scale * scale));
  parameters.zero_points.assign(parameters.scales.size(), 0);
  if (parameters.scales.size() > 1) parameters.shape = {std::ssize(parameters.scales)};
  if (parameters.scales.size() > 1 && bias->shape != parameters.shape)
    return refused(fmt::format("its bias is {}, and it has {} scales", to_text(bias->shape), parameters.scales.size()));
  for (int64_t i = 0; i < bias->size(); ++i) {
    if (std::abs(bias->integer(i)) <= int64_t{1} << 24) continue;
    builder_.note(node.name, "its bias has more than 24 bits, and a float holds 24");
    break;
  }
  return Known{QuantizedConstant{bias, std::move(parameters)}, dims_of(bias->shape)};
}

Expected<Known> Importer::quantized_operator(const QuantizedOperator& row, const Node& node, Arguments arguments) {
  std::vector<int> firsts = row.operands;
  if (firsts.empty()) {
    for (int i = row.output + 2; i < std::ssize(arguments); i += 3) firsts.push_back(i);
  }
  std::vector<Known> operands;
  for (const int first : firsts) {
    auto operand = operand_of(row, static_cast<size_t>(first), !operands.empty(), node, arguments);
    if (!operand) return operand;
    operands.push_back(*std::move(operand));
  }
  const auto bias_index = static_cast<size_t>(row.bias);
  if (row.bias >= 0 && bias_index < arguments.size() && arguments[bias_index]) {
    auto bias = bias_of(tensor_at(arguments, bias_index), operands[0], operands[1], node);
    if (!bias) return bias;
    operands.push_back(*std::move(bias));
  }
  std::vector<const Known*> pointers;
  for (const Known& operand : operands) pointers.push_back(&operand);

  Node stand_in = node;
  stand_in.op = row.stands_for;
  stand_in.domain.clear();
  stand_in.inputs = {node.inputs.front()};
  auto function = function_of(stand_in, {});
  if (!function) return function.error();
  // Up to opset 12 rows are everything after the axis.
  const auto rank = operands.empty() ? 0 : std::ssize(operands[0].shape);
  const int64_t axis = node.integer("axis", -1);
  if (node.op == "QLinearSoftmax" && node.integer("opset", 13) < 13 && axis != -1 && axis != rank - 1)
    return unsupported(fmt::format("its axis is {}, and its opset {}", axis, node.integer("opset", 13)));
  const bool is_any_axis = row.stands_for == "Softmax" || row.stands_for == "ReduceMean";
  auto result = *function                  ? apply(stand_in, operands[0], **function)
                : is_any_axis              ? result_of(stand_in, pointers)
                : row.stands_for == "Gemm" ? gemm(stand_in, pointers)
                                           : operation(row.stands_for, stand_in, pointers);
  if (!result) return result;

  const auto scale_at = static_cast<size_t>(row.output);
  const bool is_real = scale_at >= arguments.size() || !arguments[scale_at];
  if (is_real) return result;
  const TensorPtr scale = tensor_at(arguments, scale_at), zero = tensor_at(arguments, scale_at + 1);
  if (!scale) return unsupported("the scale of its output is not constant");
  const auto parameters = parameters_along(0, 0, scale, zero, ElementType::u8);
  if (!parameters) return parameters.error();
  return quantized_to(node, *result, *parameters);
}

namespace {

// Rows of integers of 4 or 8 bits, each beginning a byte; the padding bits are omitted.
std::vector<std::byte> unpacked(const Tensor& packed, ElementType type, int64_t rows, int64_t columns) {
  std::vector<std::byte> integers;
  const size_t row_bytes = packed.data.size() / static_cast<size_t>(rows);
  for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
    const auto bytes_of_row = std::span(packed.data).subspan(row * row_bytes, row_bytes);
    if (is_nibble(type)) {
      const auto nibbles = spread_nibbles(bytes_of_row, columns, type);
      integers.insert(integers.end(), nibbles.begin(), nibbles.end());
    } else {
      const auto bytes = bytes_of_row.first(static_cast<size_t>(columns));
      integers.insert(integers.end(), bytes.begin(), bytes.end());
    }
  }
  return integers;
}

// Of rows of blocks. Zero points are packed like the integers; left out, they are in the middle.
Parameters parameters_of_blocks(const Tensor& scales, const TensorPtr& zeros, ElementType type, int64_t rows,
                                int64_t groups) {
  Parameters parameters{.shape = {rows, groups}, .scales = {}, .zero_points = {}, .type = type};
  for (int64_t i = 0; i < scales.size(); ++i) parameters.scales.push_back(scales.real(i));
  parameters.zero_points.assign(parameters.scales.size(), is_nibble(type) ? 8 : 128);
  if (zeros)
    std::ranges::transform(unpacked(*zeros, type, rows, groups), parameters.zero_points.begin(),
                           [](std::byte zero) { return std::to_integer<int32_t>(zero); });
  return parameters;
}

}  // namespace

// Rows of a table of bytes that hold integers of 4 or 8 bits.
Expected<Known> Importer::gather_block_quantized(const Node& node, Arguments arguments) {
  const TensorPtr data = tensor_at(arguments, 0), scales = tensor_at(arguments, 2), zeros = tensor_at(arguments, 3);
  const int64_t bits = node.integer("bits", 4), block = node.integer("block_size", 128);
  const int64_t quantized_axis = node.integer("quantize_axis", 1);
  if (bits != 4 && bits != 8) return unsupported(fmt::format("its table is of {} bits, and can be of 4 or 8", bits));
  if (block < 1) return refused(fmt::format("its blocks have {} integers", block));
  const bool has_zeros = arguments.size() > 3 && arguments[3];
  if (!data || !scales || data->type != ElementType::u8 || data->shape.size() != 2 || !is_real(scales->type) ||
      arguments.size() < 2 || !arguments[1] || (has_zeros && (!zeros || zeros->type != ElementType::u8)))
    return unsupported("its table is not a constant of bytes with two dimensions, or its scales are not constant");
  if (node.integer("gather_axis", 0) != 0 || (quantized_axis != 1 && quantized_axis != -1))
    return unsupported("it gathers along another axis than the first, or its blocks are not along the last");
  const int64_t rows = data->shape[0], columns = data->shape[1] * 8 / bits;
  if (rows < 1 || columns < 1) return refused("its table is empty");
  const int64_t groups = (columns - 1) / block + 1;
  if (scales->shape != Shape{rows, groups} || (zeros && zeros->shape != Shape{rows, (groups * bits + 7) / 8}))
    return refused(
        fmt::format("its scales are {}, and the table has {} x {} blocks", to_text(scales->shape), rows, groups));
  if (Done spent = builder_.spend(2 * rows * columns); !spent) return spent.error();
  const ElementType type = bits == 4 ? ElementType::u4 : ElementType::u8;
  Tensor codes{data->name, type, {rows, columns}, unpacked(*data, type, rows, columns)};
  Parameters parameters = parameters_of_blocks(*scales, zeros, type, rows, groups);
  const bool is_symmetric = std::ranges::count(parameters.zero_points, 8) == std::ssize(parameters.zero_points);
  Dims shape = arguments[1]->shape;
  shape.push_back({columns});
  if (bits == 4 && is_symmetric && (groups == 1 || columns % block == 0))
    return embedded(node, codes, parameters, *arguments[1], scales->type, shape);
  if (columns % block != 0 && groups > 1) parameters = in_whole_blocks(parameters, 1, block, columns);
  const Known table{QuantizedConstant{std::make_shared<const Tensor>(std::move(codes)), std::move(parameters)},
                    dims_of({rows, columns})};
  return gathered(node, "gather", table, *arguments[1], 0, shape);
}

Expected<Known> Importer::embedded(const Node& node, const Tensor& codes, const Parameters& parameters,
                                   const Known& indices, ElementType type, const Dims& shape) {
  HostTensor weight = zeros(DType::i8, codes.shape);
  for (size_t i = 0; i < codes.data.size(); ++i)
    weight.as<int8_t>()[i] = static_cast<int8_t>(std::to_integer<int>(codes.data[i]) - 8);
  const auto places = integer_value(indices);
  if (!places) return places.error();
  const DType dtype = type == ElementType::f16 && has_half_inputs_ ? DType::f16 : DType::f32;
  graph::Node embedding{.name = node.name,
                        .op = "embedding_q4gsw",
                        .inputs = {{"indices", *places},
                                   {"weight", builder_.constant(node.name + " weight", std::move(weight))},
                                   {"weight_scales", builder_.constant(node.name + " scales",
                                                                       make_tensor<float>(DType::f32, parameters.shape,
                                                                                          parameters.scales))}},
                        .attributes = {{"output_dtype", std::string(qgen::name(dtype))}}};
  return Known{Real{builder_.add(std::move(embedding), shape), dtype}, shape};
}

Expected<Known> Importer::matmul_nbits(const Node& node, Arguments arguments) {
  const int64_t k = node.integer("K", 0), n = node.integer("N", 0), bits = node.integer("bits", 4);
  const int64_t block = node.integer("block_size", 0);
  const TensorPtr packed = tensor_at(arguments, 1), scales = tensor_at(arguments, 2), zeros = tensor_at(arguments, 3);
  if (bits != 4 && bits != 8) return unsupported(fmt::format("its weight is of {} bits, and can be of 4 or 8", bits));
  if (arguments.size() > 4 && arguments[4]) return unsupported("it has group indices (g_idx)");
  constexpr int64_t kMost = int64_t{1} << 30;
  if (k < 1 || n < 1 || k > kMost || n > kMost)
    return refused(fmt::format("its weight is {} x {}, and dimensions can be 1 to 2^30", n, k));
  if (block < 1 || block > kMost || block * bits % 8 != 0)
    return refused(
        fmt::format("its blocks have {} integers of {} bits, and a block must be 1 to 2^30 whole bytes", block, bits));
  const int64_t groups = (k - 1) / block + 1;  // the last one is filled up, where K is no multiple of the block
  if (!packed || packed->type != ElementType::u8 || packed->size() != n * groups * (block * bits / 8) || !scales ||
      !is_real(scales->type) || scales->size() != n * groups)
    return refused(fmt::format(
        "its weight and its scales are not constants of {} x {} blocks, as N, K and block_size require", n, groups));
  if (arguments.size() > 3 && arguments[3] &&
      (!zeros || zeros->type != ElementType::u8 || zeros->size() != n * ((groups * bits + 7) / 8)))
    return unsupported("its zero points are not a constant of bytes with one for each scale");
  const ElementType type = bits == 4 ? ElementType::u4 : ElementType::u8;
  Tensor codes{packed->name, type, {n, k}, unpacked(*packed, type, n, k)};
  Parameters parameters = parameters_of_blocks(*scales, zeros, type, n, groups);
  if (k % block != 0 && groups > 1) parameters = in_whole_blocks(parameters, 1, block, k);
  const Known weight{QuantizedConstant{std::make_shared<const Tensor>(std::move(codes)), std::move(parameters)},
                     dims_of({n, k})};
  Node stand_in = node;
  stand_in.op = "Gemm";
  stand_in.attributes = {{"transB", int64_t{1}}};
  std::vector<const Known*> operands{arguments[0], &weight};
  if (arguments.size() > 5) operands.push_back(arguments[5]);
  return gemm(stand_in, operands);
}

Expected<Known> Importer::whole(const Node& node, Arguments arguments, size_t index) {
  const Known* input = index < arguments.size() ? arguments[index] : nullptr;
  if (!input) return refused(fmt::format("it has no input {}", index));
  const TensorPtr zero = tensor_at(arguments, index + 2);
  const ElementType type = type_of(*input);
  if (index + 2 < arguments.size() && arguments[index + 2] && !zero)
    return unsupported("its zero point is not constant",
                       "the zero point of the first input may come from "
                       "DynamicQuantizeLinear");
  const bool is_columns = node.op == "MatMulInteger" && index == 1;
  const size_t rank = input->shape.size(), axis = is_columns && rank > 0 ? rank - 1 : 0;
  const int64_t count = zero ? zero->size() : 1;
  if (count != 1 && (index == 0 || rank == 0 || input->shape[axis] != Number{count}))
    return unsupported(fmt::format("input {} has {} zero points", index, count));
  const std::vector<float> ones(static_cast<size_t>(count), 1.0f);
  const auto scale = std::make_shared<const Tensor>(tensor_of<float>(ElementType::f32, {count}, ones));
  auto parameters = parameters_along(axis, rank, scale, zero, type);
  if (!parameters) return parameters.error();
  return view_of(*input, *std::move(parameters), type);
}

// Floating-point values, which can represent all differences of two bytes.
Known Importer::less_zero_point(const Node& node, const Codes& codes, const DynamicZeroPoint& zero_point) {
  const float one = 1;
  const ValueId scale = builder_.constant(node.name + " scale", make_tensor<float>(DType::f32, {}, std::span(&one, 1)));
  return dequantized_dynamically(node, codes, scale, zero_point);
}

Known Importer::dequantized_dynamically(const Node& node, const Codes& codes, ValueId scale,
                                        const DynamicZeroPoint& zero_point) {
  const Dims shape = builder_.shapes[codes.value];
  return Known{
      Real{builder_.add({.name = node.name + " input",
                         .op = "dequantize_affine",
                         .inputs = {{"input", codes.value}, {"scale", scale}, {"zero_point", zero_point.value}}},
                        shape)},
      shape};
}

void Importer::note_computed_scale(const Node& node, Arguments arguments) {
  for (size_t i = 0; i < 2 && node.inputs.size() == 2 && arguments.size() == 2; ++i) {
    const auto scale = computed_scales_.find(node.inputs[i]);
    if (scale == computed_scales_.end() || scale->second.factor || !tensor_at(arguments, 1 - i)) continue;
    computed_scales_[node.outputs[0]] = {scale->second.scale, *arguments[1 - i]};
    return;
  }
}

bool Importer::scale_weight(Pending& layer, const Known& constant) {
  const auto scales = std::ranges::find(layer.constants, "weight_scales", &graph::Port::operand);
  if (scales != layer.constants.end()) {
    const auto factors = of_channels(layer, constant);
    HostTensor products = *builder_.graph.values[scales->value].data;
    if (!factors || std::ssize(*factors) != element_count(products.shape)) return false;
    for (size_t i = 0; i < factors->size(); ++i) products.as<float>()[i] *= (*factors)[i];
    scales->value = builder_.constant(layer.name + " weight_scales", std::move(products));
    return true;
  }
  // A matrix of bytes.
  const TensorPtr factor = constant.tensor();
  if (!factor || !is_real(factor->type) || factor->size() != 1 || layer.operands.size() != 2) return false;
  auto& other = layer.operands[1].value;
  if (auto* view = std::get_if<View>(&other)) view->quantization.scale *= factor->real(0);
  else if (auto* weight = std::get_if<QuantizedConstant>(&other))
    for (float& scale : weight->parameters.scales) scale *= factor->real(0);
  else return false;
  return true;
}

std::optional<Known> Importer::with_computed_scale(const Node& node, Arguments arguments) {
  for (size_t i = 0; i < 2 && node.inputs.size() == 2 && arguments.size() == 2; ++i) {
    const auto* waiting = arguments[i] ? arguments[i]->as<PendingPtr>() : nullptr;
    const auto scale = computed_scales_.find(node.inputs[1 - i]);
    if (!waiting || scale == computed_scales_.end() || (*waiting)->operands.empty()) continue;
    const auto* sums = std::get_if<Pending::Dynamic>(&(*waiting)->operands.front().value);
    const bool is_sum =
        sums && !sums->scale && (*waiting)->functions.empty() && !(*waiting)->reshaped &&
        std::ranges::find((*waiting)->constants, "bias", &graph::Port::operand) == (*waiting)->constants.end();
    if (!is_sum) continue;
    Pending scaled = **waiting;
    scaled.name += " + " + node.name;
    std::get<Pending::Dynamic>(scaled.operands.front().value).scale = scale->second.scale;
    if (scale->second.factor && !scale_weight(scaled, *scale->second.factor)) continue;
    return Known{std::make_shared<Pending>(std::move(scaled)), arguments[i]->shape};
  }
  return std::nullopt;
}

Expected<Known> Importer::product_of_differences(const Node& node, const Known& first, const Known& second) {
  constexpr int64_t kMostTerms = (int64_t{1} << 24) / (255 * 255);
  const Number terms = first.shape.empty() ? Number{1} : first.shape.back();
  if (terms.is_symbol || terms.value > kMostTerms)
    return unsupported(
        fmt::format("its second matrix has a zero point for each column, and it sums {} products: floats "
                    "are exact for {} of them",
                    to_text(terms), kMostTerms),
        "one zero point for all columns");
  const auto a = builder_.real_of(first), b = builder_.real_of(second);
  if (!a || !b) return a ? b.error() : a.error();
  const Known matrices[] = {{*a, first.shape}, {*b, second.shape}};
  const Known* operands[] = {&matrices[0], &matrices[1]};
  return operation("MatMul", node, operands);
}

std::optional<DynamicZeroPoint> Importer::computed_zero_point(const Node& node, const Codes& of, const Known& known) {
  if (const auto* zero_point = known.as<DynamicZeroPoint>()) return *zero_point;
  const auto* codes = known.as<Codes>();
  const bool is_one = std::ranges::all_of(known.shape, [](const Number& side) { return side == Number{1}; });
  if (!codes || codes->type != of.type || !is_one) return std::nullopt;
  const auto one = builder_.reshape(node.name + " zero point", codes->value, {Number{1}});
  if (!one) return std::nullopt;
  return DynamicZeroPoint{builder_.converted(node.name + " zero point", *one, DType::i32)};
}

Expected<Known> Importer::of_integers(const Node& node, Arguments arguments) {
  const auto second = whole(node, arguments, 1);
  if (!second) return second;
  Node stand_in = node;
  stand_in.op = node.op == "ConvInteger" ? "Conv" : "MatMul";
  const auto* codes = arguments.empty() || !arguments[0] ? nullptr : arguments[0]->as<Codes>();
  const auto dynamic = codes && arguments.size() > 2 && arguments[2] ? computed_zero_point(node, *codes, *arguments[2])
                                                                     : std::optional<DynamicZeroPoint>();
  if (dynamic && codes) {
    // As a view of any zero point; the operand is put right afterwards.
    const Known first{View{codes->value, {1, 0}}, arguments[0]->shape};
    const Known* operands[] = {&first, &*second};
    auto pending = match(builder_, node.op, stand_in, operands);
    const auto sums = channel_sums_.find(codes->value);
    const bool lacks_sums =
        pending && sums == channel_sums_.end() &&
        std::ranges::find(pending->constants, "weight_zero_points", &graph::Port::operand) != pending->constants.end();
    if (pending && !lacks_sums) {
      Pending::Dynamic operand{codes->value, dynamic->value};
      if (sums != channel_sums_.end()) operand.channel_sums = sums->second;
      pending->operands.front().value = operand;
      pending->is_integer = true;
      const Dims shape = pending->shape;
      return Known{std::make_shared<Pending>(*std::move(pending)), shape};
    }
    const bool is_other = node.op == "ConvInteger" || second->as<Real>();
    if (!pending && (!is_other || pending.error().kind != Error::Kind::unsupported)) return pending.error();
  }
  const auto first = dynamic && codes ? less_zero_point(node, *codes, *dynamic) : whole(node, arguments, 0);
  if (!first) return first;
  const Known* operands[] = {&*first, &*second};
  auto known = operation(stand_in.op == "Conv" ? "Conv" : "MatMulInteger", stand_in, operands);
  const bool is_other = !known && known.error().kind == Error::Kind::unsupported && second->as<Real>();
  if (is_other) known = product_of_differences(stand_in, *first, *second);
  if (!known) return known;
  auto real = builder_.real_of(*known);
  if (!real) return real.error();
  real->is_integer = true;
  return Known{*real, builder_.shapes[real->value]};
}

}  // namespace qgen::onnx
