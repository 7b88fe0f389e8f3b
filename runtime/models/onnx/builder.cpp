// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

#include "runtime/engine/operators/byte_table.h"

namespace qgen::onnx {
namespace {

HostTensor scalar(float value) { return make_tensor<float>(DType::f32, {1}, std::span(&value, 1)); }
HostTensor scalar(int32_t value) { return make_tensor<int32_t>(DType::i32, {1}, std::span(&value, 1)); }

Error without_operator(const std::string& what) {
  return unsupported(
      fmt::format("qgen has no floating-point operator for {}", what),
      "between a DequantizeLinear, or a layer with an int8 weight, and a QuantizeLinear it would become a "
      "lookup table");
}

// Bytes have no dtype of their own, except in a Concat: joined_reals().
DType result_dtype(const Pending& pending) {
  DType dtype = DType::f32;
  const bool joins = pending.pattern->real.style == Style::joins;
  for (const auto& operand : pending.operands) {
    if (const auto* it = std::get_if<Real>(&operand.value)) dtype = it->dtype;
    else if (joins) return DType::f32;
  }
  return dtype;
}

void set_parameters(graph::Node& node, std::string_view port, const PerTensor& parameters) {
  node.attributes.insert_or_assign(fmt::format("{}_scale", port), AttributeValue(double{parameters.scale}));
  node.attributes.insert_or_assign(fmt::format("{}_zero_point", port), AttributeValue(int64_t{parameters.zero_point}));
}

}  // namespace

std::optional<DType> computed_dtype(const Known& known) {
  if (const auto* real = known.as<Real>()) return real->dtype;
  const auto* pending = known.as<PendingPtr>();
  if (!pending) return std::nullopt;
  return (*pending)->real ? (*pending)->real->dtype : result_dtype(**pending);
}

DType dtype_of_constants(Arguments arguments) {
  for (const Known* known : arguments) {
    if (const auto dtype = known ? computed_dtype(*known) : std::nullopt) return *dtype;
  }
  return DType::f32;
}

bool are_sums(const Known& known) {
  const auto* real = known.as<Real>();
  const auto* pending = known.as<PendingPtr>();
  return (real && real->is_integer) || (pending && (*pending)->is_integer && (*pending)->functions.empty());
}

void set_bounds(graph::Node& node, const IntegerRange& range) {
  node.attributes.insert_or_assign("quant_min", AttributeValue(range.min));
  node.attributes.insert_or_assign("quant_max", AttributeValue(range.max));
}

Done Builder::spend(int64_t elements) {
  budget -= elements;
  if (budget >= 0) return std::monostate{};
  return refused("the model's nodes read its constants too often: importing it would take too long");
}

void Builder::note(const std::string& node, std::string reason) {
  if (told_.emplace(node, reason).second) notes.push_back({node, std::move(reason)});
}

void Builder::note_if_narrowed(const Tensor& tensor, DType dtype) {
  const bool is_narrowed = tensor.type == ElementType::f64 || (tensor.type == ElementType::f32 && dtype == DType::f16);
  if (is_narrowed)
    note(tensor.name, fmt::format("this constant of {} is rounded to {}", onnx::name(tensor.type),
                                  dtype == DType::f16 ? "float16" : "float32"));
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
  const auto sides = known_shape(shape);
  if (const auto data = graph.values[value].data; data && sides) {
    if (Done spent = spend(element_count(*sides)); !spent) return spent.error();
    return constant(name, HostTensor{data->dtype, *sides, data->data});
  }
  const auto list = reshape_list(shapes[value], shape);
  if (!list)
    return unsupported(
        fmt::format("{} is reshaped to {}, which has two unknown dimensions", to_text(shapes[value]), to_text(shape)));
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
    note_if_narrowed(**it, constants_are);
    const std::string form = constants_are == DType::f16 ? " f16" : "";
    return Real{constant_of(*it, form, [&] { return reals_of(**it, constants_are); }), constants_are};
  }
  if (const auto* it = known.as<QuantizedConstant>()) {
    if (Done spent = spend(4 * it->codes->size()); !spent) return spent.error();
    // The model's own type, where it has its scales in halves.
    HostTensor reals = zeros(constants_are, it->codes->shape);
    const HostTensor exact = onnx::dequantized(*it);
    for (size_t i = 0; i < exact.as<float>().size(); ++i)
      set_element(reals, static_cast<int64_t>(i), exact.as<float>()[i]);
    return Real{constant(it->codes->name + " reals", std::move(reals)), constants_are};
  }
  return unsupported("an input has integers without a DequantizeLinear");
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

// Fused operators have operands of the port's name, others `scale` and `zero_point`.
Done Builder::add_dynamic(graph::Node& node, Style style, const std::string& port, const Pending::Dynamic& operand) {
  const std::string of = style == Style::computed ? "" : port + "_";
  const auto named = [&](std::string_view what) { return fmt::format("{} {}_{}", node.name, port, what); };
  const auto scale = operand.scale ? parameter_of(named("scale"), *operand.scale, operand, style)
                                   : Expected<ValueId>(constant(named("scale"), scalar(1.0f)));
  if (!scale) return scale.error();
  const auto zero_point = parameter_of(named("zero_point"), operand.zero_point, operand, style);
  if (!zero_point) return zero_point.error();
  node.inputs.push_back({port, operand.codes});
  node.inputs.push_back({of + "scale", *scale});
  node.inputs.push_back({of + "zero_point", *zero_point});
  if (style == Style::computed && operand.channel_sums) node.inputs.push_back({"channel_sums", *operand.channel_sums});
  return std::monostate{};
}

// Fused operators take a dimension of 1 for each of the bytes, too.
Expected<ValueId> Builder::parameter_of(const std::string& name, ValueId value, const Pending::Dynamic& bytes,
                                        Style style) {
  const bool is_of_blocks = style != Style::computed && shapes[value].size() == shapes[bytes.codes].size();
  return is_of_blocks ? Expected<ValueId>(value) : reshape(name, value, {{1}});
}

// q8ta operators have the scale and zero point as attributes, fused ones as operands; all others read floating-point
// tensors.
void Builder::add_view(graph::Node& node, Style style, const std::string& port, const View& view) {
  if (style != Style::q8ta && style != Style::fused) {
    node.inputs.push_back({port, dequantized(view)});
    return;
  }
  node.inputs.push_back({port, view.codes});
  if (style == Style::q8ta) set_parameters(node, port, view.quantization);
  else add_parameters(node, port, view.quantization);
}

// Bytes with a scale, and perhaps a zero point, for each channel: unchanged, in the model's dtype.
void Builder::add_quantized_constant(graph::Node& node, const std::string& port, const QuantizedConstant& operand) {
  const TensorPtr& codes = operand.codes;
  const Parameters& parameters = operand.parameters;
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
}

Done Builder::add_operand(graph::Node& node, Style style, const Pending::Operand& operand) {
  const std::string port(operand.port);
  if (const auto* real = std::get_if<Real>(&operand.value)) {
    if (style == Style::q8ta) return unsupported(fmt::format("{} is a floating-point tensor", port));
    node.inputs.push_back({port, real->value});
  } else if (const auto* dynamic = std::get_if<Pending::Dynamic>(&operand.value)) {
    return add_dynamic(node, style, port, *dynamic);
  } else if (const auto* view = std::get_if<View>(&operand.value)) {
    add_view(node, style, port, *view);
  } else if (style == Style::fused) {
    add_quantized_constant(node, port, std::get<QuantizedConstant>(operand.value));
  } else {
    return unsupported(fmt::format("{} has several scales", port));
  }
  return std::monostate{};
}

Expected<graph::Node> Builder::node_of(const Pending& pending, const Form& form) {
  graph::Node node{.name = pending.name, .op = std::string(form.op), .attributes = pending.attributes};
  for (const Pending::Operand& operand : pending.operands) {
    if (Done added = add_operand(node, form.style, operand); !added) return added.error();
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
      for (size_t i = 1; i < part.size() && shape; ++i) shape = joined(*shape, part[i].shape, axis, symbols.next);
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
  std::vector<Real> reals;
  for (Pending::Operand& part : parts.operands) {
    const auto* view = std::get_if<View>(&part.value);
    reals.push_back(view ? Real{dequantized(*view)} : std::get<Real>(part.value));
  }
  const bool are_halves = std::ranges::count(reals, DType::f16, &Real::dtype) == std::ssize(reals);
  const DType dtype = are_halves ? DType::f16 : DType::f32;
  for (size_t i = 0; i < reals.size(); ++i) {
    const bool is_other = reals[i].dtype != dtype;
    parts.operands[i].value =
        Real{is_other ? converted(parts.name + " as float32", reals[i].value, dtype) : reals[i].value, dtype};
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
  graph::Node node{.name = node_name, .op = "q8ta_quantize_linear", .inputs = {{"input", reals.value}}};
  set_parameters(node, "output", output);
  return made_[what] = add(std::move(node), shapes[reals.value]);
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

// As QuantizeLinear divides: float by float.
ByteTable onnx_table(const std::function<double(double)>& of, const PerTensor& input, const PerTensor& output) {
  ByteTable table{};
  for (int q = -128; q < 128; ++q) {
    const float x = static_cast<float>(q - input.zero_point) * input.scale;
    const float t = std::nearbyint(static_cast<float>(of(double{x})) / output.scale);
    const float bounded = std::isnan(t) ? 0 : std::clamp(t, -512.0f, 512.0f);
    const int answer = std::clamp(static_cast<int>(bounded) + output.zero_point, -128, 127);
    table[static_cast<size_t>(q + 128)] = static_cast<int8_t>(answer);
  }
  return table;
}

// The second table of the first one's results.
ByteTable composed(const ByteTable& first, const ByteTable& second) {
  ByteTable table{};
  for (size_t i = 0; i < table.size(); ++i) table[i] = second[static_cast<size_t>(first[i] + 128)];
  return table;
}

Error without_operator(const Pending::Applied& applied) {
  Error error = without_operator(applied.op);
  error.message = fmt::format("node '{}' ({}): {}", applied.node, applied.op, error.message);
  return error;
}

}  // namespace

BytesOf Builder::bytes_of(ValueId codes) const {
  const auto found = bytes_of_bytes.find(codes);
  if (found != bytes_of_bytes.end()) return found->second;
  BytesOf same{.root = codes};
  for (int q = -128; q < 128; ++q) same.table[static_cast<size_t>(q + 128)] = static_cast<int8_t>(q);
  return same;
}

ValueId Builder::tabled(ValueId codes, const ByteTable& table, const PerTensor& output, const std::string& node_name) {
  const BytesOf before = bytes_of(codes);
  const ByteTable whole = composed(before.table, table);
  const Dims shape = shapes[before.root];
  const ValueId result = add({.name = node_name,
                              .op = "q8ta_table",
                              .inputs = {{"input", before.root}},
                              .attributes = {{"table", std::vector<int64_t>(whole.begin(), whole.end())},
                                             {"output_zero_point", int64_t{output.zero_point}}}},
                             shape);
  bytes_of_bytes[result] = {before.root, whole, output};
  return result;
}

std::optional<IntegerRange> Builder::add_function(graph::Node& node, const Function& function, const Form& form,
                                                  const std::optional<FunctionTable>& table, const PerTensor& output,
                                                  const std::string& node_name) {
  if (form.has_activation && !function.word.empty()) {
    node.attributes.insert_or_assign("activation", AttributeValue(std::string(function.word)));
  } else if (table) {
    node.inputs.push_back(
        {"table", constant(node_name + " table", make_tensor<int8_t>(DType::i8, {256}, table->table))});
    set_parameters(node, "table_input", table->input);
    if (!function.bounds)
      note(node_name, fmt::format("its function becomes a lookup table of integers, for which a scale of {} was "
                                  "chosen: the model has no quantization between the layer and the function",
                                  table->input.scale));
  } else if (function.bounds) {
    const IntegerRange bounds = integer_bounds(*function.bounds, output);
    if (form.style != Style::fused) return bounds;
    set_bounds(node, bounds);
  }
  return std::nullopt;
}

// The function is an activation, bounds or a table of the operator that computes its argument, or a node after it.
Expected<ValueId> Builder::quantized(Pending& pending, const PerTensor& output) {
  const Pending::Key key{output.scale, output.zero_point};
  const auto found = pending.quantized.find(key);
  if (found != pending.quantized.end()) return found->second;

  Form form = pending.pattern->quantized;
  std::optional<Function> function = as_one(pending.functions);
  const bool is_of_bytes = is_identity(pending) && function && fuses;
  const bool is_unary = is_identity(pending) && function && !function->q8ta.empty();
  if (is_of_bytes) {
    // Any function of a byte is a table of its 256 values, and a function of such a table is a table too.
    const View& view = std::get<View>(pending.operands.front().value);
    const ByteTable table = onnx_table(function->of, view.quantization, output);
    if ((!is_unary && !function->bounds) || bytes_of_bytes.contains(view.codes)) {
      const ValueId codes = tabled(view.codes, table, output, pending.name);
      const auto seen = reshape(pending.name + " reshaped", codes, pending.reshaped.value_or(pending.shape));
      if (!seen) return seen;
      return pending.quantized[key] = *seen;
    }
  }
  if (is_unary) form = {function->q8ta, Style::q8ta};
  const bool is_word = function && form.has_activation && !function->word.empty();
  const auto table = function && !is_unary && !is_word && form.has_table ? table_of(*function, output) : std::nullopt;
  // A function that the operator cannot include, and that is a floating-point operator.
  const bool is_apart = function && !is_unary && !function->bounds && !is_word && !table;
  if (is_apart) {
    const auto lacks = std::ranges::find_if(
        pending.functions, [](const Pending::Applied& applied) { return !applied.function.has_real(); });
    if (lacks != pending.functions.end()) return without_operator(*lacks);
    if (form.has_table)
      note(pending.name,
           "its function is computed in floating point: a table of integers would change results by more "
           "than one");
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
  if (function) bounds = add_function(*node, *function, form, table, output, pending.name);
  if (form.style == Style::fused) add_parameters(*node, "output", output);
  else set_parameters(*node, "output", output);
  ValueId codes = add(*std::move(node), pending.shape);
  if (bounds) codes = requantized(codes, output, output, pending.name + " bounds", bounds);
  if (is_of_bytes) {
    const View& view = std::get<View>(pending.operands.front().value);
    bytes_of_bytes[codes] = {view.codes, onnx_table(as_one(pending.functions)->of, view.quantization, output), output};
  }
  const auto seen = reshape(pending.name + " reshaped", codes, pending.reshaped.value_or(pending.shape));
  if (!seen) return seen;
  return pending.quantized[key] = *seen;
}

Expected<Real> Builder::applied(const std::string& node_name, const std::string& op, const Function& function,
                                Real input) {
  if (function.written) {
    chains::Formula formula;
    function.written(formula, formula.input(0));
    const Dims same = shapes[input.value];
    return Real{pointwise(node_name, formula, {input.value}, same), input.dtype};
  }
  if (function.real.empty()) return without_operator(op);
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

ValueId Builder::pointwise(const std::string& node_name, const chains::Formula& formula,
                           const std::vector<ValueId>& inputs, const Dims& shape, std::optional<DType> output_dtype,
                           std::optional<ValueId> mask) {
  const auto chain = chains::encoded(formula);
  assert(chain && "the importer's formulas are short");
  graph::Node node{
      .name = node_name, .op = "pointwise", .attributes = {{"steps", chain->steps}, {"constants", chain->constants}}};
  if (output_dtype) node.attributes.emplace("output_dtype", AttributeValue(std::string(qgen::name(*output_dtype))));
  for (size_t i = 0; i < inputs.size(); ++i) node.inputs.push_back({fmt::format("input_{}", i + 1), inputs[i]});
  if (mask) node.inputs.push_back({"mask", *mask});
  return add(std::move(node), shape);
}

ValueId Builder::converted(const std::string& node_name, ValueId value, DType to) {
  chains::Formula same;
  const auto x = same.input(0);
  same.step(chains::Step::maximum, x, x);
  const Dims shape = shapes[value];
  return pointwise(node_name, same, {value}, shape, to);
}

Expected<Real> Builder::real(Pending& pending) {
  if (pending.real) return *pending.real;
  const Form& form = pending.pattern->real;
  if (!form)
    return unsupported(fmt::format("qgen has no floating-point operator for {}", pending.pattern->op),
                       "if a QuantizeLinear reads its result, it becomes an int8 operator");
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
    result.dtype = result_dtype(pending);
    result.value = add(*std::move(node), pending.shape);
    result.is_integer = pending.is_integer && functions.empty();
  }
  for (const Pending::Applied& next : functions) {
    if (!next.function.has_real()) return without_operator(next);
    const auto behind = applied(next.node, next.op, next.function, result);
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
  if (view && fuses && bytes_of_bytes.contains(view->codes) && view->quantization != output)
    return tabled(view->codes, onnx_table([](double x) { return x; }, view->quantization, output), output, node_name);
  if (view && fuses) return requantized(view->codes, view->quantization, output, node_name);
  const auto reals = real_of(known);
  if (!reals) return reals.error();
  return quantized(*reals, output, node_name);
}

}  // namespace qgen::onnx
