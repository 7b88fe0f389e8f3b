// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "runtime/engine/operators/byte_table.h"
#include "runtime/engine/operators/pointwise/chain.h"

namespace qgen::onnx {

using graph::ValueId;

namespace {

std::optional<ValueId> input_of(const graph::Node& node, std::string_view operand) {
  return graph::value_of(node.inputs, operand);
}

template <typename T>
T attribute_or(const graph::Node& node, std::string_view name, T otherwise) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? otherwise : std::get<T>(found->second);
}

PerTensor parameters_of(const graph::Node& node, const std::string& operand) {
  return per_tensor(attribute_or(node, operand + "_scale", 1.0),
                    attribute_or(node, operand + "_zero_point", int64_t{0}));
}

// By value: how many nodes and outputs read it, and the node that computes it.
struct ValueUses {
  explicit ValueUses(const graph::Graph& graph) : reads(graph.values.size(), 0), writers(graph.values.size()) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const graph::Port& port : graph.nodes[i].inputs) ++reads[port.value];
      for (const graph::Port& port : graph.nodes[i].outputs) writers[port.value] = i;
    }
    for (const graph::Named& output : graph.outputs) ++reads[output.value];
  }

  // The node that computes a value which is read once; nullopt: there is none.
  std::optional<size_t> only_writer(ValueId value) const { return reads[value] == 1 ? writers[value] : std::nullopt; }

  std::vector<size_t> reads;
  std::vector<std::optional<size_t>> writers;
};

// Nodes that became a part of others have no operator any more.
void erase_joined(graph::Graph& graph) {
  std::erase_if(graph.nodes, [](const graph::Node& node) { return node.op.empty(); });
}

bool has_residual(const graph::Node& node) {
  return node.op == "q8ta_conv2d" || node.op == "q8ta_conv2d_transposed" || node.op == "q8ta_linear";
}

// The layer that has the function of its bytes as its epilogue from now on; null: it cannot.
graph::Node* layer_of_function(graph::Graph& graph, const ValueUses& uses, const graph::Node& node,
                               const BytesOf& function) {
  const auto value = input_of(node, "input");
  const auto writer = value && *value == function.root ? uses.only_writer(*value) : std::nullopt;
  if (!writer) return nullptr;
  graph::Node& layer = graph.nodes[*writer];
  const bool is_free = has_residual(layer) && !input_of(layer, "table") && !input_of(layer, "residual");
  return is_free ? &layer : nullptr;
}

// Whether the bounds of the sum's activation are the int8 range anyway.
bool is_activation_idle(const graph::Node& sum) {
  const auto activation = attribute_or<std::string>(sum, "activation", "none");
  const PerTensor output = parameters_of(sum, "output");
  if (activation == "none") return true;
  const bool starts_at_zero = quantized(0, output) <= -128;
  return starts_at_zero && (activation == "relu" || (activation == "relu6" && quantized(6, output) >= 127));
}

class Residuals {
 public:
  Residuals(graph::Graph& graph, const std::vector<Dims>& shapes) : graph_(graph), shapes_(shapes), uses_(graph) {}

  void run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (const auto layer = layer_of(i)) join(*layer, i);
    }
    erase_joined(graph_);
  }

 private:
  // The layer that takes the sum; of two the later one, since the other's result is there by then.
  std::optional<size_t> layer_of(size_t sum) const {
    const graph::Node& node = graph_.nodes[sum];
    if (node.op != "q8ta_add" || attribute_or(node, "alpha", 1.0) != 1 || !is_activation_idle(node))
      return std::nullopt;
    const ValueId a = *input_of(node, "input"), b = *input_of(node, "other");
    if (!(shapes_[a] == shapes_[b])) return std::nullopt;
    std::optional<size_t> layer;
    for (const std::string operand : {"input", "other"}) {
      const ValueId value = *input_of(node, operand);
      const auto writer = uses_.only_writer(value);
      if (!writer || (layer && *writer < *layer)) continue;
      const graph::Node& candidate = graph_.nodes[*writer];
      // The sum has to read the integers by the parameters that they were made with.
      if (has_residual(candidate) && !input_of(candidate, "residual") &&
          parameters_of(candidate, "output") == parameters_of(node, operand))
        layer = writer;
    }
    return layer;
  }

  // The layer takes the sum's place in the order, where both operands are there.
  void join(size_t layer, size_t sum) {
    graph::Node joined = std::move(graph_.nodes[layer]);
    graph_.nodes[layer].op.clear();
    graph::Node& node = graph_.nodes[sum];
    const ValueId result = joined.outputs.front().value;
    const bool is_first = input_of(node, "input") == result;
    const std::string residual = is_first ? "other" : "input";
    const auto move = [&](const graph::Node& from, const std::string& operand, const std::string& as) {
      for (const std::string what : {"_scale", "_zero_point"}) {
        const auto found = from.attributes.find(operand + what);
        if (found == from.attributes.end()) continue;
        const AttributeValue value = found->second;
        joined.attributes.insert_or_assign(as + what, value);
      }
    };
    move(node, is_first ? "input" : "other", "result");
    move(node, residual, "residual");
    move(node, "output", "output");
    joined.inputs.push_back({"residual", *input_of(node, residual)});
    joined.name = fmt::format("{} + {}", joined.name, node.name);
    joined.outputs = node.outputs;
    graph_.values[node.outputs.front().value].name = joined.name;
    uses_.writers[node.outputs.front().value] = sum;
    node = std::move(joined);
  }

  graph::Graph& graph_;
  const std::vector<Dims>& shapes_;
  ValueUses uses_;
};

}  // namespace

void join_tables(graph::Graph& graph, std::vector<Dims>& shapes, const BytesOfBytes& functions) {
  const ValueUses uses(graph);
  for (graph::Node& node : graph.nodes) {
    const auto function = functions.find(node.outputs.front().value);
    if (function == functions.end()) continue;
    graph::Node* layer = layer_of_function(graph, uses, node, function->second);
    if (!layer) continue;
    const auto set = [&](const std::string& operand, const PerTensor& parameters) {
      layer->attributes.insert_or_assign(operand + "_scale", AttributeValue(double{parameters.scale}));
      layer->attributes.insert_or_assign(operand + "_zero_point", AttributeValue(int64_t{parameters.zero_point}));
    };
    set("table_input", parameters_of(*layer, "output"));
    set("output", function->second.output);
    layer->name = fmt::format("{} + {}", layer->name, node.name);
    HostTensor table = make_tensor<int8_t>(DType::i8, {256}, function->second.table);
    layer->inputs.push_back({"table", graph.add_constant(layer->name + " table", std::move(table))});
    shapes.push_back(dims_of({256}));
    layer->outputs = node.outputs;
    graph.values[layer->outputs.front().value].name = layer->name;
    node.op.clear();
  }
  erase_joined(graph);
}

void join_residuals(graph::Graph& graph, const std::vector<Dims>& shapes) { Residuals(graph, shapes).run(); }

// ---- gates ----------------------------------------------------------------------------------------------------------

namespace {

// x * sigmoid(x) * other
auto gate_chain() {
  chains::Formula formula;
  const uint32_t x = formula.input(0), other = formula.input(1);
  const uint32_t silu = formula.step(chains::Step::multiply, x, formula.step(chains::Step::sigmoid, x));
  formula.step(chains::Step::multiply, silu, other);
  return *chains::encoded(formula);
}

class GateJoiner {
 public:
  GateJoiner(graph::Graph& graph, const std::vector<Dims>& shapes) : graph_(graph), shapes_(shapes), uses_(graph) {}

  void run() {
    for (graph::Node& node : graph_.nodes) {
      if (const auto gate = gate_of(node)) node = joined(node, *gate);
    }
    erase_joined(graph_);
  }

 private:
  struct Gate {
    size_t product, sigmoid;  // nodes
    ValueId x, other;
  };

  // The node, of this operator and without attributes, that computes a value which one node reads.
  std::optional<size_t> only_for(ValueId value, std::string_view op) const {
    const auto writer = uses_.only_writer(value);
    if (!writer) return std::nullopt;
    const graph::Node& node = graph_.nodes[*writer];
    const bool is_plain = node.op == op && node.attributes.empty() && !input_of(node, "input_scale") &&
                          node.inputs.size() == (op == "fused_mul" ? 2 : 1);
    return is_plain ? writer : std::nullopt;
  }

  // Of node x * sigmoid(x) * other, in any order.
  std::optional<Gate> gate_of(const graph::Node& node) const {
    if (node.op != "fused_mul" || !node.attributes.empty() || node.inputs.size() != 2) return std::nullopt;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const auto product = only_for(node.inputs[side].value, "fused_mul");
      if (!product) continue;
      const auto gate = gate_of(*product, node.inputs[1 - side].value);
      const ValueId result = node.outputs.front().value;
      if (!gate || graph_.values[gate->other].is_constant) continue;
      if (shapes_[gate->x] == shapes_[result] && shapes_[gate->other] == shapes_[result]) return gate;
    }
    return std::nullopt;
  }

  std::optional<Gate> gate_of(size_t product, ValueId other) const {
    const graph::Node& node = graph_.nodes[product];
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const auto sigmoid = only_for(node.inputs[side].value, "fused_sigmoid");
      const ValueId x = node.inputs[1 - side].value;
      if (sigmoid && input_of(graph_.nodes[*sigmoid], "input") == x) return Gate{product, *sigmoid, x, other};
    }
    return std::nullopt;
  }

  graph::Node joined(const graph::Node& node, const Gate& gate) {
    const auto chain = gate_chain();
    graph::Node result{.name = fmt::format("{} + {}", graph_.nodes[gate.product].name, node.name),
                       .op = "pointwise",
                       .inputs = {{"input_1", gate.x}, {"input_2", gate.other}},
                       .attributes = {{"steps", chain.steps}, {"constants", chain.constants}},
                       .outputs = node.outputs};
    graph_.values[node.outputs.front().value].name = result.name;
    graph_.nodes[gate.product].op.clear();
    graph_.nodes[gate.sigmoid].op.clear();
    return result;
  }

  graph::Graph& graph_;
  const std::vector<Dims>& shapes_;
  ValueUses uses_;
};

}  // namespace

void join_gates(graph::Graph& graph, const std::vector<Dims>& shapes) { GateJoiner(graph, shapes).run(); }

// ---- chains ---------------------------------------------------------------------------------------------------------

namespace {

using List = std::vector<int64_t>;

class ChainJoiner {
 public:
  ChainJoiner(graph::Graph& graph, const std::vector<Dims>& shapes) : graph_(graph), shapes_(shapes), uses_(graph) {}

  void run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      while (const auto first = joined_into(i)) graph_.nodes[*first].op.clear();
    }
    erase_joined(graph_);
  }

 private:
  static bool converts(const graph::Node& node) { return node.attributes.contains("output_dtype"); }

  // The chain that became a part of node i; nullopt: there is none.
  std::optional<size_t> joined_into(size_t i) {
    graph::Node& last = graph_.nodes[i];
    if (last.op != "pointwise") return std::nullopt;
    for (const graph::Port& port : last.inputs) {
      const auto writer = uses_.only_writer(port.value);
      if (port.operand == "mask" || !writer) continue;
      const graph::Node& first = graph_.nodes[*writer];
      const bool is_of_shape = shapes_[port.value] == shapes_[last.outputs.front().value];
      if (first.op != "pointwise" || converts(first) || !is_of_shape) continue;
      auto joined = both(first, last, port.value);
      if (!joined) continue;
      uses_.reads[port.value] = 0;
      last = *std::move(joined);
      graph_.values[last.outputs.front().value].name = last.name;
      return writer;
    }
    return std::nullopt;
  }

  // The steps of `first`, then those of `last`, which read its result.
  static std::optional<graph::Node> both(const graph::Node& first, const graph::Node& last, ValueId between) {
    chains::Formula formula;
    std::vector<graph::Port> inputs;
    const auto input = [&](const graph::Port& port) {
      if (port.operand == "mask") return formula.input(chains::kMaskInput);
      const auto same = std::ranges::find_if(
          inputs, [&](const graph::Port& it) { return it.operand != "mask" && it.value == port.value; });
      if (same != inputs.end()) return formula.input(same - inputs.begin());
      inputs.push_back(port);
      return formula.input(std::ssize(inputs) - 1);
    };
    const auto append = [&](const graph::Node& node, std::optional<uint32_t> result) -> std::optional<uint32_t> {
      const chains::Formula steps =
          chains::decoded(std::get<List>(node.attributes.at("steps")), std::get<List>(node.attributes.at("constants")));
      std::vector<uint32_t> ids;
      for (const chains::Value& value : steps.values) {
        if (value.kind == chains::Value::Kind::constant) {
          ids.push_back(formula.bits(value.number));
        } else if (value.kind == chains::Value::Kind::step) {
          const auto [a, b, c] = value.sources;
          const auto id = [&](uint32_t source) { return source < ids.size() ? ids[source] : 0; };
          ids.push_back(formula.step(value.step, id(a), id(b), id(c)));
        } else {
          const std::string name =
              value.number == chains::kMaskInput ? "mask" : fmt::format("input_{}", value.number + 1);
          const auto port = std::ranges::find(node.inputs, name, &graph::Port::operand);
          if (port == node.inputs.end()) return std::nullopt;
          ids.push_back(result && port->value == between ? *result : input(*port));
        }
      }
      return ids.back();
    };
    const auto mask_of = [](const graph::Node& node) { return input_of(node, "mask"); };
    if (mask_of(first) && mask_of(last)) return std::nullopt;
    const auto result = append(first, std::nullopt);
    if (!result || !append(last, result) || inputs.size() > chains::kMostInputs) return std::nullopt;
    const auto chain = chains::encoded(formula);
    if (!chain) return std::nullopt;
    graph::Node node{.name = fmt::format("{} + {}", first.name, last.name),
                     .op = "pointwise",
                     .inputs = {},
                     .attributes = last.attributes,
                     .outputs = last.outputs};
    for (size_t k = 0; k < inputs.size(); ++k) node.inputs.push_back({fmt::format("input_{}", k + 1), inputs[k].value});
    const auto mask = mask_of(first) ? mask_of(first) : mask_of(last);
    if (mask) node.inputs.push_back({"mask", *mask});
    node.attributes.insert_or_assign("steps", AttributeValue(chain->steps));
    node.attributes.insert_or_assign("constants", AttributeValue(chain->constants));
    return node;
  }

  graph::Graph& graph_;
  const std::vector<Dims>& shapes_;
  ValueUses uses_;
};

}  // namespace

void join_chains(graph::Graph& graph, const std::vector<Dims>& shapes) { ChainJoiner(graph, shapes).run(); }

// ---- convolutions that quantize their input -------------------------------------------------------------------------

namespace {

class InputQuantizers {
 public:
  explicit InputQuantizers(graph::Graph& graph) : graph_(graph), uses_(graph) {}

  void run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (graph_.nodes[i].op != "dq8ta_conv2d") continue;
      const auto quantizer = only_read_by(i, *input_of(graph_.nodes[i], "input"), "dynamic_quantize_image");
      if (quantizer && reads_parameters_of(*quantizer, i)) join(*quantizer, i);
    }
    erase_joined(graph_);
  }

 private:
  // The node of this operator that writes the value; nullopt: another operator writes it, or another node reads one of
  // its outputs.
  std::optional<size_t> only_read_by(size_t reader, ValueId value, std::string_view op) const {
    const auto writer = uses_.writers[value];
    if (!writer || graph_.nodes[*writer].op != op) return std::nullopt;
    const bool is_only = std::ranges::all_of(graph_.nodes[*writer].outputs, [&](const graph::Port& port) {
      const auto reads = std::ranges::count(graph_.nodes[reader].inputs, port.value, &graph::Port::value);
      return static_cast<size_t>(reads) == uses_.reads[port.value];
    });
    return is_only ? writer : std::nullopt;
  }

  // The joined operator multiplies by the scale that it computes. Sums that the model reads as integers have a scale of
  // 1 instead.
  bool reads_parameters_of(size_t quantizer, size_t layer) const {
    return std::ranges::all_of(graph_.nodes[quantizer].outputs, [&](const graph::Port& port) {
      const auto read = input_of(graph_.nodes[layer], port.operand == "output" ? "input" : port.operand);
      return port.operand == "channel_sums" ? !read || read == port.value : read == port.value;
    });
  }

  void join(size_t quantizer, size_t layer) {
    graph::Node& node = graph_.nodes[layer];
    graph::Node& quantize = graph_.nodes[quantizer];
    std::string name = quantize.name;
    std::vector<graph::Port> inputs{{"input", *input_of(quantize, "input")}};
    const auto concat = only_read_by(quantizer, inputs[0].value, "concat");
    // An image has four dimensions.
    const int64_t axis = concat ? attribute_or(graph_.nodes[*concat], "axis", int64_t{1}) : 0;
    if (axis == 1 || axis == -3) {
      graph::Node& sources = graph_.nodes[*concat];
      name = fmt::format("{} + {}", sources.name, name);
      inputs = sources.inputs;
      inputs[0].operand = "input";
      sources.op.clear();
    }
    for (graph::Port& port : node.inputs) {
      const bool is_made = port.operand == "input" || port.operand == "scale" || port.operand == "zero_point" ||
                           port.operand == "channel_sums";
      if (!is_made) inputs.push_back(std::move(port));
    }
    node.op = "conv2d_dq8ta_q8csw";
    node.name = fmt::format("{} + {}", name, node.name);
    node.inputs = std::move(inputs);
    graph_.values[node.outputs.front().value].name = node.name;
    quantize.op.clear();
  }

  graph::Graph& graph_;
  ValueUses uses_;
};

}  // namespace

void join_input_quantizers(graph::Graph& graph) { InputQuantizers(graph).run(); }

// ---- products -------------------------------------------------------------------------------------------------------

namespace {

class ProductJoiner {
 public:
  ProductJoiner(graph::Graph& graph, std::vector<Dims>& shapes) : graph_(graph), shapes_(shapes), uses_(graph) {}

  void run() {
    for (graph::Node& node : graph_.nodes) {
      if (node.op == "rotary_cache_write") join_heads(node);
      else if (is_gate(node)) join_gate(node);
    }
    erase_joined(graph_);
  }

 private:
  // Query, key and value, each the reshaped result of a product.
  void join_heads(graph::Node& node) {
    std::vector<size_t> reshapes, products;
    for (const std::string_view operand : {"query", "key", "value"}) {
      const auto heads = input_of(node, operand);
      const auto reshape = heads ? uses_.only_writer(*heads) : std::nullopt;
      if (!reshape || graph_.nodes[*reshape].op != graph::kReshape) return;
      const auto product = uses_.only_writer(graph_.nodes[*reshape].inputs.front().value);
      if (!product) return;
      reshapes.push_back(*reshape);
      products.push_back(*product);
    }
    graph::Node& reshape = graph_.nodes[reshapes.front()];
    const ValueId query = *input_of(node, "query");
    auto* sides = std::get_if<List>(&reshape.attributes.at("shape"));
    if (!sides || sides->size() != 4 || sides->back() < 1) return;
    const auto whole = joined(products);
    if (!whole) return;
    (*sides)[2] = shapes_[*whole].back().value / sides->back();
    shapes_[query][2] = {(*sides)[2]};
    reshape.inputs.front().value = *whole;
    for (const size_t other : {reshapes[1], reshapes[2]}) graph_.nodes[other].op.clear();
    std::erase_if(node.inputs,
                  [](const graph::Port& port) { return port.operand == "key" || port.operand == "value"; });
  }

  bool is_gate(const graph::Node& node) const {
    return node.op == "pointwise" && node.inputs.size() == 2 && node.attributes.size() == 2 &&
           node.attributes.at("steps") == AttributeValue(gate_.steps) &&
           node.attributes.at("constants") == AttributeValue(gate_.constants);
  }

  void join_gate(graph::Node& node) {
    std::vector<size_t> products;
    for (const std::string_view operand : {"input_1", "input_2"}) {
      const auto product = uses_.only_writer(*input_of(node, operand));
      if (!product) return;
      products.push_back(*product);
    }
    const auto whole = joined(products);
    if (!whole) return;
    node.op = "silu_mul";
    node.inputs = {{"input", *whole}};
    node.attributes.clear();
  }

  // One product with the columns of all, in this order; nullopt: they differ in more than their columns.
  std::optional<ValueId> joined(const std::vector<size_t>& products) {
    const graph::Node& first = graph_.nodes[products.front()];
    for (const size_t product : products) {
      if (!can_join(first, graph_.nodes[product])) return std::nullopt;
    }
    graph::Node whole{.op = first.op, .attributes = first.attributes};
    Dims shape = shapes_[first.outputs.front().value];
    shape.back() = {0};
    for (const size_t product : products) {
      const graph::Node& part = graph_.nodes[product];
      whole.name += fmt::format("{}{}", whole.name.empty() ? "" : " + ", part.name);
      shape.back().value += shapes_[part.outputs.front().value].back().value;
    }
    for (size_t i = 0; i < first.inputs.size(); ++i) {
      const graph::Port& port = first.inputs[i];
      whole.inputs.push_back({port.operand, port.operand == "input" ? port.value : joined_constant(products, i)});
    }
    const auto value = static_cast<ValueId>(graph_.values.size());
    graph_.values.push_back({.name = whole.name});
    shapes_.push_back(std::move(shape));
    whole.outputs = {{first.outputs.front().operand, value}};
    for (const size_t product : products) graph_.nodes[product].op.clear();
    graph_.nodes[std::ranges::min(products)] = std::move(whole);
    return value;
  }

  static bool is_product(const graph::Node& node) {
    return (node.op == "matmul" || node.op == "linear_q4gsw" || node.op == "linear_q8csw") && node.outputs.size() == 1;
  }

  bool can_join(const graph::Node& first, const graph::Node& node) const {
    if (!is_product(node) || node.op != first.op || node.attributes != first.attributes ||
        node.inputs.size() != first.inputs.size())
      return false;
    const Dims &shape = shapes_[node.outputs.front().value], &of_first = shapes_[first.outputs.front().value];
    if (shape.size() != of_first.size() || shape.back().is_symbol) return false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const graph::Port &port = node.inputs[i], &other = first.inputs[i];
      if (port.operand != other.operand) return false;
      if (port.operand == "input" ? port.value != other.value : !can_join(node, port, other)) return false;
    }
    return true;
  }

  // Two constants that differ at most in the number of columns. A scale of all columns is not one of each.
  bool can_join(const graph::Node& node, const graph::Port& port, const graph::Port& other) const {
    const graph::Value &a = graph_.values[port.value], &b = graph_.values[other.value];
    if (!a.is_constant || !b.is_constant || !a.data || !b.data || a.dtype != b.dtype) return false;
    const size_t columns = columns_of(node, port);
    if (a.shape.size() != b.shape.size() || a.shape.size() > 2 || a.shape.size() <= columns) return false;
    if (a.shape[columns] != shapes_[node.outputs.front().value].back().value) return false;
    for (size_t d = 0; d < a.shape.size(); ++d) {
      if (d != columns && a.shape[d] != b.shape[d]) return false;
    }
    return true;
  }

  // The dimension of a constant that has the columns of the product.
  static size_t columns_of(const graph::Node& node, const graph::Port& port) {
    const bool is_plain =
        node.op == "matmul" && port.operand == "other" && !attribute_or(node, "transpose_other", false);
    return is_plain ? 1 : 0;
  }

  ValueId joined_constant(const std::vector<size_t>& products, size_t port) {
    std::vector<const HostTensor*> parts;
    for (const size_t i : products) parts.push_back(graph_.values[graph_.nodes[i].inputs[port].value].data.get());
    const graph::Node& first = graph_.nodes[products.front()];
    HostTensor whole = concatenated(parts, columns_of(first, first.inputs[port]));
    shapes_.push_back(dims_of(whole.shape));
    return graph_.add_constant(graph_.values[first.inputs[port].value].name + " and others", std::move(whole));
  }

  // Along one of at most two dimensions.
  static HostTensor concatenated(const std::vector<const HostTensor*>& parts, size_t dimension) {
    HostTensor whole{.dtype = parts.front()->dtype, .shape = parts.front()->shape, .data = {}};
    whole.shape[dimension] = 0;
    for (const HostTensor* part : parts) whole.shape[dimension] += part->shape[dimension];
    const auto lines = static_cast<size_t>(dimension == 0 ? 1 : whole.shape[0]);
    for (size_t line = 0; line < lines; ++line) {
      for (const HostTensor* part : parts) {
        const auto length = static_cast<ptrdiff_t>(part->data.size() / lines);
        const auto begin = part->data.begin() + static_cast<ptrdiff_t>(line) * length;
        whole.data.insert(whole.data.end(), begin, begin + length);
      }
    }
    return whole;
  }

  graph::Graph& graph_;
  std::vector<Dims>& shapes_;
  ValueUses uses_;  // of the nodes and values before any was joined
  const decltype(gate_chain()) gate_ = gate_chain();
};

}  // namespace

void join_products(graph::Graph& graph, std::vector<Dims>& shapes) { ProductJoiner(graph, shapes).run(); }

// ---- normalizations before products ---------------------------------------------------------------------------------

namespace {

class NormJoiner {
 public:
  explicit NormJoiner(graph::Graph& graph) : graph_(graph), uses_(graph) {}

  void run() {
    for (graph::Node& product : graph_.nodes) {
      if (product.op != "linear_q4gsw") continue;
      if (graph::Node* norm = norm_before(product)) join(*norm, product);
    }
    erase_joined(graph_);
    uses_ = ValueUses(graph_);
    for (graph::Node& gate : graph_.nodes) {
      if (gate.op != "silu_mul") continue;
      if (graph::Node* product = product_before(gate)) join_gate(*product, gate);
    }
    erase_joined(graph_);
  }

 private:
  graph::Node* norm_before(const graph::Node& product) {
    const ValueId input = *input_of(product, "input");
    const auto writer = uses_.only_writer(input);
    if (!writer) return nullptr;
    graph::Node& norm = graph_.nodes[*writer];
    return norm.op == "skip_rms_norm" && can_join(norm, product) ? &norm : nullptr;
  }

  bool can_join(const graph::Node& norm, const graph::Node& product) const {
    const auto weight = input_of(norm, "weight");
    const bool is_of_halves = weight && graph_.values[*weight].dtype == DType::f16;
    const bool has_bias = input_of(norm, "bias") || input_of(norm, "sum_bias");
    const bool is_read =
        std::ranges::all_of(norm.outputs, [&](const auto& port) { return uses_.reads[port.value] > 0; });
    // The joined node takes the place of the norm, where the product's other inputs must exist.
    return is_of_halves && !has_bias && is_read && std::ranges::all_of(product.inputs, [&](const graph::Port& port) {
             return port.operand == "input" || graph_.values[port.value].is_constant;
           });
  }

  void join(graph::Node& norm, graph::Node& product) {
    norm.op = "rms_norm_linear_q4gsw";
    norm.name = fmt::format("{} + {}", norm.name, product.name);
    for (graph::Port& port : norm.inputs) {
      if (port.operand == "input") port.operand = "hidden";
      else if (port.operand == "weight") port.operand = "norm_weight";
    }
    for (graph::Port& port : product.inputs) {
      if (port.operand != "input") norm.inputs.push_back(std::move(port));
    }
    norm.attributes.merge(product.attributes);
    for (graph::Port& port : norm.outputs) {
      if (port.operand == "output") port.value = product.outputs.front().value;
    }
    product.op.clear();
  }

  // The node whose product the gate alone reads; null: there is none.
  graph::Node* product_before(const graph::Node& gate) {
    const ValueId input = *input_of(gate, "input");
    const auto writer = uses_.only_writer(input);
    if (!writer) return nullptr;
    graph::Node& product = graph_.nodes[*writer];
    const bool is_product =
        product.op == "rms_norm_linear_q4gsw" && graph::value_of(product.outputs, "output") == input;
    return is_product ? &product : nullptr;
  }

  void join_gate(graph::Node& product, graph::Node& gate) {
    product.op = "rms_norm_gated_q4gsw";
    product.name = fmt::format("{} + {}", product.name, gate.name);
    for (graph::Port& port : product.outputs) {
      if (port.operand == "output") port.value = gate.outputs.front().value;
    }
    gate.op.clear();
  }

  graph::Graph& graph_;
  ValueUses uses_;
};

}  // namespace

void join_norms(graph::Graph& graph) { NormJoiner(graph).run(); }

namespace {

// Drops the nodes that no output needs; gives the values that are needed.
std::vector<bool> drop_nodes(graph::Graph& graph) {
  std::vector<bool> is_needed(graph.values.size(), false);
  for (const ValueId input : graph.inputs) is_needed[input] = true;
  for (const graph::Named& output : graph.outputs) is_needed[output.value] = true;
  std::vector<graph::Node> nodes;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool is_read = std::ranges::any_of(node->outputs, [&](const auto& port) { return is_needed[port.value]; });
    if (!is_read) continue;
    for (const auto* ports : {&node->inputs, &node->outputs}) {
      for (const graph::Port& port : *ports) is_needed[port.value] = true;
    }
    nodes.push_back(std::move(*node));
  }
  std::ranges::reverse(nodes);
  graph.nodes = std::move(nodes);
  return is_needed;
}

}  // namespace

void drop_unread_nodes(graph::Graph& graph) { drop_nodes(graph); }

void drop_unused(graph::Graph& graph) {
  const std::vector<bool> is_needed = drop_nodes(graph);
  std::vector<ValueId> new_ids(graph.values.size(), 0);
  std::vector<graph::Value> values;
  for (size_t i = 0; i < graph.values.size(); ++i) {
    if (!is_needed[i]) continue;
    new_ids[i] = static_cast<ValueId>(values.size());
    values.push_back(std::move(graph.values[i]));
  }
  graph.values = std::move(values);
  const auto renumber = [&](ValueId& value) { value = new_ids[value]; };
  for (ValueId& input : graph.inputs) renumber(input);
  for (graph::Named& output : graph.outputs) renumber(output.value);
  for (graph::Node& node : graph.nodes) {
    for (auto* ports : {&node.inputs, &node.outputs}) {
      for (graph::Port& port : *ports) renumber(port.value);
    }
  }
}

}  // namespace qgen::onnx
