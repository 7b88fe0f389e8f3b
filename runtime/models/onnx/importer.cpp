// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/importer.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/models/onnx/check_model.h"
#include "runtime/models/onnx/evaluate.h"
#include "runtime/models/onnx/fold.h"
#include "runtime/models/onnx/passes.h"
#include "runtime/models/onnx/written_out.h"

namespace qgen::onnx {

Expected<Imported> Importer::run() {
  builder_.opset = model_.opsets.find("")->second;  // check_model() has looked
  auto order = order_of(model_.graph);
  if (!order) return order.error();
  order_ = *std::move(order);
  builder_.budget = constant_elements();
  if (Done known = check_state_names(); !known) return known.error();
  for (const ValueInfo& input : model_.graph.inputs) {
    if (Done added = add_input(input); !added) return added.error();
  }
  for (const ValueInfo& value : model_.graph.values) {
    declared_.emplace(value.name, &value);
    const auto constant = model_.graph.initializers.find(value.name);
    if (constant == model_.graph.initializers.end()) continue;
    const Known known{constant->second, dims_of(constant->second->shape)};
    if (Done sound = check_declared("value", value, known); !sound) return sound.error();
  }
  for (const Node& node : model_.graph.nodes) {
    for (const std::string& output : node.outputs) writers_.emplace(output, &node);
    if (node.op == "ConvInteger" && node.domain.empty() && !node.inputs.empty()) convolved_.insert(node.inputs[0]);
  }
  lower_all();
  for (const ValueInfo& output : model_.graph.outputs) {
    if (lost_.contains(output.name)) continue;
    Done added = add_output(output);
    if (added) continue;
    if (added.error().kind != Error::Kind::unsupported) return added.error();
    refused_.push_back({writer_of(output.name), added.error()});
  }
  if (!refused_.empty()) return refusal();
  if (builder_.fuses) drop_unread_nodes(builder_.graph);
  if (builder_.fuses) join_tables(builder_.graph, builder_.shapes, builder_.bytes_of_bytes);
  if (builder_.fuses) join_residuals(builder_.graph, builder_.shapes);
  if (builder_.fuses) join_gates(builder_.graph, builder_.shapes);
  if (builder_.fuses) join_chains(builder_.graph, builder_.shapes);
  if (builder_.fuses) join_products(builder_.graph, builder_.shapes);
  if (builder_.fuses) join_norms(builder_.graph);
  drop_unused(builder_.graph);
  if (builder_.fuses) join_input_quantizers(builder_.graph);
  if (Done added = add_states(); !added) return added.error();
  return Imported{std::move(builder_.graph), std::move(builder_.notes)};
}

namespace {

// Including those of branches, which may have a model's weights.
int64_t elements_of_constants(const ModelGraph& graph) {
  int64_t elements = 0;
  for (const auto& [name, tensor] : graph.initializers) elements += tensor->size();
  for (const Node& node : graph.nodes) {
    for (const auto& [name, data] : node.attributes) {
      if (const auto* tensor = std::get_if<TensorPtr>(&data)) elements += (*tensor)->size();
      const auto* inner = std::get_if<Subgraph>(&data);
      if (inner && inner->graph) elements += elements_of_constants(*inner->graph);
    }
  }
  return elements;
}

}  // namespace

int64_t Importer::constant_elements() const {
  constexpr int64_t kPasses = 32;
  return (1 << 20) + kPasses * elements_of_constants(model_.graph);
}

void Importer::lower_all() {
  for (const size_t i : order_.nodes) {
    const Node& node = model_.graph.nodes[i];
    const bool is_lost = std::ranges::any_of(reads_of(node), [&](auto read) { return lost_.contains(read); });
    Done done = !is_read(node) ? Done(lacking(node.op)) : is_lost ? check_lost(node) : lower(node);
    if (done && !is_lost) done = check_results(node);
    if (!done) refused_.push_back({&node, done.error()});
    if (done && !is_lost) continue;
    for (const std::string& output : node.outputs) {
      if (!output.empty()) lost_.insert(output);
    }
  }
}

namespace {

// "node 'Sqrt_5' (Sqrt): there is none" in its parts: a function that waited says its own node. nullopt: of no node.
struct AboutNode {
  std::string name, op, reason;
};
std::optional<AboutNode> about_node_in(const std::string& message) {
  constexpr std::string_view kBegin = "node '", kMiddle = "' (", kEnd = "): ";
  const size_t middle = message.find(kMiddle), end = message.find(kEnd, std::min(middle, message.size()));
  if (!message.starts_with(kBegin) || middle == message.npos || end == message.npos) return std::nullopt;
  return AboutNode{message.substr(kBegin.size(), middle - kBegin.size()),
                   message.substr(middle + kMiddle.size(), end - middle - kMiddle.size()),
                   message.substr(end + kEnd.size())};
}

}  // namespace

std::vector<Lack> Importer::lacks() const {
  std::vector<Lack> lacks;
  std::set<std::string> told;  // nodes: several may read the result of a waiting function
  for (const Refused& other : refused_) {
    const Node node = other.node ? *other.node : Node{};
    AboutNode about = about_node_in(other.error.message).value_or(AboutNode{node.name, node.op, other.error.message});
    if (!told.insert(about.name).second) continue;
    const std::string domain = about.name == node.name ? node.domain : "";
    const auto same = std::ranges::find_if(
        lacks, [&](const Lack& it) { return it.op == about.op && it.domain == domain && it.reason == about.reason; });
    if (same != lacks.end()) same->nodes.push_back(about.name);
    else lacks.push_back({about.op, domain, about.reason, other.error.hint, {about.name}});
  }
  return lacks;
}

Error Importer::refusal() const {
  Error error = refused_.front().error;
  if (refused_.front().node) error = about_node(*refused_.front().node, std::move(error));
  constexpr size_t kMostGroups = 20;
  const std::vector<Lack> all = lacks();
  const size_t alike = all.front().nodes.size() - 1;
  if (alike > 0) error.message += fmt::format("\n  and {} more of its kind", alike);
  if (all.size() > 1) error.message += "\nthese nodes cannot be imported either:";
  for (const Lack& lack : std::span(all).subspan(1, std::min(all.size() - 1, kMostGroups))) {
    const std::string nodes = lack.nodes.size() == 1
                                  ? fmt::format("node '{}'", lack.nodes.front())
                                  : fmt::format("{} nodes, the first is '{}'", lack.nodes.size(), lack.nodes.front());
    error.message += fmt::format("\n  {} ({}): {}", lack.op, nodes, lack.reason.substr(0, lack.reason.find('\n')));
  }
  if (all.size() > kMostGroups + 1) error.message += fmt::format("\n  and {} more", all.size() - 1 - kMostGroups);
  return error;
}

const Node* Importer::writer_of(std::string_view value) const {
  const auto writer = writers_.find(value);
  return writer == writers_.end() ? nullptr : writer->second;
}

// Whether the function can become a lookup table: it, or the first of several functions in a row, reads integers or a
// layer with a table operand.
bool Importer::may_be_table(const Node& node) const {
  constexpr std::string_view kLayers[] = {"DequantizeLinear", "Conv", "ConvTranspose", "MatMul", "Gemm"};
  const Node* writer = node.inputs.empty() ? nullptr : writer_of(node.inputs[0]);
  for (int more = 16; more > 0 && writer && is_function(writer->op) && !writer->inputs.empty(); --more)
    writer = writer_of(writer->inputs[0]);
  return writer && std::ranges::find(kLayers, writer->op) != std::end(kLayers);
}

// No constant is lost, so nodes that are read of constants only are not read.
Done Importer::check_lost(const Node& node) const {
  if (!is_read_of_data(node)) return lacking(node.op);
  const auto function = node.op == "Clip" || is_rewritten(node)
                            ? Expected<std::optional<Function>>(std::optional<Function>())
                            : function_of(node, {});
  if (!function || !*function || (*function)->has_real() || may_be_table(node)) return std::monostate{};
  return unsupported(fmt::format("qgen has no floating-point operator for {}", node.op));
}

bool Importer::is_read(const Node& node) { return is_read_of_data(node) || is_evaluated(node.op); }

bool Importer::is_read_of_data(const Node& node) {
  constexpr std::string_view kOthers[] = {"Attention",
                                          "BatchNormalization",
                                          "Cast",
                                          "Clip",
                                          "Constant",
                                          "ConvInteger",
                                          "DepthToSpace",
                                          "DequantizeLinear",
                                          "Div",
                                          "Dropout",
                                          "DynamicQuantizeLinear",
                                          "Expand",
                                          "Flatten",
                                          "Gather",
                                          "GatherElements",
                                          "GRU",
                                          "GlobalMaxPool",
                                          "Identity",
                                          "If",
                                          "LSTM",
                                          "Loop",
                                          "Max",
                                          "MaxPool",
                                          "Min",
                                          "Pad",
                                          "QuantizeLinear",
                                          "RNN",
                                          "Reshape",
                                          "Resize",
                                          "Scan",
                                          "Shape",
                                          "Silu",
                                          "Slice",
                                          "Split",
                                          "Squeeze",
                                          "TopK",
                                          "Transpose",
                                          "Unsqueeze",
                                          "Upsample"};
  if (!node.domain.empty()) return true;  // given by domain
  if (std::ranges::find(patterns(), node.op, &Pattern::op) != patterns().end()) return true;
  if (std::ranges::find(kOthers, node.op) != std::end(kOthers)) return true;
  if (is_rewritten(node) || is_by_elements(node)) return true;
  return is_function(node.op) || find_quantized_operator(node.op, node.domain) != nullptr;
}

Done Importer::add_input(const ValueInfo& input) {
  if (!order_.uses.contains(input.name)) {
    builder_.note(input.name, "no output needs this input, so the graph does not have it");
    return std::monostate{};
  }
  const auto refuse = [&](const std::string& fault) {
    return refused(fmt::format("input '{}' {}", input.name, fault));
  };
  if (!input.shape) return refuse("has no shape, but its rank is needed");
  if (input.shape->size() > kMaxRank) return refuse(fmt::format("has rank {}", input.shape->size()));
  Dims shape;
  Shape sides;
  for (const InputSide& side : *input.shape) {
    if (side.symbol.empty()) {
      shape.push_back({side.side});
      sides.push_back(side.side);
    } else {
      const auto [symbol, is_new] = symbols_.emplace(side.symbol, builder_.symbols.next);
      builder_.symbols.next += is_new;
      shape.push_back({symbol->second, true});
    }
  }
  if (Done sound = check_shape(sides); !sound) return refuse(sound.error().message);
  Known known{{}, shape};
  if (input.type == ElementType::f32 || input.type == ElementType::f16) {
    const DType dtype = *dtype_of(input.type);
    has_half_inputs_ = has_half_inputs_ || dtype == DType::f16;
    known.what = Real{builder_.input(input.name, dtype, shape), dtype};
  } else if (input.type == ElementType::i8 || input.type == ElementType::i4) {
    known.what = Codes{builder_.input(input.name, DType::i8, shape), input.type};
  } else if (input.type == ElementType::u8 || input.type == ElementType::u4) {
    const ValueId bytes = builder_.input(input.name, DType::u8, shape);
    known.what = Codes{shifted(bytes, input.name, DType::u8, shift_of(input.type)), input.type};
  } else if (input.type == ElementType::f64) {
    known.what = Real{builder_.input(input.name, DType::f32, shape), DType::f32};
  } else if (input.type == ElementType::boolean) {
    known.what = Integers{builder_.input(input.name, DType::u8, shape), input.type};
  } else if (input.type != ElementType::other && input.type != ElementType::bf16) {
    known.what = Integers{builder_.input(input.name, DType::i32, shape), input.type};
  } else {
    return refuse(
        fmt::format("is {}, and inputs can be floats of 16 to 64 bits, integers and booleans", name(input.type)));
  }
  note_dtype(input.name, input.type);
  known_.insert_or_assign(input.name, std::move(known));
  return std::monostate{};
}

void Importer::note_dtype(const std::string& value, ElementType type) {
  const std::string_view here = type == ElementType::boolean ? "uint8, 0 or 1"
                                : type == ElementType::f64   ? "float32"
                                                             : "int32";
  const bool is_same =
      dtype_of(type) && type != ElementType::u32 && type != ElementType::i16 && type != ElementType::u16;
  if (!is_same && !is_nibble(type))
    builder_.note(value, fmt::format("is {} in the model, and {} here", onnx::name(type), here));
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

Done Importer::check_declared(std::string_view what, const ValueInfo& declared, const Known& known) {
  if (!declared.shape) return std::monostate{};
  Dims sides;
  for (const InputSide& side : *declared.shape) sides.push_back({side.side, !side.symbol.empty()});
  bool fits = sides.size() == known.shape.size();
  for (size_t d = 0; fits && d < sides.size(); ++d)
    fits = sides[d].is_symbol || known.shape[d].is_symbol || sides[d] == known.shape[d];
  if (fits) return std::monostate{};
  return refused(fmt::format("{} '{}' is declared as {}, and the model computes {}", what, declared.name,
                             to_text(sides), to_text(known.shape)));
}

Done Importer::check_results(const Node& node) const {
  for (const std::string& output : node.outputs) {
    const auto declared = declared_.find(output);
    const auto known = known_.find(output);
    if (declared == declared_.end() || known == known_.end()) continue;
    if (Done sound = check_declared("value", *declared->second, known->second); !sound) return sound;
  }
  return std::monostate{};
}

Done Importer::add_output(const ValueInfo& output) {
  const auto known = find(output.name);
  if (!known) return known.error();
  if (Done sound = check_declared("output", output, **known); !sound) return sound;
  if (const auto* codes = (*known)->as<Codes>()) {
    const bool is_unsigned = codes->type == ElementType::u8 || codes->type == ElementType::u4;
    const int32_t shift = shift_of(codes->type);
    builder_.graph.add_output(output.name,
                              is_unsigned ? shifted(codes->value, output.name, DType::i8, shift) : codes->value);
    return std::monostate{};
  }
  if (const auto* integers = (*known)->as<Integers>()) {
    builder_.graph.add_output(output.name, integers->value);
    note_dtype(output.name, integers->type);
    return std::monostate{};
  }
  if (const auto* zero = (*known)->as<DynamicZeroPoint>()) {
    const auto scalar = builder_.reshape(output.name + " scalar", zero->value, {});
    if (!scalar) return scalar.error();
    builder_.graph.add_output(output.name, shifted(*scalar, output.name, DType::i8, 128));
    return std::monostate{};
  }
  const bool is_constant = (*known)->tensor() || (*known)->as<Numbers>() || (*known)->as<QuantizedConstant>();
  if (is_constant) {
    const auto value = constant_output(**known, output.name);
    if (!value) return value.error();
    builder_.graph.add_output(output.name, *value);
    return std::monostate{};
  }
  const auto real = builder_.real_of(**known);
  if (!real && real.error().message.starts_with("node '")) return real.error();
  if (!real) return unsupported(fmt::format("output '{}': {}", output.name, real.error().message), real.error().hint);
  if (output.type == ElementType::f64) note_dtype(output.name, output.type);
  if (output.type == ElementType::f16 && real->dtype == DType::f32 && !real->is_integer) {
    builder_.graph.add_output(output.name, builder_.converted(output.name + " as float16", real->value, DType::f16));
    return std::monostate{};
  }
  builder_.graph.add_output(output.name, real->is_integer ? as_integers(real->value, output.name) : real->value);
  return std::monostate{};
}

namespace {

// Whether a node computes the one value from the other, as the cache that it is.
bool is_cache_of(const graph::Graph& graph, ValueId after, ValueId before) {
  const auto has = [](const std::vector<graph::Port>& ports, ValueId value) {
    return std::ranges::count(ports, value, &graph::Port::value) > 0;
  };
  return std::ranges::any_of(graph.nodes, [&](const graph::Node& node) {
    return (node.op == "cache_write" || node.op == "rotary_cache_write") && has(node.inputs, before) &&
           has(node.outputs, after);
  });
}

}  // namespace

Done Importer::check_state_names() const {
  for (const auto& [input, output] : states_) {
    if (std::ranges::count(model_.graph.inputs, input, &ValueInfo::name) == 0)
      return refused(fmt::format("state '{}' is no input of the model", input));
    if (std::ranges::count(model_.graph.outputs, output, &ValueInfo::name) == 0)
      return refused(fmt::format("state '{}' is no output of the model", output));
  }
  return std::monostate{};
}

Done Importer::add_states() {
  graph::Graph& graph = builder_.graph;
  for (const auto& [input, output] : states_) {
    const auto before = std::ranges::find_if(
        graph.inputs, [&, &name = input](ValueId value) { return graph.values[value].name == name; });
    const auto after = std::ranges::find(graph.outputs, output, &graph::Named::name);
    const bool is_there = before != graph.inputs.end() && after != graph.outputs.end();
    if (!is_there || !is_cache_of(graph, after->value, *before))
      return unsupported(fmt::format("'{}' and '{}' are no cache of a layer of attention", input, output),
                         "qgen keeps only these between runs");
    graph.states.push_back({*before, after->value});
  }
  return std::monostate{};
}

Expected<ValueId> Importer::constant_output(const Known& known, const std::string& name) {
  const TensorPtr tensor = known.tensor();
  const bool is_half = tensor && tensor->type == ElementType::f16;
  const ElementType type = element_type_of(known);
  if (type == ElementType::bf16 || type == ElementType::other || is_nibble(type))
    return unsupported(fmt::format("output '{}' is a constant of {}", name, onnx::name(type)));
  if (!onnx::is_real(type)) {
    note_dtype(name, type);
    const bool is_byte = type == ElementType::u8 || type == ElementType::i8;
    const auto value =
        is_byte ? Expected<ValueId>(builder_.constant(name, HostTensor{*dtype_of(type), tensor->shape, tensor->data}))
                : integer_value(known);
    if (!value) return value.error();
    return builder_.converted(name + " constant", *value, builder_.graph.values[*value].dtype);
  }
  if (type == ElementType::f64) note_dtype(name, type);
  const auto real = builder_.real_of(known, is_half ? DType::f16 : DType::f32);
  if (!real) return real.error();
  return builder_.add({.name = name + " constant", .op = "fused_clip", .inputs = {{"input", real->value}}},
                      known.shape);
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
  std::vector<const ModelGraph*> graphs = branches_;
  graphs.insert(graphs.begin(), &model_.graph);
  for (auto graph = graphs.rbegin(); graph != graphs.rend(); ++graph) {
    const auto initializer = (*graph)->initializers.find(name);
    if (initializer == (*graph)->initializers.end()) continue;
    const Dims shape = dims_of(initializer->second->shape);
    return &known_.emplace(name, Known{initializer->second, shape}).first->second;
  }
  return refused(fmt::format("'{}' does not exist", name));
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

namespace {

bool is_recurrent(const Node& node) {
  return node.domain.empty() && (node.op == "LSTM" || node.op == "GRU" || node.op == "RNN");
}

bool is_skip_normalization(const Node& node) {
  return node.domain == "com.microsoft" &&
         (node.op == "SkipLayerNormalization" || node.op == "SkipSimplifiedLayerNormalization");
}

}  // namespace

Done Importer::lower(const Node& node) {
  if (node.outputs.empty()) return refused("it has no output");
  if (node.op == "DynamicQuantizeLinear" && node.domain.empty()) return quantize_dynamically(node);
  if (node.op == "Split" && node.domain.empty()) return split(node);
  if (node.op == "TopK" && node.domain.empty()) return top_k(node);
  if (is_recurrent(node)) return recurrent(node);
  if (node.op == "If" && node.domain.empty()) return lower_branch(node);
  if (node.op == "Loop" && node.domain.empty()) return lower_loop(node);
  if (node.op == "Scan" && node.domain.empty()) return lower_scan(node);
  if (is_skip_normalization(node)) return skip_normalization(node);
  if (node.op == "Attention" && node.domain.empty()) return attention(node);
  if (node.op == "MultiHeadAttention" && node.domain == "com.microsoft") return multi_head_attention(node);
  if (node.op == "GroupQueryAttention" && node.domain == "com.microsoft") return group_query_attention(node);
  const bool has_more = std::any_of(node.outputs.begin() + 1, node.outputs.end(), [&](const std::string& output) {
    return !output.empty() && order_.uses.contains(output);
  });
  const auto arguments = arguments_of(node);
  if (!arguments) return arguments.error();
  if (has_more) {
    const auto further = further_results(node, *arguments);
    if (!further) return further.error();
    if (!*further) {
      if (auto first = result_of(node, *arguments); !first) return first.error();  // not even that
      return unsupported(
          fmt::format("an output other than its first is used, and qgen computes only the first of {}", node.op));
    }
    for (size_t i = 1; i < node.outputs.size(); ++i) {
      if (i <= (*further)->size()) known_.insert_or_assign(node.outputs[i], (**further)[i - 1]);
    }
  }
  auto result = result_of(node, *arguments);
  if (!result) return result.error();
  const auto uses = order_.uses.find(node.outputs.front());
  if (uses == order_.uses.end()) return std::monostate{};
  if (const auto* pending = result->as<PendingPtr>(); pending && !may_wait(**pending, uses->second)) {
    if (builder_.fuses && uses->second.quantizes > 0)
      builder_.note((*pending)->name,
                    fmt::format("is computed in floating point: {} nodes read its result, and only {} quantize it",
                                uses->second.all, uses->second.quantizes));
    const auto real = builder_.real(**pending);
    if (!real) return real.error();
    result = Known{*real, builder_.shapes[real->value]};
  }
  known_.insert_or_assign(node.outputs.front(), *std::move(result));
  return std::monostate{};
}

Done Importer::lower_branch(const Node& node) {
  const auto arguments = arguments_of(node);
  if (!arguments) return arguments.error();
  if (arguments->empty()) return refused("it has no condition");
  const TensorPtr condition = tensor_at(*arguments, 0);
  if (condition && condition->size() != 1) return refused("its condition is not one boolean");
  auto results = condition ? results_of_branch(node, condition->integer(0) != 0 ? "then_branch" : "else_branch")
                           : results_of_both(node, *arguments->front());
  if (!results) return results.error();
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].empty()) known_.insert_or_assign(node.outputs[i], std::move((*results)[i]));
  }
  return std::monostate{};
}

Expected<std::vector<Known>> Importer::results_of_branch(const Node& node, std::string_view name) {
  const AttributeData* data = node.find(name);
  const auto* branch = data ? std::get_if<Subgraph>(data) : nullptr;
  if (!branch || !branch->graph) return refused("it has no branch for its condition");
  const ModelGraph& graph = *branch->graph;
  if (graph.outputs.size() != node.outputs.size())
    return refused(fmt::format("its branch has {} outputs, and it {}", graph.outputs.size(), node.outputs.size()));
  return results_of_graph(graph, node.outputs);
}

Expected<std::vector<Known>> Importer::results_of_graph(const ModelGraph& graph, std::span<const std::string> readers) {
  const auto order = order_of(graph, Around::may_be_read);
  if (!order) return order.error();
  // Readers of the node's result read the graph's result.
  for (const auto& [value, uses] : order->uses) {
    order_.uses[value].all += uses.all;
    order_.uses[value].quantizes += uses.quantizes;
  }
  // Another branch may have had constants of these names.
  for (const auto& [value, tensor] : graph.initializers) known_.erase(value);
  branches_.push_back(&graph);
  Done done = std::monostate{};
  for (const size_t i : order->nodes) {
    const Node& inner = graph.nodes[i];
    done = check_node(inner, builder_.opset);
    if (done) done = is_read(inner) ? lower(inner) : Done(lacking(inner.op));
    if (!done) {
      done = about_node(inner, done.error());
      break;
    }
  }
  std::vector<Known> results;
  for (size_t i = 0; done && i < graph.outputs.size(); ++i) {
    const auto known = find(graph.outputs[i].name);
    if (!known) {
      done = known.error();
      break;
    }
    const auto uses = i < readers.size() ? order_.uses.find(readers[i]) : order_.uses.end();
    const auto* pending = (*known)->as<PendingPtr>();
    const bool waits = pending && uses != order_.uses.end() && may_wait(**pending, uses->second);
    auto result = waits ? Expected<Known>(**known) : computed(**known);
    if (result) results.push_back(*std::move(result));
    else done = result.error();
  }
  branches_.pop_back();
  if (!done) return done.error();
  return results;
}

Expected<std::vector<Known>> Importer::results_of_both(const Node& node, const Known& condition) {
  if (element_type_of(condition) != ElementType::boolean) return refused("its condition is not one boolean");
  const auto scalar = viewed(node, condition, {});
  if (!scalar) return refused("its condition is not one boolean");
  const auto taken = results_of_branch(node, "then_branch");
  if (!taken) return taken.error();
  const auto otherwise = results_of_branch(node, "else_branch");
  if (!otherwise) return otherwise.error();
  std::vector<Known> results;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const auto ours = computed((*taken)[i]), theirs = computed((*otherwise)[i]);
    if (!ours || !theirs) return ours ? theirs.error() : ours.error();
    if (ours->shape != theirs->shape || element_type_of(*ours) != element_type_of(*theirs)) return lacking("If");
    auto chosen = computed(node, "Where", {*scalar, *ours, *theirs});
    if (!chosen) return chosen.error();
    results.push_back(*std::move(chosen));
  }
  builder_.note(node.name, "runs both branches and takes the results of one, since its condition is computed");
  return results;
}

bool Importer::may_wait(const Pending&, const Uses& uses) const {
  return builder_.fuses && (uses.all == 1 || uses.all == uses.quantizes);
}

namespace {

// Whether sums of ConvInteger and MatMulInteger must be integers for this node. Others move them, or convert them.
bool computes_with_integers(const Node& node) {
  constexpr std::string_view kOthers[] = {"Cast",   "DequantizeLinear", "Expand",    "Flatten",
                                          "Gather", "Identity",         "Reshape",   "Slice",
                                          "Split",  "Squeeze",          "Transpose", "Unsqueeze"};
  return !node.domain.empty() || std::ranges::find(kOthers, node.op) == std::end(kOthers);
}

}  // namespace

Expected<Known> Importer::result_of_integers(const Node& node, Arguments arguments) {
  std::deque<Known> integers;
  std::vector<const Known*> operands(arguments.begin(), arguments.end());
  for (const Known*& operand : operands) {
    if (!operand || !are_sums(*operand)) continue;
    const auto value = integer_value(*operand);
    if (!value) return value.error();
    operand = &integers.emplace_back(Known{Integers{*value, ElementType::i32}, operand->shape});
  }
  return result_of(node, operands);
}

Expected<std::optional<Known>> Importer::of_quantized_operator(const Node& node, Arguments arguments) {
  const bool is_microsofts = node.domain == "com.microsoft", is_standard = node.domain.empty() || is_microsofts;
  if (is_standard && node.op == "QuantizeLinear") return as_other(quantize(node, arguments));
  if (is_standard && node.op == "DequantizeLinear") return as_other(dequantize(node, arguments));
  if (node.domain.empty() && (node.op == "ConvInteger" || node.op == "MatMulInteger"))
    return as_other(of_integers(node, arguments));
  if (const auto* row = find_quantized_operator(node.op, node.domain))
    return as_other(quantized_operator(*row, node, arguments));
  if (is_microsofts && node.op == "MatMulNBits") return as_other(matmul_nbits(node, arguments));
  if (is_microsofts && node.op == "GatherBlockQuantized") return as_other(gather_block_quantized(node, arguments));
  return std::optional<Known>();
}

Expected<std::optional<Known>> Importer::of_arithmetic(const Node& node, Arguments arguments) {
  if (node.op == "Add") {
    if (auto biased = add_bias(node, arguments)) return std::optional(*std::move(biased));
  }
  if (node.op == "Mul") {
    note_computed_scale(node, arguments);
    if (auto scaled = with_computed_scale(node, arguments)) return std::optional(*std::move(scaled));
  }
  if (node.op == "Mul" || node.op == "Div" || node.op == "Add" || node.op == "Sub") {
    auto layer = scaled_or_shifted(node, arguments);
    if (!layer || *layer) return layer;
  }
  const bool is_by_constant = node.op == "Div" && arguments.size() == 2 && arguments[1] &&
                              (arguments[1]->tensor() || arguments[1]->as<QuantizedConstant>());
  if (is_by_constant) return as_other(divided(node, arguments));
  return std::optional<Known>();
}

Expected<Known> Importer::result_of(const Node& node, Arguments arguments) {
  if (node.broadcast_axis) return broadcast_along_axis(node, arguments);
  auto folded = fold(builder_, node, arguments);
  if (!folded) return folded.error();
  if (*folded) return **std::move(folded);
  if (computes_with_integers(node) && std::ranges::any_of(arguments, [](auto* it) { return it && are_sums(*it); }))
    return result_of_integers(node, arguments);
  auto quantized = of_quantized_operator(node, arguments);
  if (!quantized) return quantized.error();
  if (*quantized) return **std::move(quantized);
  if (!node.domain.empty()) {
    auto other = rewritten(node, arguments);
    if (!other) return other.error();
    if (*other) return **std::move(other);
  }
  if (!node.domain.empty())
    return unsupported(fmt::format("qgen does not know this operator of the domain '{}'", node.domain),
                       node.domain == "com.microsoft"
                           ? "ONNX Runtime's extended optimizations make such nodes: save the model with the basic "
                             "ones"
                           : "");
  auto shape = output_shape_of_view(builder_, node, arguments);
  if (!shape) return shape.error();
  if (*shape) return seen_as(node, *arguments[0], **shape);
  auto integers = of_codes(node, arguments);
  if (!integers) return integers.error();
  if (*integers) return **std::move(integers);
  const auto is_of_reals = [](const Known* it) { return !it || is_real(element_type_of(*it)); };
  if (node.op == "CastLike" && arguments.size() == 2 && arguments[0] && arguments[1])
    return as_type(node, *arguments[0], element_type_of(*arguments[1]));
  if (!std::ranges::all_of(arguments, is_of_reals)) {
    auto whole = by_elements(node, arguments);
    if (!whole) return whole.error();
    if (*whole) return **std::move(whole);
  }
  if (auto bytes = of_one_byte(node, arguments)) return *std::move(bytes);
  auto other = rewritten(node, arguments);
  if (!other) return other.error();
  if (*other) return **std::move(other);
  auto function = function_at(node, arguments);
  if (!function) return function.error();
  if (*function && (arguments.empty() || !arguments[0])) return refused("it has no input");
  if (*function) return apply(node, *arguments[0], **function);
  if (node.op == "MaxPool" || node.op == "GlobalMaxPool") return max_pool(node, arguments);
  if (node.op == "Cast" && !arguments.empty() && arguments[0]) {
    auto converted = cast(node, *arguments[0]);
    if (!converted) return converted.error();
    if (*converted) return **std::move(converted);
  }
  auto moved = move(node, arguments);
  if (!moved) return moved.error();
  if (*moved) return **std::move(moved);
  if (node.op == "DepthToSpace") return depth_to_space(node, arguments);
  if (node.op == "BatchNormalization") return batch_normalization(node, arguments);
  auto sum_or_product = of_arithmetic(node, arguments);
  if (!sum_or_product) return sum_or_product.error();
  if (*sum_or_product) return **std::move(sum_or_product);
  if (std::ranges::find(patterns(), node.op, &Pattern::op) == patterns().end()) {
    auto chain = by_elements(node, arguments);
    if (!chain) return chain.error();
    if (*chain) return **std::move(chain);
  }
  if (node.op == "Gemm") return gemm(node, arguments);
  const bool has_bias = (node.op == "Conv" || node.op == "ConvTranspose") && arguments.size() > 2 && arguments[2];
  if (has_bias && computed_dtype(*arguments[2])) return with_computed_bias(node, arguments);
  return operation(node.op, node, arguments);
}

Expected<Known> Importer::broadcast_along_axis(const Node& node, Arguments arguments) {
  if (arguments.size() != 2 || !arguments[0] || !arguments[1]) return refused("it has no two inputs");
  const size_t rank = arguments[0]->shape.size();
  const auto axis = dimension_at(*node.broadcast_axis, rank);
  Dims lies = arguments[1]->shape;
  if (!axis || *axis + lies.size() > rank)
    return refused(
        fmt::format("{} at axis {} of {}", to_text(lies), *node.broadcast_axis, to_text(arguments[0]->shape)));
  lies.resize(rank - *axis, Number{1});
  const auto second = viewed(node, *arguments[1], lies);
  if (!second) return second.error();
  Node newer = node;
  newer.broadcast_axis.reset();
  const Known* operands[] = {arguments[0], &*second};
  return result_of(newer, operands);
}

// Of a model without inputs of f16, values of f16 are computed in f32, which can represent them all.
Expected<std::optional<Known>> Importer::cast(const Node& node, const Known& input) {
  ElementType to = element_type(node.integer("to", 0));
  if (to == ElementType::f64) to = ElementType::f32;
  const bool is_of_reals = input.as<Real>() || input.as<PendingPtr>() || input.as<View>();
  const bool gives_reals = to == ElementType::f32 || to == ElementType::f16;
  if (const auto* pending = input.as<PendingPtr>(); pending && (*pending)->is_integer && to == ElementType::f32) {
    auto real = std::make_shared<Pending>(**pending);
    real->is_integer = false;
    return std::optional(Known{std::move(real), input.shape});
  }
  if (!is_of_reals || !gives_reals) {
    auto result = as_type(node, input, to);
    if (!result) return result.error();
    return std::optional(*std::move(result));
  }
  const auto real = builder_.real_of(input);
  if (!real) return real.error();
  if (real->dtype == DType::f16 && to == ElementType::f32)
    return std::optional(Known{Real{builder_.converted(node.name, real->value, DType::f32), DType::f32}, input.shape});
  if (real->dtype == DType::f32 && to == ElementType::f16 && has_half_inputs_)
    return std::optional(Known{Real{builder_.converted(node.name, real->value, DType::f16), DType::f16}, input.shape});
  if (real->dtype == DType::f32 && to == ElementType::f16) {
    builder_.note(node.name, "is left out: its readers compute in float32, which has every value of float16");
  }
  return std::optional(Known{Real{real->value, real->dtype}, input.shape});
}

Expected<std::vector<const Known*>> Importer::of_one_dtype(const Node& node, Arguments arguments,
                                                           std::deque<Known>& wider) {
  std::vector<const Known*> operands(arguments.begin(), arguments.end());
  const auto is_of = [](DType dtype) { return [=](const Known* it) { return it && computed_dtype(*it) == dtype; }; };
  if (std::ranges::none_of(operands, is_of(DType::f16)) || std::ranges::none_of(operands, is_of(DType::f32)))
    return operands;
  for (const Known*& operand : operands) {
    if (!is_of(DType::f16)(operand)) continue;
    const auto half = builder_.real_of(*operand);
    if (!half) return half.error();
    const ValueId value = builder_.converted(node.name + " as float32", half->value, DType::f32);
    operand = &wider.emplace_back(Known{Real{value, DType::f32}, operand->shape});
  }
  return operands;
}

Expected<Known> Importer::operation(std::string_view op, const Node& node, Arguments arguments) {
  const bool is_there = std::ranges::find(patterns(), op, &Pattern::op) != patterns().end();
  if (!is_there) return lacking(node.op);
  const auto has_no_scale = [](const Known* it) { return it && (it->as<Integers>() || it->as<Codes>()); };
  if (op == "Concat" && std::ranges::any_of(arguments, has_no_scale) && std::ranges::count(arguments, nullptr) == 0)
    return concat_elements(node, arguments);
  if (op == "Concat" && arguments.size() == 1 && arguments[0]) return seen_as(node, *arguments[0], arguments[0]->shape);
  std::deque<Known> wider;
  const auto operands = of_one_dtype(node, arguments, wider);
  if (!operands) return operands.error();
  auto pending = match(builder_, op, node, *operands);
  if (!pending) return pending.error();
  const Dims shape = pending->reshaped.value_or(pending->shape);
  return Known{std::make_shared<Pending>(*std::move(pending)), shape};
}

Expected<Known> Importer::with_computed_bias(const Node& node, Arguments arguments) {
  const auto layer = operation(node.op, node, arguments.first(2));
  if (!layer) return layer;
  Dims channels(layer->shape.size() - 1, Number{1});
  channels[0] = layer->shape[1];
  const auto bias = viewed(node, *arguments[2], channels);
  return bias ? written(node, "Add", {*layer, *bias}) : bias;
}

Expected<Known> Importer::gemm(const Node& node, Arguments arguments) {
  auto whole = operation("Gemm", node, arguments);
  if (whole || whole.error().kind != Error::Kind::unsupported || arguments.size() < 3 || node.real("beta", 1) != 1)
    return whole;
  const auto product = operation("Gemm", node, arguments.first(2));
  if (!product) return product;
  const Known* sum[] = {&*product, arguments[2]};
  return operation("Add", node, sum);
}

TensorPtr Importer::tensor_at(Arguments arguments, size_t index) {
  return index < arguments.size() && arguments[index] ? arguments[index]->tensor() : nullptr;
}

}  // namespace qgen::onnx
