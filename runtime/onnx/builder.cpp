// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/onnx/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace qgen::onnx {
namespace {

HostTensor scalar(float value) { return make_tensor<float>(DType::f32, {1}, std::span(&value, 1)); }
HostTensor scalar(int32_t value) { return make_tensor<int32_t>(DType::i32, {1}, std::span(&value, 1)); }

constexpr const char* kNeedOfFunction =
    "needs an operator of reals that there is not, or a place between a layer with a weight of int8 and a "
    "QuantizeLinear, where it is a table of bytes";

void set_parameters(graph::Node& node, std::string_view port, const PerTensor& parameters) {
  node.attributes.insert_or_assign(fmt::format("{}_scale", port), AttributeValue(double{parameters.scale}));
  node.attributes.insert_or_assign(fmt::format("{}_zero_point", port), AttributeValue(int64_t{parameters.zero_point}));
}

}  // namespace

void set_bounds(graph::Node& node, const IntegerRange& range) {
  node.attributes.insert_or_assign("quant_min", AttributeValue(range.min));
  node.attributes.insert_or_assign("quant_max", AttributeValue(range.max));
}

Done Builder::spend(int64_t elements) {
  budget -= elements;
  if (budget >= 0) return std::monostate{};
  return refused("the model's constants are gone through far more often than they are large");
}

void Builder::note(const std::string& node, std::string reason) {
  if (told_.emplace(node, reason).second) notes.push_back({node, std::move(reason)});
}

// ---- values ---------------------------------------------------------------------------------------------------------

ValueId Builder::input(const std::string& name, DType dtype, const Dims& shape) {
  Shape sides;
  for (const Number& side : shape) sides.push_back(side.is_symbol ? graph::kAnySide : side.value);
  shapes.push_back(shape);
  return graph.add_input(name, dtype, std::move(sides));
}

ValueId Builder::constant(const std::string& name, HostTensor data) {
  shapes.push_back(dims_of(data.shape));
  return graph.add_constant(name, std::move(data));
}

ValueId Builder::add(graph::Node node, const Dims& shape) {
  shapes.push_back(shape);
  return graph.add(std::move(node));
}

Expected<ValueId> Builder::reshape(const std::string& name, ValueId value, const Dims& shape) {
  if (shapes[value] == shape) return value;
  const auto list = reshape_list(shapes[value], shape);
  if (!list)
    return unsupported(
        fmt::format("{} becomes {}, with two sides that are not known", to_text(shapes[value]), to_text(shape)));
  return add({.name = name,
              .op = std::string(graph::kReshape),
              .inputs = {{"input", value}},
              .attributes = {{"shape", *list}}},
             shape);
}

std::optional<View> Builder::view_of(const Known& known) {
  if (const auto* view = known.as<View>()) return *view;
  const auto* constant = known.as<QuantizedConstant>();
  if (!constant) return std::nullopt;
  const auto parameters = per_tensor_of(constant->parameters);
  if (!parameters || !is_byte(constant->codes->type)) return std::nullopt;
  return View{constant_of(constant->codes, "", [&] { return signed_codes(*constant->codes); }), *parameters};
}

ValueId Builder::dequantized(const View& view) {
  const std::string what = fmt::format("dequantize {} {:x} {}", view.codes,
                                       std::bit_cast<uint32_t>(view.quantization.scale), view.quantization.zero_point);
  const auto found = made_.find(what);
  if (found != made_.end()) return found->second;
  graph::Node node{.name = fmt::format("dequantize {}", graph.values[view.codes].name),
                   .op = "q8ta_dequantize",
                   .inputs = {{"input", view.codes}}};
  set_parameters(node, "input", view.quantization);
  return made_[what] = add(std::move(node), shapes[view.codes]);
}

Expected<Real> Builder::real_of(const Known& known, DType constants_are) {
  if (const auto* it = known.as<Real>()) return *it;
  if (const auto* it = known.as<View>()) return Real{dequantized(*it)};
  if (const auto* it = known.as<PendingPtr>()) return real(**it);
  if (const auto* it = known.as<TensorPtr>()) {
    if (Done spent = spend((*it)->size()); !spent) return spent.error();
    if (!onnx::is_real((*it)->type)) return unsupported(fmt::format("'{}' is of {}", (*it)->name, name((*it)->type)));
    const std::string form = constants_are == DType::f16 ? " f16" : "";
    return Real{constant_of(*it, form, [&] { return reals_of(**it, constants_are); }), constants_are};
  }
  if (const auto* it = known.as<QuantizedConstant>()) {
    if (Done spent = spend(4 * it->codes->size()); !spent) return spent.error();
    return Real{constant(it->codes->name + " reals", onnx::dequantized(*it))};
  }
  return unsupported("an input consists of integers that nothing dequantizes");
}

Expected<Pending::Operand> Builder::operand_of(std::string_view port, const Known& known, DType constants_are) {
  if (const auto view = view_of(known)) return Pending::Operand{port, *view, known.shape};
  if (const auto* constant = known.as<QuantizedConstant>(); constant && is_byte(constant->codes->type))
    return Pending::Operand{port, *constant, known.shape};
  const auto real = real_of(known, constants_are);
  if (!real) return real.error();
  return Pending::Operand{port, *real, known.shape};
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

void Builder::add_parameters(graph::Node& node, std::string_view port, const PerTensor& parameters) {
  const std::string scale = fmt::format("{}_scale", port), zero_point = fmt::format("{}_zero_point", port);
  node.inputs.push_back({scale, constant(fmt::format("{} {}", node.name, scale), scalar(parameters.scale))});
  if (parameters.zero_point == 0) return;
  node.inputs.push_back(
      {zero_point, constant(fmt::format("{} {}", node.name, zero_point), scalar(parameters.zero_point))});
}

Expected<graph::Node> Builder::node_of(const Pending& pending, const Form& form) {
  graph::Node node{.name = pending.name, .op = std::string(form.op), .attributes = pending.attributes};
  for (const Pending::Operand& operand : pending.operands) {
    const std::string port(operand.port);
    const auto* view = std::get_if<View>(&operand.value);
    if (const auto* dynamic = std::get_if<Pending::Dynamic>(&operand.value)) {
      node.inputs.push_back({port, dynamic->codes});
      node.inputs.push_back({port + "_scale", constant(fmt::format("{} {}_scale", node.name, port), scalar(1.0f))});
      node.inputs.push_back({port + "_zero_point", dynamic->zero_point});
    } else if (const auto* real = std::get_if<Real>(&operand.value)) {
      if (form.style == Style::q8ta) return unsupported(fmt::format("{} is real", port));
      node.inputs.push_back({port, real->value});
    } else if (view && form.style == Style::q8ta) {
      node.inputs.push_back({port, view->codes});
      set_parameters(node, port, view->quantization);
    } else if (view && form.style == Style::fused) {
      node.inputs.push_back({port, view->codes});
      add_parameters(node, port, view->quantization);
    } else if (view && form.style == Style::quantizes) {
      const auto reals = reals_before(*view);
      if (!reals) node.op = form.of_bytes;
      node.inputs.push_back({port, reals.value_or(view->codes)});
      set_parameters(node, port, view->quantization);
    } else if (view) {
      node.inputs.push_back({port, dequantized(*view)});
    } else if (form.style == Style::fused) {
      // Bytes with a scale, and perhaps a zero point, for each channel: as they are, in their own dtype.
      const auto& constant_operand = std::get<QuantizedConstant>(operand.value);
      const TensorPtr& codes = constant_operand.codes;
      const Parameters& parameters = constant_operand.parameters;
      const DType dtype = is_unsigned_byte(codes->type) ? DType::u8 : DType::i8;
      node.inputs.push_back({port, constant_of(codes, " as it is", [&] {
                               return HostTensor{dtype, codes->shape, codes->data};
                             })});
      const std::span<const float> scales = parameters.scales;
      const std::span<const int32_t> zeros = parameters.zero_points;
      node.inputs.push_back({port + "_scale", constant(fmt::format("{} {}_scale", node.name, port),
                                                       make_tensor(DType::f32, parameters.shape, scales))});
      node.inputs.push_back({port + "_zero_point", constant(fmt::format("{} {}_zero_point", node.name, port),
                                                            make_tensor(DType::i32, parameters.shape, zeros))});
    } else {
      return unsupported(fmt::format("{} has several scales", port));
    }
  }
  for (const graph::Port& port : pending.constants) {
    if (form.style == Style::weighted && port.operand == "weight_scales") continue;
    node.inputs.push_back(port);
    if (form.style != Style::weighted || port.operand != "weight") continue;
    const auto weight = real_weight(pending);
    if (!weight) return weight.error();
    node.inputs.back().value = *weight;
  }
  return node;
}

Expected<ValueId> Builder::real_weight(const Pending& layer) {
  const auto data_of = [&](std::string_view operand) {
    return graph.values[std::ranges::find(layer.constants, operand, &graph::Port::operand)->value].data;
  };
  const auto codes = data_of("weight"), scales = data_of("weight_scales");
  if (Done spent = spend(element_count(codes->shape)); !spent) return spent.error();
  const ChannelOf channel_of = channels_of(layer, codes->shape);
  HostTensor reals = zeros(DType::f32, codes->shape);
  for (size_t i = 0; i < reals.as<float>().size(); ++i)
    reals.as<float>()[i] = static_cast<float>(codes->as<int8_t>()[i]) * scales->as<float>()[channel_of(i)];
  return constant(fmt::format("{} weight", layer.name), std::move(reals));
}

Expected<graph::Node> Builder::joined_node(const Pending& pending, const Form& form,
                                           const std::optional<PerTensor>& output) {
  constexpr std::string_view kPorts[] = {"input_1", "input_2", "input_3", "input_4"};
  const auto axis = static_cast<size_t>(std::get<int64_t>(pending.attributes.find("axis")->second));
  Pending level = pending;
  // A level has every four of the one before it as one: bytes with the output's scale and zero point already.
  while (level.operands.size() > std::size(kPorts)) {
    std::vector<Pending::Operand> next;
    for (auto rest = std::span(level.operands); !rest.empty();) {
      const auto part = rest.first(std::min(rest.size(), std::size(kPorts)));
      rest = rest.subspan(part.size());
      next.push_back(part.front());
      if (part.size() == 1) continue;
      Pending group{.name = fmt::format("{} part", pending.name), .attributes = pending.attributes};
      group.operands.assign(part.begin(), part.end());
      for (size_t i = 0; i < part.size(); ++i) group.operands[i].port = kPorts[i];
      auto node = node_of(group, form);
      if (!node) return node.error();
      if (output) set_parameters(*node, "output", *output);
      Expected<Dims> shape = part.front().shape;
      for (size_t i = 1; i < part.size() && shape; ++i) shape = joined(*shape, part[i].shape, axis, next_symbol);
      if (!shape) return shape.error();
      const ValueId value = add(*std::move(node), *shape);
      if (output) next.back().value = View{value, *output};
      else next.back().value = Real{value, std::get<Real>(part.front().value).dtype};
      next.back().shape = *std::move(shape);
    }
    level.operands = std::move(next);
  }
  for (size_t i = 0; i < level.operands.size(); ++i) level.operands[i].port = kPorts[i];
  return node_of(level, form);
}

// Quantizing each part is quantizing the whole.
Expected<graph::Node> Builder::joined_bytes(Pending parts, const PerTensor& output) {
  for (Pending::Operand& part : parts.operands) {
    const auto* real = std::get_if<Real>(&part.value);
    if (real) part.value = View{quantized(*real, output, fmt::format("quantize {}", parts.name)), output};
  }
  return joined_node(parts, {parts.pattern->quantized.op, Style::q8ta}, output);
}

Expected<Real> Builder::joined_reals(Pending parts) {
  // Bytes of one scale are joined as they are, and dequantized together.
  const auto* first = std::get_if<View>(&parts.operands.front().value);
  const bool are_alike = first && std::ranges::all_of(parts.operands, [&](const Pending::Operand& part) {
                           const auto* view = std::get_if<View>(&part.value);
                           return view && view->quantization == first->quantization;
                         });
  if (are_alike) {
    const PerTensor output = first->quantization;
    auto node = joined_bytes(parts, output);
    if (!node) return node.error();
    set_parameters(*node, "output", output);
    return Real{dequantized(View{add(*std::move(node), parts.shape), output})};
  }
  DType dtype = DType::f32;
  for (Pending::Operand& part : parts.operands) {
    if (const auto* view = std::get_if<View>(&part.value)) part.value = Real{dequantized(*view)};
    const DType own = std::get<Real>(part.value).dtype;
    if (&part != &parts.operands.front() && own != dtype) return unsupported("it joins f16 and f32");
    dtype = own;
  }
  auto node = joined_node(parts, parts.pattern->real, {});
  if (!node) return node.error();
  return Real{add(*std::move(node), parts.shape), dtype};
}

ValueId Builder::requantized(ValueId codes, const PerTensor& from, const PerTensor& to, const std::string& node_name,
                             std::optional<IntegerRange> bounds) {
  if (from == to && !bounds) return codes;
  const std::string what = fmt::format(
      "requantize {} {:x} {} {:x} {} {} {}", codes, std::bit_cast<uint32_t>(from.scale), from.zero_point,
      std::bit_cast<uint32_t>(to.scale), to.zero_point, bounds ? bounds->min : -128, bounds ? bounds->max : 127);
  const auto found = made_.find(what);
  if (found != made_.end()) return found->second;
  graph::Node node{.name = node_name, .op = "requantize", .inputs = {{"input", codes}}};
  add_parameters(node, "input", from);
  add_parameters(node, "output", to);
  if (bounds) set_bounds(node, *bounds);
  return made_[what] = add(std::move(node), shapes[codes]);
}

ValueId Builder::quantized(const Real& reals, const PerTensor& output, const std::string& node_name) {
  const std::string what =
      fmt::format("quantize {} {:x} {}", reals.value, std::bit_cast<uint32_t>(output.scale), output.zero_point);
  const auto found = made_.find(what);
  if (found != made_.end()) return found->second;
  graph::Node node{.name = node_name, .op = "q8ta_quantize", .inputs = {{"input", reals.value}}};
  set_parameters(node, "output", output);
  const ValueId codes = add(std::move(node), shapes[reals.value]);
  sources_.emplace(codes, Source{reals, output});
  return made_[what] = codes;
}

std::optional<ValueId> Builder::reals_before(const View& view) const {
  const auto found = sources_.find(view.codes);
  if (!fuses || found == sources_.end() || found->second.quantization != view.quantization) return std::nullopt;
  return found->second.reals.dtype == DType::f32 ? std::optional(found->second.reals.value) : std::nullopt;
}

namespace {

// Neighbours that are bounds as one.
std::vector<Pending::Applied> merged(const std::vector<Pending::Applied>& functions) {
  std::vector<Pending::Applied> result;
  for (const Pending::Applied& next : functions) {
    if (result.empty() || !result.back().function.bounds || !next.function.bounds) {
      result.push_back(next);
      continue;
    }
    result.back().function = then(result.back().function, next.function);
    result.back().node += " + " + next.node;
  }
  return result;
}

std::optional<Function> as_one(const std::vector<Pending::Applied>& functions) {
  std::optional<Function> result;
  for (const Pending::Applied& next : functions) result = result ? then(*result, next.function) : next.function;
  return result;
}

Error without_operator(const Pending::Applied& applied) {
  return unsupported(fmt::format("node '{}' ({}) {}", applied.node, applied.op, kNeedOfFunction));
}

}  // namespace

// The function is a word, bounds or a table of the operator that computes what it is of, or a node behind it.
Expected<ValueId> Builder::quantized(Pending& pending, const PerTensor& output) {
  const Pending::Key key{output.scale, output.zero_point};
  const auto found = pending.quantized.find(key);
  if (found != pending.quantized.end()) return found->second;

  Form form = pending.pattern->quantized;
  std::optional<Function> function = as_one(pending.functions);
  const bool is_unary = is_identity(pending) && function && !function->q8ta.empty();
  if (is_unary) form = {function->q8ta, Style::q8ta};
  // A function that the operator has no place for, and an operator of reals is.
  const bool is_apart = function && !is_unary && !function->bounds && !form.has_table &&
                        !(form.has_activation && !function->word.empty());
  if (is_apart) {
    const auto lacks = std::ranges::find_if(
        pending.functions, [](const Pending::Applied& applied) { return applied.function.real.empty(); });
    if (lacks != pending.functions.end()) return without_operator(*lacks);
    form = {};
  }
  if (!form) {
    const auto reals = real(pending);
    if (!reals) return reals.error();
    return pending.quantized[key] = quantized(*reals, output, fmt::format("quantize {}", pending.name));
  }
  auto node = form.style == Style::joins ? joined_bytes(pending, output) : node_of(pending, form);
  if (!node) return node.error();
  if (is_unary) {
    if (function->slope) node->attributes.insert_or_assign("slope", AttributeValue(*function->slope));
    function.reset();
  }
  std::optional<IntegerRange> bounds;
  if (function && form.has_activation && !function->word.empty()) {
    node->attributes.insert_or_assign("activation", AttributeValue(std::string(function->word)));
  } else if (function && form.has_table) {
    const FunctionTable table = table_of(*function, output);
    node->inputs.push_back(
        {"table", constant(pending.name + " table", make_tensor<int8_t>(DType::i8, {256}, table.table))});
    set_parameters(*node, "table_input", table.input);
    if (!function->bounds)
      note(pending.name, fmt::format("its function is a table of 256 bytes, of integers with a scale of {}, since the "
                                     "model has no quantization between the two",
                                     table.input.scale));
  } else if (function && function->bounds) {
    bounds = integer_bounds(*function->bounds, output);
    if (form.style == Style::fused) set_bounds(*node, *std::exchange(bounds, {}));
  }
  if (form.style == Style::fused) add_parameters(*node, "output", output);
  else set_parameters(*node, "output", output);
  ValueId codes = add(*std::move(node), pending.shape);
  if (bounds) codes = requantized(codes, output, output, pending.name + " bounds", bounds);
  const auto seen = reshape(pending.name + " reshaped", codes, pending.reshaped.value_or(pending.shape));
  if (!seen) return seen;
  return pending.quantized[key] = *seen;
}

Expected<Real> Builder::applied(const std::string& node_name, const Function& function, Real input) {
  if (function.real.empty()) return unsupported(kNeedOfFunction);
  const Dims shape = shapes[input.value];
  graph::Node node{.name = node_name, .op = std::string(function.real), .inputs = {{"input", input.value}}};
  if (node.op == "fused_clip") {
    const RealBounds bounds = function.bounds.value_or(RealBounds{});
    if (!std::isinf(bounds.low)) node.attributes.insert_or_assign("low", AttributeValue(double{bounds.low}));
    if (!std::isinf(bounds.high)) node.attributes.insert_or_assign("high", AttributeValue(double{bounds.high}));
  }
  ValueId value = add(std::move(node), shape);
  if (function.is_gate)
    value =
        add({.name = node_name + " product", .op = "fused_mul", .inputs = {{"input", input.value}, {"other", value}}},
            shape);
  return Real{value, input.dtype};
}

Expected<Real> Builder::real(Pending& pending) {
  if (pending.real) return *pending.real;
  const Form& form = pending.pattern->real;
  if (!form)
    return unsupported(fmt::format("its result is not quantized, and {} of reals needs an operator that there is not",
                                   pending.pattern->op));
  Real result;
  std::vector<Pending::Applied> functions = merged(pending.functions);
  if (is_identity(pending)) {
    result = Real{dequantized(std::get<View>(pending.operands.front().value))};
  } else if (form.style == Style::joins) {
    const auto joined = joined_reals(pending);
    if (!joined) return joined;
    result = *joined;
  } else {
    auto node = node_of(pending, form);
    if (!node) return node.error();
    if (form.has_activation && !functions.empty() && !functions.front().function.word.empty()) {
      node->attributes.insert_or_assign("activation", AttributeValue(std::string(functions.front().function.word)));
      functions.erase(functions.begin());
    }
    for (const auto& operand : pending.operands) {
      if (const auto* it = std::get_if<Real>(&operand.value)) result.dtype = it->dtype;
    }
    result.value = add(*std::move(node), pending.shape);
  }
  for (const Pending::Applied& next : functions) {
    if (next.function.real.empty()) return without_operator(next);
    const auto behind = applied(next.node, next.function, result);
    if (!behind) return behind;
    result = *behind;
  }
  const auto seen = reshape(pending.name + " reshaped", result.value, pending.reshaped.value_or(pending.shape));
  if (!seen) return seen.error();
  result.value = *seen;
  pending.real = result;
  return result;
}

Expected<ValueId> Builder::quantized(const Known& known, const PerTensor& output, const std::string& node_name) {
  if (const auto* pending = known.as<PendingPtr>()) return quantized(**pending, output);
  const auto view = view_of(known);
  if (view && fuses) return requantized(view->codes, view->quantization, output, node_name);
  const auto reals = real_of(known);
  if (!reals) return reals.error();
  return quantized(*reals, output, node_name);
}

}  // namespace qgen::onnx
