// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Nodes are gone through once, each behind what it reads. What a node gives is known at once, folded or as a view, or it
// is a pending operation; that is put into the graph when a QuantizeLinear reads it, or as reals when something else does.
#include "runtime/onnx/import.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/files.h"
#include "runtime/onnx/fold.h"
#include "runtime/onnx/order.h"
#include "runtime/onnx/passes.h"
#include "runtime/onnx/quantized_operators.h"

namespace qgen::onnx {
namespace {

constexpr int64_t kFirstOpset = 7, kLastOpset = 21;

Error unsupported(std::string message, std::string hint = {}) {
  return {Error::Kind::unsupported, std::move(message), std::move(hint)};
}

class Importer {
 public:
  explicit Importer(const Model& model) : model_(model) {}

  Expected<Imported> run() {
    const auto opset = model_.opsets.find("");
    if (opset == model_.opsets.end()) return refused("the model does not say which opset it is of");
    if (opset->second < kFirstOpset || opset->second > kLastOpset)
      return unsupported(
          fmt::format("the model is of opset {}, and {} to {} are read", opset->second, kFirstOpset, kLastOpset));
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
    join_residuals(builder_.graph, builder_.shapes);
    drop_unused(builder_.graph);
    return Imported{std::move(builder_.graph), std::move(builder_.notes)};
  }

 private:
  static Error about(const Node& node, Error error) {
    error.message = fmt::format("node '{}' ({}): {}", node.name, node.op, error.message);
    return error;
  }

  // Sixteen times what there is: a weight of a layer is gone through some five times.
  int64_t constant_elements() const {
    int64_t elements = 1 << 20;
    for (const auto& [name, tensor] : model_.graph.initializers) elements += 16 * tensor->size();
    for (const Node& node : model_.graph.nodes) {
      const AttributeData* value = node.op == "Constant" ? node.find("value") : nullptr;
      if (const auto* tensor = value ? std::get_if<TensorPtr>(value) : nullptr) elements += 16 * (*tensor)->size();
    }
    return elements;
  }

  // ---- inputs and outputs -------------------------------------------------------------------------------------------

  Done add_input(const ValueInfo& input) {
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
    } else if (input.type == ElementType::i8) {
      known.what = Codes{builder_.input(input.name, DType::i8, shape), false};
    } else if (input.type == ElementType::u8) {
      known.what = Codes{shifted(builder_.input(input.name, DType::u8, shape), input.name, DType::u8), true};
    } else {
      return refuse(fmt::format("is of {}, and inputs are of float32, float16, int8 or uint8", name(input.type)));
    }
    known_.insert_or_assign(input.name, std::move(known));
    return std::monostate{};
  }

  // Unsigned bytes as signed ones that are 128 less, or the reverse: of a scale of 1 either way.
  ValueId shifted(ValueId value, const std::string& name, DType from) {
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
    node.inputs.push_back(zero_point(to_signed ? "output" : "input", -128));
    const Dims shape = builder_.shapes[value];
    return builder_.add(std::move(node), shape);
  }

  Done add_output(const ValueInfo& output) {
    const auto known = find(output.name);
    if (!known) return known.error();
    if (const auto* codes = (*known)->as<Codes>()) {
      builder_.graph.add_output(output.name,
                                codes->is_unsigned ? shifted(codes->value, output.name, DType::i8) : codes->value);
      return std::monostate{};
    }
    if (const auto* zero = (*known)->as<DynamicZeroPoint>()) {
      builder_.graph.add_output(output.name, shifted(zero->value, output.name, DType::i8));
      return std::monostate{};
    }
    const bool is_constant = (*known)->tensor() || (*known)->as<Numbers>() || (*known)->as<QuantizedConstant>();
    if (is_constant) return unsupported(fmt::format("output '{}' is a constant", output.name));
    const auto real = builder_.real_of(**known);
    if (!real) return unsupported(fmt::format("output '{}': {}", output.name, real.error().message));
    builder_.graph.add_output(output.name, real->is_integer ? as_integers(real->value, output.name) : real->value);
    return std::monostate{};
  }

  // Reals that are integers, as those.
  ValueId as_integers(ValueId value, const std::string& name) {
    const float one = 1;
    const ValueId scale = builder_.constant(name + " scale", make_tensor<float>(DType::f32, {1}, std::span(&one, 1)));
    const Dims shape = builder_.shapes[value];
    return builder_.add({.name = name + " as int32",
                         .op = "quantize_affine",
                         .inputs = {{"input", value}, {"scale", scale}},
                         .attributes = {{"output_dtype", std::string("i32")}}},
                        shape);
  }

  // ---- nodes --------------------------------------------------------------------------------------------------------

  // Initializers become known when something reads them.
  Expected<const Known*> find(const std::string& name) {
    const auto found = known_.find(name);
    if (found != known_.end()) return &found->second;
    const auto initializer = model_.graph.initializers.find(name);
    if (initializer == model_.graph.initializers.end()) return refused(fmt::format("'{}' is not there", name));
    const Dims shape = dims_of(initializer->second->shape);
    return &known_.emplace(name, Known{initializer->second, shape}).first->second;
  }

  Expected<std::vector<const Known*>> arguments_of(const Node& node) {
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

  Done lower(const Node& node) {
    if (node.outputs.empty()) return refused("it has no output");
    if (node.op == "DynamicQuantizeLinear" && node.domain.empty()) return quantize_dynamically(node);
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
      if (uses->second.quantizes > 0)
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

  // What several read would be computed several times, unless all of them quantize it.
  static bool may_wait(const Pending&, const Uses& uses) { return uses.all == 1 || uses.all == uses.quantizes; }

  Expected<Known> result_of(const Node& node, Arguments arguments) {
    auto folded = fold(builder_, node, arguments);
    if (!folded) return folded.error();
    if (*folded) return **std::move(folded);
    const bool is_standard = node.domain.empty() || node.domain == "com.microsoft";
    if (is_standard && node.op == "QuantizeLinear") return quantize(node, arguments);
    if (is_standard && node.op == "DequantizeLinear") return dequantize(node, arguments);
    if (node.domain.empty() && (node.op == "ConvInteger" || node.op == "MatMulInteger")) return of_integers(node, arguments);
    if (const auto* row = find_quantized_operator(node.op, node.domain)) return quantized_operator(*row, node, arguments);
    if (node.domain == "com.microsoft" && node.op == "MatMulNBits") return matmul_nbits(node, arguments);
    if (!node.domain.empty()) return unsupported(fmt::format("domain '{}' has no such operator here", node.domain));
    auto shape = output_shape_of_view(builder_, node, arguments);
    if (!shape) return shape.error();
    if (*shape) return seen_as(node, *arguments[0], **shape);
    auto function = function_at(node, arguments);
    if (!function) return function.error();
    if (*function && (arguments.empty() || !arguments[0])) return refused("it has no input");
    if (*function) return apply(node, *arguments[0], **function);
    if (node.op == "MaxPool" || node.op == "GlobalMaxPool") return max_pool(node, arguments);
    if (node.op == "Cast" && !arguments.empty() && arguments[0]) {
      if (const auto* real = arguments[0]->as<Real>(); real && real->dtype == DType::f32 && node.integer("to", 0) == 1)
        return Known{Real{real->value}, arguments[0]->shape};
    }
    if (node.op == "DepthToSpace") return depth_to_space(node, arguments);
    if (node.op == "Add") {
      if (auto biased = add_bias(node, arguments)) return *std::move(biased);
    }
    return operation(node.op, node, arguments);
  }

  Expected<Known> operation(std::string_view op, const Node& node, Arguments arguments) {
    const bool is_there = std::ranges::find(patterns(), op, &Pattern::op) != patterns().end();
    if (!is_there) return missing(node);
    auto pending = match(builder_, op, node, arguments);
    if (!pending) return pending.error();
    const Dims shape = pending->reshaped.value_or(pending->shape);
    return Known{std::make_shared<Pending>(*std::move(pending)), shape};
  }

  static Error missing(const Node& node) {
    const std::string_view needs = lacking(node.op);
    return needs.empty() ? unsupported("this operator is not known") : unsupported(fmt::format("needs {}", needs));
  }

  // ---- quantization -------------------------------------------------------------------------------------------------

  static TensorPtr tensor_at(Arguments arguments, size_t index) {
    return index < arguments.size() && arguments[index] ? arguments[index]->tensor() : nullptr;
  }

  Expected<Parameters> parameters_at(const Node& node, Arguments arguments, ElementType type) {
    if (arguments.size() < 2 || !arguments[0]) return refused("it has no input or no scale");
    const bool has_zero = arguments.size() > 2 && arguments[2];
    const TensorPtr scale = tensor_at(arguments, 1), zero = tensor_at(arguments, 2);
    if (!scale || (has_zero && !zero))
      return unsupported("its scale or zero point is no constant",
                         "models that are quantized while they run are not read");
    return parameters_of(node, scale, zero, type, known_shape(arguments[0]->shape));
  }

  Expected<Known> quantize(const Node& node, Arguments arguments) {
    ElementType type = ElementType::u8;
    if (node.integer("output_dtype", 0) == 3) type = ElementType::i8;
    auto parameters = parameters_at(node, arguments, type);
    if (!parameters) return parameters.error();
    const Known& input = *arguments[0];
    if (const TensorPtr reals = input.tensor(); reals && is_real(reals->type)) {
      if (Done spent = builder_.spend(reals->size()); !spent) return spent.error();
      auto codes = quantized(*reals, *parameters);
      if (!codes) return codes.error();
      return Known{*std::move(codes), input.shape};
    }
    if (!parameters->is_per_tensor() && is_byte(parameters->type)) return quantize_channels(node, input, *parameters);
    return quantized_to(node, input, *parameters);
  }

  // Activations with a scale for each channel: no operator of bytes takes them, but those that quantize do.
  std::vector<graph::Port> channel_parameters(const std::string& name, const Parameters& parameters) {
    std::vector<int32_t> zeros = parameters.zero_points;
    for (int32_t& zero : zeros) zero -= is_unsigned_byte(parameters.type) ? 128 : 0;
    const std::span<const float> scales = parameters.scales;
    return {{"scale", builder_.constant(name + " scale", make_tensor(DType::f32, parameters.shape, scales))},
            {"zero_point", builder_.constant(name + " zero_point",
                                             make_tensor<int32_t>(DType::i32, parameters.shape, zeros))}};
  }

  Expected<Known> quantize_channels(const Node& node, const Known& input, const Parameters& parameters) {
    const auto real = builder_.real_of(input);
    if (!real) return real.error();
    graph::Node quantize{.name = node.name, .op = "quantize_affine", .inputs = {{"input", real->value}}};
    for (graph::Port& port : channel_parameters(node.name, parameters)) quantize.inputs.push_back(std::move(port));
    return Known{Codes{builder_.add(std::move(quantize), input.shape), is_unsigned_byte(parameters.type)}, input.shape};
  }

  Known dequantize_channels(const Known& input, const Codes& codes, const Parameters& parameters) {
    const std::string name = fmt::format("dequantize {}", builder_.graph.values[codes.value].name);
    builder_.note(name, "what reads it runs in reals: it has a scale for each channel, and activations have one for all");
    graph::Node dequantize{.name = name, .op = "dequantize_affine", .inputs = {{"input", codes.value}}};
    for (graph::Port& port : channel_parameters(name, parameters)) dequantize.inputs.push_back(std::move(port));
    return Known{Real{builder_.add(std::move(dequantize), input.shape)}, input.shape};
  }

  // ---- while the model runs -----------------------------------------------------------------------------------------

  // Scale and zero point of all of the input; as ONNX has them for uint8, 128 less.
  Done quantize_dynamically(const Node& node) {
    const auto arguments = arguments_of(node);
    if (!arguments) return arguments.error();
    if (arguments->empty() || !arguments->front()) return refused("it has no input");
    const auto real = builder_.real_of(*arguments->front());
    if (!real) return real.error();
    if (real->dtype != DType::f32) return unsupported("its input is not of float32");
    const Dims shape = builder_.shapes[real->value];
    constexpr std::string_view kOutputs[] = {"scale", "zero_point"};
    const auto parameters = builder_.graph.add({.name = node.name + " parameters",
                                                .op = "choose_qparams_affine",
                                                .inputs = {{"input", real->value}},
                                                .attributes = {{"keepdim", false}}},
                                               kOutputs);
    builder_.shapes.resize(builder_.graph.values.size());
    const ValueId codes = builder_.add({.name = node.name,
                                        .op = "quantize_affine",
                                        .inputs = {{"input", real->value},
                                                   {"scale", parameters[0]},
                                                   {"zero_point", parameters[1]}}},
                                       shape);
    const Known results[] = {{Codes{codes, true}, shape}, {Real{parameters[0]}, {}}, {DynamicZeroPoint{parameters[1]}, {}}};
    for (size_t i = 0; i < std::min(std::size(results), node.outputs.size()); ++i) {
      if (!node.outputs[i].empty()) known_.insert_or_assign(node.outputs[i], results[i]);
    }
    return std::monostate{};
  }

  // Integers as the reals of a scale of 1; a Dynamic operand, if the zero point is found while the model runs.
  Expected<Known> whole(const Node& node, Arguments arguments, size_t index) {
    const Known* input = index < arguments.size() ? arguments[index] : nullptr;
    if (!input) return refused(fmt::format("it has no input {}", index));
    const auto* codes = input->as<Codes>();
    const TensorPtr constant = input->tensor(), zero = tensor_at(arguments, index + 2);
    const ElementType type = constant ? constant->type : codes && codes->is_unsigned ? ElementType::u8 : ElementType::i8;
    if (index + 2 < arguments.size() && arguments[index + 2] && !zero)
      return unsupported("its zero point is no constant", "of MatMulInteger it may come from DynamicQuantizeLinear");
    const int64_t count = zero ? zero->size() : 1;
    const std::vector<float> ones(static_cast<size_t>(std::min<int64_t>(count, input->shape.empty() ? 1 : 1 << 20)), 1.0f);
    const auto scale = std::make_shared<const Tensor>(tensor_of<float>(ElementType::f32, {std::ssize(ones)}, ones));
    const bool is_columns = node.op == "MatMulInteger" && index == 1;
    const size_t rank = input->shape.size(), axis = is_columns && rank > 0 ? rank - 1 : 0;
    if (count > 1 && (index == 0 || rank == 0 || input->shape[axis] != Number{count}))
      return unsupported(fmt::format("input {} has {} zero points", index, count));
    auto parameters = parameters_along(axis, rank, scale, zero, type);
    if (!parameters) return parameters.error();
    return view_of(*input, *std::move(parameters), type);
  }

  Expected<Known> of_integers(const Node& node, Arguments arguments) {
    const auto second = whole(node, arguments, 1);
    if (!second) return second;
    Node stand_in = node;
    stand_in.op = node.op == "ConvInteger" ? "Conv" : "MatMul";
    const auto* dynamic = arguments.size() > 2 && arguments[2] ? arguments[2]->as<DynamicZeroPoint>() : nullptr;
    const auto* codes = arguments.empty() || !arguments[0] ? nullptr : arguments[0]->as<Codes>();
    Known known;
    if (dynamic && codes && stand_in.op == "MatMul") {
      // As a view of any zero point; the operand is put right afterwards.
      const Known first{View{codes->value, {1, 0}}, arguments[0]->shape};
      const Known* operands[] = {&first, &*second};
      auto pending = match(builder_, "MatMulInteger", stand_in, operands);
      if (!pending) return pending.error();
      pending->operands.front().value = Pending::Dynamic{codes->value, dynamic->value};
      known = {std::make_shared<Pending>(*std::move(pending)), {}};
    } else {
      const auto first = whole(node, arguments, 0);
      if (!first) return first;
      const Known* operands[] = {&*first, &*second};
      auto result = operation(stand_in.op == "Conv" ? "Conv" : "MatMulInteger", stand_in, operands);
      if (!result) return result;
      known = *std::move(result);
    }
    auto real = builder_.real_of(known);
    if (!real) return real.error();
    real->is_integer = true;
    return Known{*real, builder_.shapes[real->value]};
  }

  Expected<Known> quantized_to(const Node& node, const Known& input, const Parameters& parameters) {
    const auto output = per_tensor_of(parameters);
    if (!output) return unsupported(output.error().message);
    const auto codes = builder_.quantized(input, *output, node.name);
    if (!codes) return codes.error();
    return Known{Codes{*codes, is_unsigned_byte(parameters.type)}, builder_.shapes[*codes]};
  }

  Expected<Known> dequantize(const Node& node, Arguments arguments) {
    const auto* codes = arguments.empty() || !arguments[0] ? nullptr : arguments[0]->as<Codes>();
    const TensorPtr constant = tensor_at(arguments, 0);
    const ElementType type = constant                      ? constant->type
                             : codes && codes->is_unsigned ? ElementType::u8
                                                           : ElementType::i8;
    auto parameters = parameters_at(node, arguments, type);
    if (!parameters) return parameters.error();
    return view_of(*arguments[0], *std::move(parameters), type);
  }

  // The integers of `input` as the reals that they stand for.
  Expected<Known> view_of(const Known& input, Parameters parameters, ElementType type) {
    if (parameters.type != type)
      return refused(fmt::format("its integers are of {} and its zero point of {}", name(type), name(parameters.type)));
    if (const TensorPtr constant = input.tensor())
      return Known{QuantizedConstant{constant, std::move(parameters)}, input.shape};
    const auto* codes = input.as<Codes>();
    if (!codes) return refused("its input does not consist of integers");
    if (!parameters.is_per_tensor()) return dequantize_channels(input, *codes, parameters);
    const auto quantization = per_tensor_of(parameters);
    if (!quantization) return unsupported(quantization.error().message);
    return Known{View{codes->value, *quantization}, input.shape};
  }

  // ---- operators that say their own quantization --------------------------------------------------------------------

  Expected<Known> operand_of(const QuantizedOperator& row, size_t index, const Node& node, Arguments arguments) {
    const auto first = static_cast<size_t>(row.operands[index]);
    const Known* input = first < arguments.size() ? arguments[first] : nullptr;
    const TensorPtr scale = tensor_at(arguments, first + 1), zero = tensor_at(arguments, first + 2);
    if (!input || !scale || (first + 2 < arguments.size() && arguments[first + 2] && !zero))
      return unsupported(fmt::format("input {} is missing, or its scale or zero point is no constant", first));
    const auto* codes = input->as<Codes>();
    const ElementType type = input->tensor()               ? input->tensor()->type
                             : codes && codes->is_unsigned ? ElementType::u8
                                                           : ElementType::i8;
    const size_t rank = input->shape.size();
    const bool is_turned = node.integer("transB", 0) != 0;
    const bool is_last = row.weight_axis == WeightAxis::last || (row.weight_axis == WeightAxis::of_gemm && !is_turned);
    if (scale->size() > 1 && (index == 0 || row.weight_axis == WeightAxis::none || rank == 0))
      return unsupported(fmt::format("input {} has several scales", first));
    const size_t axis = is_last && rank > 0 ? rank - 1 : 0;
    auto parameters = parameters_along(axis, rank, scale, zero, type);
    if (!parameters) return parameters.error();
    if (!parameters->is_per_tensor() && input->shape[axis] != Number{std::ssize(parameters->scales)})
      return refused(
          fmt::format("input {} is {}, and has {} scales", first, to_text(input->shape), parameters->scales.size()));
    return view_of(*input, *std::move(parameters), type);
  }

  // The bias of integers as reals: its scale is that of the sums.
  Expected<Known> bias_of(const TensorPtr& bias, const Known& input, const Known& weight, const Node& node) {
    const auto* view = input.as<View>();
    const auto* constant = weight.as<QuantizedConstant>();
    if (!bias || bias->type != ElementType::i32 || !view || !constant)
      return unsupported("its bias is no constant of int32");
    Parameters parameters{.shape = {}, .type = ElementType::i32};
    for (const float scale : constant->parameters.scales) parameters.scales.push_back(view->quantization.scale * scale);
    parameters.zero_points.assign(parameters.scales.size(), 0);
    if (parameters.scales.size() > 1) parameters.shape = {std::ssize(parameters.scales)};
    if (parameters.scales.size() > 1 && bias->shape != parameters.shape)
      return refused(
          fmt::format("its bias is {}, and it has {} scales", to_text(bias->shape), parameters.scales.size()));
    for (int64_t i = 0; i < bias->size(); ++i) {
      if (std::abs(bias->integer(i)) <= int64_t{1} << 24) continue;
      builder_.note(node.name, "its bias has more than 24 bits, of which a float holds 24");
      break;
    }
    return Known{QuantizedConstant{bias, std::move(parameters)}, dims_of(bias->shape)};
  }

  Expected<Known> quantized_operator(const QuantizedOperator& row, const Node& node, Arguments arguments) {
    std::vector<Known> operands;
    for (size_t i = 0; i < row.operands.size(); ++i) {
      auto operand = operand_of(row, i, node, arguments);
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
    auto result = *function ? apply(stand_in, operands[0], **function) : operation(row.stands_for, stand_in, pointers);
    if (!result) return result;

    const auto scale_at = static_cast<size_t>(row.output);
    const bool is_real = scale_at >= arguments.size() || !arguments[scale_at];
    if (is_real) return result;
    const TensorPtr scale = tensor_at(arguments, scale_at), zero = tensor_at(arguments, scale_at + 1);
    if (!scale) return unsupported("the scale of its output is no constant");
    const auto parameters = parameters_along(0, 0, scale, zero, ElementType::u8);
    if (!parameters) return parameters.error();
    return quantized_to(node, *result, *parameters);
  }

  // Two integers a byte, the first in the low half; groups of neighbours along K with a scale each, and 8 taken off.
  Expected<Known> matmul_nbits(const Node& node, Arguments arguments) {
    const int64_t k = node.integer("K", 0), n = node.integer("N", 0), bits = node.integer("bits", 4);
    const int64_t block = node.integer("block_size", 0);
    const TensorPtr packed = tensor_at(arguments, 1), scales = tensor_at(arguments, 2), zeros = tensor_at(arguments, 3);
    if (bits != 4) return unsupported(fmt::format("its weight is of {} bits", bits));
    const bool has_more =
        arguments.size() > 4 && std::any_of(arguments.begin() + 4, arguments.end(), [](auto* it) { return it; });
    if (has_more) return unsupported("it has group indices (g_idx) or a bias");
    constexpr int64_t kMost = int64_t{1} << 31;
    if (k < 1 || n < 1 || block < 1 || k > kMost || n > kMost || block > kMost || k % block != 0)
      return unsupported(fmt::format("a weight of {} x {} in groups of {}", n, k, block));
    if (!packed || packed->type != ElementType::u8 || packed->size() != n * k / 2 || k % 2 != 0 || !scales ||
        !is_real(scales->type) || scales->size() != n * (k / block))
      return refused("its weight or its scales have another size than N, K and block_size say");
    if (zeros && std::ranges::any_of(zeros->data, [](std::byte byte) { return byte != std::byte{0x88}; }))
      return unsupported("its weight has zero points other than 8");
    Tensor codes{packed->name, ElementType::u4, {n, k}, {}};
    for (const std::byte byte : packed->data) {
      codes.data.push_back(byte & std::byte{15});
      codes.data.push_back(byte >> 4);
    }
    Parameters parameters{.shape = {n, k / block}, .type = ElementType::u4};
    for (int64_t i = 0; i < scales->size(); ++i) parameters.scales.push_back(scales->real(i));
    parameters.zero_points.assign(parameters.scales.size(), 8);
    const Known weight{QuantizedConstant{std::make_shared<const Tensor>(std::move(codes)), std::move(parameters)},
                       dims_of({n, k})};
    Node stand_in = node;
    stand_in.op = "Gemm";
    stand_in.attributes = {{"transB", int64_t{1}}};
    const Known* operands[] = {arguments[0], &weight};
    return operation("Gemm", stand_in, operands);
  }

  // ---- views and functions ------------------------------------------------------------------------------------------

  Expected<Known> seen_as(const Node& node, const Known& input, const Dims& shape) {
    if (const auto* pending = input.as<PendingPtr>()) {
      auto seen = std::make_shared<Pending>(**pending);
      seen->reshaped = shape;
      return Known{std::move(seen), shape};
    }
    Known result{input.what, shape};
    const auto see = [&](ValueId& value) -> Done {
      const auto seen = builder_.reshape(node.name, value, shape);
      if (!seen) return seen.error();
      value = *seen;
      return std::monostate{};
    };
    Done done = std::monostate{};
    if (auto* view = std::get_if<View>(&result.what)) done = see(view->codes);
    else if (auto* codes = std::get_if<Codes>(&result.what)) done = see(codes->value);
    else if (auto* real = std::get_if<Real>(&result.what)) done = see(real->value);
    if (!done) return done.error();
    return result;
  }

  Expected<std::optional<Function>> function_at(const Node& node, Arguments arguments) {
    if (node.op == "Silu") return std::optional(silu());  // of join_functions()
    std::vector<TensorPtr> constants;
    for (size_t i = 0; i < node.inputs.size(); ++i) constants.push_back(tensor_at(arguments, i));
    return function_of(node, constants);
  }

  Expected<Known> apply(const Node& node, const Known& input, const Function& function) {
    Pending pending;
    if (const auto* waiting = input.as<PendingPtr>()) {
      pending = **waiting;
    } else if (const auto view = builder_.view_of(input)) {
      pending = identity(*view, input.shape);
    } else if (input.as<Real>()) {
      const auto real = builder_.applied(node.name, function, *input.as<Real>());
      if (!real) return real.error();
      return Known{*real, input.shape};
    } else {
      return unsupported("it is a function of a constant or of integers");
    }
    constexpr int kMostFunctions = 16;
    if (++pending.functions > kMostFunctions)
      return unsupported(fmt::format("more than {} functions follow each other", kMostFunctions));
    pending.name += (pending.name.empty() ? "" : " + ") + node.name;
    pending.function = pending.function ? then(*pending.function, function) : function;
    return Known{std::make_shared<Pending>(std::move(pending)), input.shape};
  }

  // The sum of a layer without a bias and a constant is the layer with one; nullopt: it is something else.
  std::optional<Known> add_bias(const Node& node, Arguments arguments) {
    for (size_t i = 0; i < 2 && arguments.size() == 2; ++i) {
      const auto* waiting = arguments[i] ? arguments[i]->as<PendingPtr>() : nullptr;
      const Known* other = arguments[1 - i];
      if (!waiting || !other) continue;
      const Pending& layer = **waiting;
      const bool has_bias = std::ranges::find(layer.constants, "bias", &graph::Port::operand) != layer.constants.end();
      const bool has_weight =
          std::ranges::find(layer.constants, "weight", &graph::Port::operand) != layer.constants.end();
      if (!has_weight || has_bias || layer.function || layer.reshaped) continue;
      // Channels are second in images and last in rows of a linear layer.
      const bool is_linear = layer.pattern->op == "MatMul" || layer.pattern->op == "Gemm";
      const size_t from_end = is_linear ? 1 : layer.shape.size() - 1;
      const Number channels = layer.shape[layer.shape.size() - from_end];
      HostTensor reals;
      if (other->shape.size() > layer.shape.size()) continue;
      if (const TensorPtr tensor = other->tensor(); tensor && is_real(tensor->type)) {
        reals = zeros(DType::f32, tensor->shape);
        for (int64_t k = 0; k < tensor->size(); ++k) reals.as<float>()[static_cast<size_t>(k)] = tensor->real(k);
      } else if (const auto* constant = other->as<QuantizedConstant>()) {
        reals = dequantized(*constant);
      } else {
        continue;
      }
      const Shape& shape = reals.shape;
      const bool fits = shape.size() >= from_end && shape.size() <= layer.shape.size() &&
                        Number{shape[shape.size() - from_end]} == channels && element_count(shape) == channels.value;
      if (!fits) continue;
      auto biased = std::make_shared<Pending>(layer);
      reals.shape = {channels.value};
      biased->name += " + " + node.name;
      biased->constants.push_back({"bias", builder_.constant(node.name + " bias", std::move(reals))});
      return Known{std::move(biased), arguments[i]->shape};
    }
    return std::nullopt;
  }

  // ---- bytes that move ----------------------------------------------------------------------------------------------

  // Codes as they are, or a view of them: what moves bytes does not care what they stand for.
  struct Bytes {
    ValueId value;
    Known as_known(ValueId codes, Dims shape) const {
      Known result = like;
      if (auto* view = std::get_if<View>(&result.what)) view->codes = codes;
      if (auto* it = std::get_if<Codes>(&result.what)) it->value = codes;
      result.shape = std::move(shape);
      return result;
    }
    Known like;
  };
  Expected<Bytes> bytes_at(const Node& node, Arguments arguments) {
    if (arguments.empty() || !arguments[0]) return refused("it has no input");
    if (const auto* codes = arguments[0]->as<Codes>()) return Bytes{codes->value, *arguments[0]};
    if (const auto view = builder_.view_of(*arguments[0])) return Bytes{view->codes, Known{*view, arguments[0]->shape}};
    return unsupported(
        fmt::format("its input is not quantized, and {} of reals needs an operator that there is not", node.op));
  }

  Expected<Known> max_pool(const Node& node, Arguments arguments) {
    const auto bytes = bytes_at(node, arguments);
    if (!bytes) return bytes.error();
    const Dims& input = arguments[0]->shape;
    if (input.size() != 3 && input.size() != 4) return unsupported(fmt::format("its input is {}", to_text(input)));
    graph::Node pool{.name = node.name, .op = "q8ta_max_pool2d", .inputs = {{"input", bytes->value}}};
    Dims shape = input;
    std::fill(shape.begin() + 2, shape.end(), Number{1});
    if (node.op == "MaxPool") {
      const auto window = window_of(node, node.integers("kernel_shape"), input);
      if (!window) return window.error();
      auto output = places(*window, input, builder_.next_symbol);
      if (!output) return output.error();
      shape = *std::move(output);
      pool.attributes = {{"kernel_size", window->kernel},
                         {"stride", window->strides},
                         {"padding", window->padding()},
                         {"dilation", window->dilations},
                         {"ceil_mode", window->ceil}};
    }
    return bytes->as_known(builder_.add(std::move(pool), shape), shape);
  }

  Expected<Known> depth_to_space(const Node& node, Arguments arguments) {
    const auto bytes = bytes_at(node, arguments);
    if (!bytes) return bytes.error();
    if (node.word("mode", "DCR") != "CRD")
      return unsupported("its mode is DCR, and needs an operator that moves channels in that order");
    const int64_t r = node.integer("blocksize", 0);
    const Dims& input = arguments[0]->shape;
    if (r < 1 || r > 32768 || input.size() != 4 || input[1].is_symbol || input[1].value % (r * r) != 0)
      return refused(fmt::format("blocks of {} of {}", r, to_text(input)));
    Dims shape{input[0], {input[1].value / (r * r)}, input[2], input[3]};
    for (size_t d = 2; d < 4; ++d) {
      if (shape[d].is_symbol) shape[d].value = builder_.next_symbol++;
      else if (__builtin_mul_overflow(shape[d].value, r, &shape[d].value)) return refused("its output is too large");
    }
    // Of one scale on both sides, which bytes do not show.
    graph::Node shuffle{.name = node.name,
                        .op = "q8ta_pixel_shuffle",
                        .inputs = {{"input", bytes->value}},
                        .attributes = {{"input_scale", 1.0}, {"output_scale", 1.0}, {"upscale_factor", r}}};
    return bytes->as_known(builder_.add(std::move(shuffle), shape), shape);
  }

  const Model& model_;
  Order order_;
  Builder builder_;
  std::map<std::string, Known, std::less<>> known_;
  std::map<std::string, int64_t, std::less<>> symbols_;
};

}  // namespace

namespace {

// Inputs that are known become initializers.
Done bind_constants(ModelGraph& graph, const Tensors& constants) {
  for (const auto& [name, tensor] : constants) {
    const auto input = std::ranges::find(graph.inputs, name, &ValueInfo::name);
    const auto refuse = [&](const std::string& fault) { return refused(fmt::format("constant '{}' {}", name, fault)); };
    if (input == graph.inputs.end()) return refuse("is no input of the model");
    if (Done whole = check_host_tensor(tensor, fmt::format("constant '{}'", name)); !whole) return whole;
    if (dtype_of(input->type) != tensor.dtype)
      return refuse(fmt::format("is {}, and the model's input {}", qgen::name(tensor.dtype), onnx::name(input->type)));
    graph.initializers.insert_or_assign(
        name, std::make_shared<const Tensor>(Tensor{name, input->type, tensor.shape, tensor.data}));
    graph.inputs.erase(input);
  }
  return std::monostate{};
}

Expected<Imported> import_bytes(std::span<const std::byte> file, const std::filesystem::path& folder,
                                const ImportOptions& options) {
  auto model = read_model(file, {folder, options.limits});
  if (!model) return model.error();
  return import_model(*std::move(model), options);
}

}  // namespace

Expected<Imported> import_model(Model model, const ImportOptions& options) {
  if (Done bound = bind_constants(model.graph, options.constants); !bound) return bound.error();
  join_functions(model.graph);
  return Importer(model).run();
}

Expected<Imported> import_model(std::span<const std::byte> file, const ImportOptions& options) {
  return import_bytes(file, {}, options);
}

Expected<Imported> import_model(const std::filesystem::path& file, const ImportOptions& options) {
  const auto bytes = read_file(file.string(), options.limits.file_bytes);
  if (!bytes) return bytes.error();
  const auto parent = file.parent_path();
  auto imported = import_bytes(std::as_bytes(std::span(*bytes)), parent.empty() ? "." : parent, options);
  if (imported) return imported;
  Error error = imported.error();
  error.message = fmt::format("{}: {}", file.string(), error.message);
  return error;
}

}  // namespace qgen::onnx
