// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/onnx/importer.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/onnx/fold.h"
#include "runtime/onnx/passes.h"

namespace qgen::onnx {

constexpr int64_t kFirstOpset = 7, kLastOpset = 21;

Expected<Imported> Importer::run() {
  const auto opset = model_.opsets.find("");
  if (opset == model_.opsets.end()) return refused("the model does not say which opset it is of");
  if (opset->second < kFirstOpset || opset->second > kLastOpset)
    return unsupported(
        fmt::format("the model is of opset {}, and {} to {} are read", opset->second, kFirstOpset, kLastOpset));
  builder_.opset = opset->second;
  auto order = order_of(model_.graph);
  if (!order) return order.error();
  order_ = *std::move(order);
  builder_.budget = constant_elements();
  for (const ValueInfo& input : model_.graph.inputs) {
    if (Done added = add_input(input); !added) return added.error();
  }
  for (const size_t i : order_.nodes) {
    const Node& node = model_.graph.nodes[i];
    if (Done done = lower(node); !done) return about(node, done.error());
  }
  for (const ValueInfo& output : model_.graph.outputs) {
    if (Done added = add_output(output); !added) return added.error();
  }
  if (builder_.fuses) join_residuals(builder_.graph, builder_.shapes);
  drop_unused(builder_.graph);
  return Imported{std::move(builder_.graph), std::move(builder_.notes)};
}

int64_t Importer::constant_elements() const {
  constexpr int64_t kPasses = 32;
  int64_t elements = 1 << 20;
  for (const auto& [name, tensor] : model_.graph.initializers) elements += kPasses * tensor->size();
  for (const Node& node : model_.graph.nodes) {
    const AttributeData* value = node.op == "Constant" ? node.find("value") : nullptr;
    if (const auto* tensor = value ? std::get_if<TensorPtr>(value) : nullptr) elements += kPasses * (*tensor)->size();
  }
  return elements;
}

Error Importer::about(const Node& node, Error error) {
  const std::string name = fmt::format("node '{}' ({})", node.name, node.op);
  // A function that waited says its node itself.
  if (!error.message.starts_with(name + " ")) error.message = fmt::format("{}: {}", name, error.message);
  return error;
}

Done Importer::add_input(const ValueInfo& input) {
  if (!order_.uses.contains(input.name)) {
    builder_.note(input.name, "no output needs this input, and the graph does not have it");
    return std::monostate{};
  }
  const auto refuse = [&](const std::string& fault) {
    return refused(fmt::format("input '{}' {}", input.name, fault));
  };
  if (!input.shape) return refuse("has no shape, and its rank is needed");
  if (input.shape->size() > kMaxRank) return refuse(fmt::format("has rank {}", input.shape->size()));
  Dims shape;
  Shape sides;
  for (const InputSide& side : *input.shape) {
    if (side.symbol.empty()) {
      shape.push_back({side.side});
      sides.push_back(side.side);
    } else {
      const auto [symbol, is_new] = symbols_.emplace(side.symbol, builder_.next_symbol);
      builder_.next_symbol += is_new;
      shape.push_back({symbol->second, true});
    }
  }
  if (Done sound = check_shape(sides); !sound) return refuse(sound.error().message);
  Known known{{}, shape};
  if (input.type == ElementType::f32 || input.type == ElementType::f16) {
    const DType dtype = *dtype_of(input.type);
    known.what = Real{builder_.input(input.name, dtype, shape), dtype};
  } else if (input.type == ElementType::i8 || input.type == ElementType::i4) {
    known.what = Codes{builder_.input(input.name, DType::i8, shape), input.type};
  } else if (input.type == ElementType::u8 || input.type == ElementType::u4) {
    const ValueId bytes = builder_.input(input.name, DType::u8, shape);
    known.what = Codes{shifted(bytes, input.name, DType::u8, shift_of(input.type)), input.type};
  } else {
    return refuse(
        fmt::format("is of {}, and inputs are of float32, float16, and integers of 8 and 4 bits", name(input.type)));
  }
  known_.insert_or_assign(input.name, std::move(known));
  return std::monostate{};
}

ValueId Importer::shifted(ValueId value, const std::string& name, DType from, int32_t shift) {
  const auto zero_point = [&](std::string_view operand, int32_t zero) {
    return graph::Port{fmt::format("{}_zero_point", operand),
                       builder_.constant(fmt::format("{} {}_zero_point", name, operand),
                                         make_tensor<int32_t>(DType::i32, {1}, std::span(&zero, 1)))};
  };
  const float one = 1;
  const ValueId scale = builder_.constant(name + " scale", make_tensor<float>(DType::f32, {1}, std::span(&one, 1)));
  const bool to_signed = from == DType::u8;
  graph::Node node{.name = fmt::format("{} as {}", name, to_signed ? "int8" : "uint8"),
                   .op = "requantize",
                   .inputs = {{"input", value}, {"input_scale", scale}, {"output_scale", scale}},
                   .attributes = {{"output_dtype", std::string(to_signed ? "i8" : "u8")}}};
  if (shift != 0) node.inputs.push_back(zero_point(to_signed ? "output" : "input", -shift));
  const Dims shape = builder_.shapes[value];
  return builder_.add(std::move(node), shape);
}

Done Importer::add_output(const ValueInfo& output) {
  const auto known = find(output.name);
  if (!known) return known.error();
  if (const auto* codes = (*known)->as<Codes>()) {
    const bool is_unsigned = codes->type == ElementType::u8 || codes->type == ElementType::u4;
    const int32_t shift = shift_of(codes->type);
    builder_.graph.add_output(output.name,
                              is_unsigned ? shifted(codes->value, output.name, DType::i8, shift) : codes->value);
    return std::monostate{};
  }
  if (const auto* zero = (*known)->as<DynamicZeroPoint>()) {
    builder_.graph.add_output(output.name, shifted(zero->value, output.name, DType::i8, 128));
    return std::monostate{};
  }
  const bool is_constant = (*known)->tensor() || (*known)->as<Numbers>() || (*known)->as<QuantizedConstant>();
  if (is_constant) return unsupported(fmt::format("output '{}' is a constant", output.name));
  const auto real = builder_.real_of(**known);
  if (!real) return unsupported(fmt::format("output '{}': {}", output.name, real.error().message));
  builder_.graph.add_output(output.name, real->is_integer ? as_integers(real->value, output.name) : real->value);
  return std::monostate{};
}

ValueId Importer::as_integers(ValueId value, const std::string& name) {
  const float one = 1;
  const ValueId scale = builder_.constant(name + " scale", make_tensor<float>(DType::f32, {1}, std::span(&one, 1)));
  const Dims shape = builder_.shapes[value];
  return builder_.add({.name = name + " as int32",
                       .op = "quantize_affine",
                       .inputs = {{"input", value}, {"scale", scale}},
                       .attributes = {{"output_dtype", std::string("i32")}}},
                      shape);
}

Expected<const Known*> Importer::find(const std::string& name) {
  const auto found = known_.find(name);
  if (found != known_.end()) return &found->second;
  const auto initializer = model_.graph.initializers.find(name);
  if (initializer == model_.graph.initializers.end()) return refused(fmt::format("'{}' is not there", name));
  const Dims shape = dims_of(initializer->second->shape);
  return &known_.emplace(name, Known{initializer->second, shape}).first->second;
}

Expected<std::vector<const Known*>> Importer::arguments_of(const Node& node) {
  std::vector<const Known*> arguments;
  for (const std::string& input : node.inputs) {
    arguments.push_back(nullptr);
    if (input.empty()) continue;
    const auto known = find(input);
    if (!known) return known.error();
    arguments.back() = *known;
  }
  while (!arguments.empty() && !arguments.back()) arguments.pop_back();
  return arguments;
}

Done Importer::lower(const Node& node) {
  if (node.outputs.empty()) return refused("it has no output");
  if (node.op == "DynamicQuantizeLinear" && node.domain.empty()) return quantize_dynamically(node);
  if (node.op == "Split" && node.domain.empty()) return split(node);
  const bool has_more = std::any_of(node.outputs.begin() + 1, node.outputs.end(), [&](const std::string& output) {
    return !output.empty() && order_.uses.contains(output);
  });
  if (has_more) return unsupported("more than its first output is used");
  const auto arguments = arguments_of(node);
  if (!arguments) return arguments.error();
  auto result = result_of(node, *arguments);
  if (!result) return result.error();
  const auto uses = order_.uses.find(node.outputs.front());
  if (uses == order_.uses.end()) return std::monostate{};
  if (const auto* pending = result->as<PendingPtr>(); pending && !may_wait(**pending, uses->second)) {
    if (builder_.fuses && uses->second.quantizes > 0)
      builder_.note((*pending)->name,
                    fmt::format("is computed in reals: of the {} that read its result, {} quantize it",
                                uses->second.all, uses->second.quantizes));
    const auto real = builder_.real(**pending);
    if (!real) return real.error();
    result = Known{*real, builder_.shapes[real->value]};
  }
  known_.insert_or_assign(node.outputs.front(), *std::move(result));
  return std::monostate{};
}

bool Importer::may_wait(const Pending&, const Uses& uses) const {
  return builder_.fuses && (uses.all == 1 || uses.all == uses.quantizes);
}

Expected<Known> Importer::result_of(const Node& node, Arguments arguments) {
  auto folded = fold(builder_, node, arguments);
  if (!folded) return folded.error();
  if (*folded) return **std::move(folded);
  const bool is_standard = node.domain.empty() || node.domain == "com.microsoft";
  if (is_standard && node.op == "QuantizeLinear") return quantize(node, arguments);
  if (is_standard && node.op == "DequantizeLinear") return dequantize(node, arguments);
  if (node.domain.empty() && (node.op == "ConvInteger" || node.op == "MatMulInteger"))
    return of_integers(node, arguments);
  if (const auto* row = find_quantized_operator(node.op, node.domain)) return quantized_operator(*row, node, arguments);
  if (node.domain == "com.microsoft" && node.op == "MatMulNBits") return matmul_nbits(node, arguments);
  if (!node.domain.empty()) return unsupported(fmt::format("domain '{}' has no such operator here", node.domain));
  auto shape = output_shape_of_view(builder_, node, arguments);
  if (!shape) return shape.error();
  if (*shape) return seen_as(node, *arguments[0], **shape);
  auto integers = of_codes(node, arguments);
  if (!integers) return integers.error();
  if (*integers) return **std::move(integers);
  auto function = function_at(node, arguments);
  if (!function) return function.error();
  if (*function && (arguments.empty() || !arguments[0])) return refused("it has no input");
  if (*function) return apply(node, *arguments[0], **function);
  if (node.op == "MaxPool" || node.op == "GlobalMaxPool") return max_pool(node, arguments);
  if (node.op == "Cast" && !arguments.empty() && arguments[0]) {
    if (const auto* real = arguments[0]->as<Real>(); real && real->dtype == DType::f32 && node.integer("to", 0) == 1)
      return Known{Real{real->value}, arguments[0]->shape};
  }
  auto moved = move(node, arguments);
  if (!moved) return moved.error();
  if (*moved) return **std::move(moved);
  if (node.op == "DepthToSpace") return depth_to_space(node, arguments);
  if (node.op == "BatchNormalization") return batch_normalization(node, arguments);
  if (node.op == "Add") {
    if (auto biased = add_bias(node, arguments)) return *std::move(biased);
  }
  if (node.op == "Mul" || node.op == "Div" || node.op == "Add" || node.op == "Sub") {
    auto layer = scaled_or_shifted(node, arguments);
    if (!layer) return layer.error();
    if (*layer) return **std::move(layer);
  }
  if (node.op == "Div") return divided(node, arguments);
  if (node.op == "Gemm") return gemm(node, arguments);
  return operation(node.op, node, arguments);
}

Expected<Known> Importer::operation(std::string_view op, const Node& node, Arguments arguments) {
  const bool is_there = std::ranges::find(patterns(), op, &Pattern::op) != patterns().end();
  if (!is_there) return missing(node);
  if (op == "Concat" && arguments.size() == 1 && arguments[0]) return seen_as(node, *arguments[0], arguments[0]->shape);
  auto pending = match(builder_, op, node, arguments);
  if (!pending) return pending.error();
  const Dims shape = pending->reshaped.value_or(pending->shape);
  return Known{std::make_shared<Pending>(*std::move(pending)), shape};
}

Expected<Known> Importer::gemm(const Node& node, Arguments arguments) {
  auto whole = operation("Gemm", node, arguments);
  if (whole || whole.error().kind != Error::Kind::unsupported || arguments.size() < 3 || node.real("beta", 1) != 1)
    return whole;
  const auto product = operation("Gemm", node, arguments.first(2));
  if (!product) return whole;
  const Known* sum[] = {&*product, arguments[2]};
  return operation("Add", node, sum);
}

Error Importer::missing(const Node& node) {
  const std::string_view needs = lacking(node.op);
  return needs.empty() ? unsupported("this operator is not known") : unsupported(fmt::format("needs {}", needs));
}

TensorPtr Importer::tensor_at(Arguments arguments, size_t index) {
  return index < arguments.size() && arguments[index] ? arguments[index]->tensor() : nullptr;
}

}  // namespace qgen::onnx
