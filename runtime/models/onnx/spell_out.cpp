// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/spell_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runtime/models/onnx/check_model.h"

namespace qgen::onnx {
namespace {

using NodeAttributes = std::map<std::string, AttributeData, std::less<>>;

class Speller {
 public:
  // `names`: that new values must not have.
  Speller(ModelGraph& graph, std::set<std::string>& names, int64_t opset)
      : graph_(graph), names_(names), opset_(opset) {}

  void run() {
    std::vector<Node> old = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (Node& node : old) {
      const auto write = writer_of(node);
      node_ = &node;
      // The importer refuses nodes that break their schema, those of bodies too.
      const bool is_sound = (write || joins_one(node)) && is_wanted(0) && check_node(node, opset_);
      if (is_sound && write) (this->*write)();
      else if (is_sound) last("Identity", {node.inputs[0]});
      else graph_.nodes.push_back(std::move(node));
    }
  }

 private:
  using Writer = void (Speller::*)();

  // A cache before the first token, as PyTorch's exporters write it: its rows are the last axis but one.
  static bool joins_one(const Node& node) {
    const int64_t axis = node.integer("axis", 0);
    return node.domain.empty() && node.op == "Concat" && node.inputs.size() == 1 && (axis == -2 || axis == 2);
  }

  static Writer writer_of(const Node& node) {
    struct Row {
      std::string_view op;
      Writer write;
    };
    constexpr Row kSpelled[] = {
        {"BiasGelu", &Speller::gelu},
        {"DynamicQuantizeMatMul", &Speller::dynamic_product},
        {"EmbedLayerNormalization", &Speller::embedding},
        {"FastGelu", &Speller::gelu},
        {"FusedMatMul", &Speller::product},
        {"Gelu", &Speller::gelu},
        {"MatMulIntegerToFloat", &Speller::integer_product},
        {"QuickGelu", &Speller::quick_gelu},
    };
    if (node.domain != "com.microsoft") return nullptr;
    const auto row = std::ranges::find(kSpelled, node.op, &Row::op);
    return row == std::end(kSpelled) ? nullptr : row->write;
  }

  // ---- what the nodes are -------------------------------------------------------------------------------------------

  void gelu() {
    const std::string x = has(1) ? added(in(0), in(1)) : in(0);
    last("Gelu", {x}, {{"approximate", std::string(node_->op == "FastGelu" ? "tanh" : "none")}});
  }

  void quick_gelu() {
    const float alpha = node_->real("alpha", 1.702f);
    const std::string scaled = alpha == 1 ? in(0) : made("Mul", {in(0), number(alpha)});
    last("Mul", {in(0), made("Sigmoid", {scaled})});
  }

  void product() {
    const std::string a = transposed(0, "A"), b = transposed(1, "B");
    const float alpha = node_->real("alpha", 1);
    if (alpha == 1) return last("MatMul", {a, b});
    last("Mul", {made("MatMul", {a, b}), number(alpha)});
  }

  // Of x and its zero point, the second factor and its own; scales of both; a summand.
  void scaled_product(const std::vector<std::string>& factors, const std::string& scale, const std::string& other_scale,
                      const std::string& bias) {
    const std::string sums = made("Cast", {made("MatMulInteger", factors)}, {{"to", int64_t{1}}});  // to float32
    const std::string factor = made("Mul", {scale, other_scale});
    if (bias.empty()) return last("Mul", {sums, factor});
    last("Add", {made("Mul", {sums, factor}), bias});
  }

  void integer_product() { scaled_product({in(0), in(1), in(4), in(5)}, in(2), in(3), in(6)); }

  void dynamic_product() {
    const std::vector<std::string> input = {name_of("quantized"), name_of("scale"), name_of("zero point")};
    add("DynamicQuantizeLinear", {in(0)}, input);
    scaled_product({input[0], in(1), input[2], in(3)}, input[1], in(2), in(4));
  }

  // ids, segments, and the tables of words, positions and segments; gamma and beta; a mask, and positions.
  void embedding() {
    const std::string words = made("Gather", {in(2), in(0)});
    std::string sum = added(words, has(8) ? made("Gather", {in(3), in(8)}) : first_positions());
    if (has(1) && has(4)) sum = added(sum, made("Gather", {in(4), in(1)}));
    if (is_wanted(2)) add("Identity", {sum}, {node_->outputs[2]});
    if (is_wanted(1) && has(7)) count_ones();
    else if (is_wanted(1)) no_mask();
    last("LayerNormalization", {sum, in(5), in(6)}, {{"epsilon", node_->real("epsilon", 1e-12f)}});
  }

  // Of as many positions as there are ids in a row.
  std::string first_positions() { return made("Slice", {in(3), integers({0}), row_length(), integers({0})}); }
  std::string row_length() { return made("Slice", {made("Shape", {in(0)}), integers({1}), integers({2})}); }

  // Of the mask, in each row.
  void count_ones() {
    const int32_t one = 1;
    const std::string name = name_of("one");
    graph_.initializers.emplace(
        name, std::make_shared<const Tensor>(tensor_of<int32_t>(ElementType::i32, {}, {&one, 1}, name)));
    const std::string ones = made("Cast", {made("Equal", {in(7), name})}, {{"to", int64_t{6}}});  // to int32
    add("ReduceSum", {ones, integers({1})}, {node_->outputs[1]}, {{"keepdims", int64_t{0}}});
  }

  // Without a mask ONNX Runtime gives 0 for each batch.
  void no_mask() {
    const std::string batches = made("Slice", {made("Shape", {in(0)}), integers({0}), integers({1})});
    const int32_t zero = 0;
    const auto tensor = std::make_shared<const Tensor>(tensor_of<int32_t>(ElementType::i32, {1}, {&zero, 1}));
    add("ConstantOfShape", {batches}, {node_->outputs[1]}, {{"value", TensorPtr(tensor)}});
  }

  // ---- new nodes ----------------------------------------------------------------------------------------------------

  bool has(size_t index) const { return node_->has_input(index); }
  std::string in(size_t index) const { return has(index) ? node_->inputs[index] : std::string(); }
  bool is_wanted(size_t output) const { return output < node_->outputs.size() && !node_->outputs[output].empty(); }

  std::string name_of(std::string_view part) {
    const std::string base = fmt::format("{} {}", node_->outputs[0], part);
    std::string name = base;
    for (int i = 2; !names_.insert(name).second; ++i) name = fmt::format("{} {}", base, i);
    return name;
  }

  void add(std::string_view op, std::vector<std::string> inputs, std::vector<std::string> outputs,
           NodeAttributes attributes = {}) {
    while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
    graph_.nodes.push_back({.name = node_->name,
                            .op = std::string(op),
                            .domain = {},
                            .inputs = std::move(inputs),
                            .outputs = std::move(outputs),
                            .attributes = std::move(attributes)});
  }
  std::string made(std::string_view op, std::vector<std::string> inputs, NodeAttributes attributes = {}) {
    std::string output = name_of(op);
    add(op, std::move(inputs), {output}, std::move(attributes));
    return output;
  }
  std::string added(const std::string& a, const std::string& b) { return made("Add", {a, b}); }
  // The node's first output.
  void last(std::string_view op, std::vector<std::string> inputs, NodeAttributes attributes = {}) {
    add(op, std::move(inputs), {node_->outputs[0]}, std::move(attributes));
  }

  // The importer gives a constant its operand's type.
  std::string number(float value) {
    std::string name = name_of("factor");
    graph_.initializers.emplace(
        name, std::make_shared<const Tensor>(tensor_of<float>(ElementType::f32, {}, {&value, 1}, name)));
    return name;
  }
  std::string integers(const std::vector<int64_t>& values) {
    std::string name = name_of("integers");
    graph_.initializers.emplace(
        name, std::make_shared<const Tensor>(tensor_of<int64_t>(ElementType::i64, {std::ssize(values)}, values, name)));
    return name;
  }

  // An operand of FusedMatMul.
  std::string transposed(size_t index, const std::string& side) {
    const int64_t swaps_last = node_->integer("trans" + side, 0) != 0 ? kSwapsLast : 0;
    const int64_t moves_first = node_->integer("transBatch" + side, 0) != 0 ? kMovesFirst : 0;
    if (swaps_last + moves_first == 0) return in(index);
    return made("Transpose", {in(index)}, {{std::string(kOfProduct), swaps_last + moves_first}});
  }

  ModelGraph& graph_;
  std::set<std::string>& names_;
  int64_t opset_;
  const Node* node_ = nullptr;
};

// Those of bodies too: a body sees the names around it.
void collect_names(const ModelGraph& graph, std::set<std::string>& names) {
  for (const auto& initializer : graph.initializers) names.insert(initializer.first);
  for (const ValueInfo& input : graph.inputs) names.insert(input.name);
  for (const Node& node : graph.nodes) {
    names.insert(node.inputs.begin(), node.inputs.end());
    names.insert(node.outputs.begin(), node.outputs.end());
    for (const auto& attribute : node.attributes) {
      const auto* body = std::get_if<Subgraph>(&attribute.second);
      if (body && body->graph) collect_names(*body->graph, names);
    }
  }
}

void spell_out(ModelGraph& graph, std::set<std::string>& names, int64_t opset) {
  for (Node& node : graph.nodes) {
    for (auto& attribute : node.attributes) {
      auto* body = std::get_if<Subgraph>(&attribute.second);
      if (!body || !body->graph) continue;
      ModelGraph copy = *body->graph;
      spell_out(copy, names, opset);
      body->graph = std::make_shared<const ModelGraph>(std::move(copy));
    }
  }
  Speller(graph, names, opset).run();
}

}  // namespace

void spell_out(Model& model) {
  std::set<std::string> names;
  collect_names(model.graph, names);
  const auto opset = model.opsets.find("");
  spell_out(model.graph, names, opset == model.opsets.end() ? 0 : opset->second);
}

}  // namespace qgen::onnx
