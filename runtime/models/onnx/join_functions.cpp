// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/join_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/models/onnx/functions.h"

namespace qgen::onnx {
namespace {

constexpr float kSixth = 1.0f / 6;

bool is_sixth(float factor) { return std::abs(factor - kSixth) < 1e-6f; }
bool is_plain(const Node& node, std::string_view op, size_t inputs) {
  return node.op == op && node.domain.empty() && node.inputs.size() == inputs && node.outputs.size() == 1;
}

class Joiner {
 public:
  explicit Joiner(ModelGraph& graph) : graph_(graph) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const std::string& output : graph.nodes[i].outputs) {
        if (!output.empty()) writers_[output] = i;
      }
      for (const std::string& input : graph.nodes[i].inputs) ++reads_[input];
    }
    for (const ValueInfo& output : graph.outputs) ++reads_[output.name];
  }

  void run() {
    for (Node& node : graph_.nodes) join_sixth(node);
    for (Node& node : graph_.nodes) join_product(node);
  }

 private:
  // Of a value that only one node reads; nullptr: of another.
  const Node* writer_of(const std::string& value) const {
    const auto writer = writers_.find(value);
    return writer == writers_.end() || reads_.at(value) != 1 ? nullptr : &graph_.nodes[writer->second];
  }

  TensorPtr constant(const std::string& value) const {
    const auto initializer = graph_.initializers.find(value);
    if (initializer != graph_.initializers.end()) return initializer->second;
    const auto writer = writers_.find(value);
    if (writer == writers_.end() || graph_.nodes[writer->second].op != "Constant") return nullptr;
    const AttributeData* data = graph_.nodes[writer->second].find("value");
    const auto* tensor = data ? std::get_if<TensorPtr>(data) : nullptr;
    return tensor ? *tensor : nullptr;
  }
  std::optional<float> number(const std::string& value) const {
    const TensorPtr tensor = constant(value);
    return tensor && is_real(tensor->type) && tensor->size() == 1 ? std::optional(tensor->real(0)) : std::nullopt;
  }

  // The other input of a node that reads a number which `is` accepts.
  template <typename Is>
  const std::string* beside(const Node& node, Is is) const {
    for (size_t i = 0; i < 2; ++i) {
      const auto found = number(node.inputs[1 - i]);
      if (found && is(*found)) return &node.inputs[i];
    }
    return nullptr;
  }

  // The constant of which a node has a sixth.
  const std::string* sixth_of(const Node& node) const {
    if (is_plain(node, "Mul", 2)) return beside(node, is_sixth);
    const bool divides = is_plain(node, "Div", 2) && number(node.inputs[1]) == 6;
    return divides ? &node.inputs[0] : nullptr;
  }

  // x of relu6(x + 3), with the names of the nodes that are it.
  struct Shifted {
    std::string x, names;
  };
  std::optional<Shifted> shifted_relu6(const std::string& value) const {
    const Node* clip = writer_of(value);
    if (!clip || clip->op != "Clip" || clip->inputs.empty()) return std::nullopt;
    std::vector<TensorPtr> constants;
    for (const std::string& input : clip->inputs) constants.push_back(constant(input));
    const auto function = function_of(*clip, constants);
    if (!function || !*function || (*function)->word != "relu6") return std::nullopt;
    const Node* sum = writer_of(clip->inputs[0]);
    if (!sum || !is_plain(*sum, "Add", 2)) return std::nullopt;
    const std::string* x = beside(*sum, [](float number) { return number == 3; });
    return x ? std::optional(Shifted{*x, fmt::format("{} + {}", sum->name, clip->name)}) : std::nullopt;
  }

  // relu6(x + 3) / 6, and (x * relu6(x + 3)) / 6.
  void join_sixth(Node& node) {
    const std::string* whole = sixth_of(node);
    if (!whole) return;
    if (const auto shifted = shifted_relu6(*whole)) {
      become(node, "HardSigmoid", shifted->x, shifted->names);
      node.attributes = {{"alpha", kSixth}, {"beta", 0.5f}};
      return;
    }
    const Node* product = writer_of(*whole);
    if (!product || !is_plain(*product, "Mul", 2)) return;
    for (size_t i = 0; i < 2; ++i) {
      const auto shifted = shifted_relu6(product->inputs[i]);
      if (!shifted || shifted->x != product->inputs[1 - i]) continue;
      become(node, "HardSwish", shifted->x, fmt::format("{} + {}", shifted->names, product->name));
      return;
    }
  }

  void join_product(Node& node) {
    if (!is_plain(node, "Mul", 2)) return;
    for (size_t i = 0; i < 2; ++i) {
      const Node* factor = writer_of(node.inputs[i]);
      if (!factor || !factor->domain.empty() || factor->inputs.size() != 1 || factor->inputs[0] != node.inputs[1 - i])
        continue;
      const bool is_gate =
          factor->op == "HardSigmoid" && is_sixth(factor->real("alpha", 0.2f)) && factor->real("beta", 0.5f) == 0.5f;
      if (factor->op != "Sigmoid" && !is_gate) continue;
      become(node, is_gate ? "HardSwish" : "Silu", factor->inputs[0], factor->name);
      return;
    }
  }

  static void become(Node& node, std::string_view op, std::string x, const std::string& names) {
    node.name = fmt::format("{} + {}", names, node.name);
    node.op = op;
    node.inputs = {std::move(x)};
  }

  ModelGraph& graph_;
  std::map<std::string, size_t> writers_, reads_;
};

// (x - mean) / sqrt(mean of its squares + epsilon), with the factor and the summand after it; and the same for x
// itself.
class LayerJoiner {
 public:
  explicit LayerJoiner(ModelGraph& graph) : graph_(graph) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const std::string& output : graph.nodes[i].outputs) {
        if (!output.empty()) writers_[output] = i;
      }
      for (const std::string& input : graph.nodes[i].inputs) readers_[input].push_back(i);
    }
    for (const ValueInfo& output : graph.outputs) readers_[output.name].push_back(kOutput);
  }

  void run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) join(i);
  }

 private:
  static constexpr size_t kOutput = static_cast<size_t>(-1);

  const Node* writer_of(const std::string& value, std::string_view op, size_t inputs) const {
    const auto writer = writers_.find(value);
    if (writer == writers_.end()) return nullptr;
    const Node& node = graph_.nodes[writer->second];
    return node.op == op && node.domain.empty() && node.inputs.size() >= inputs ? &node : nullptr;
  }
  size_t reads(const std::string& value) const {
    const auto readers = readers_.find(value);
    return readers == readers_.end() ? 0 : readers->second.size();
  }
  TensorPtr constant(const std::string& value) const {
    const auto initializer = graph_.initializers.find(value);
    if (initializer != graph_.initializers.end()) return initializer->second;
    const Node* node = writer_of(value, "Constant", 0);
    const AttributeData* data = node ? node->find("value") : nullptr;
    const auto* tensor = data ? std::get_if<TensorPtr>(data) : nullptr;
    return tensor ? *tensor : nullptr;
  }
  std::optional<float> number(const std::string& value) const {
    const TensorPtr tensor = constant(value);
    return tensor && is_real(tensor->type) && tensor->size() == 1 ? std::optional(tensor->real(0)) : std::nullopt;
  }

  // The axes of a mean that keeps them; empty: it is none, or of all.
  std::vector<int64_t> axes_of(const Node* mean) const {
    if (!mean || mean->integer("keepdims", 1) == 0) return {};
    if (mean->find("axes")) return mean->integers("axes");
    const TensorPtr said = mean->inputs.size() > 1 ? constant(mean->inputs[1]) : nullptr;
    std::vector<int64_t> axes;
    for (int64_t i = 0; said && i < said->size(); ++i) axes.push_back(said->integer(i));
    return axes;
  }

  // x, if the value is x less its mean along the axes.
  const std::string* centred(const std::string& value, const std::vector<int64_t>& axes) const {
    const Node* difference = writer_of(value, "Sub", 2);
    const Node* mean = difference ? writer_of(difference->inputs[1], "ReduceMean", 1) : nullptr;
    if (!mean || mean->inputs[0] != difference->inputs[0] || axes_of(mean) != axes) return nullptr;
    return &difference->inputs[0];
  }

  // The value of which this is the square; nullptr: none.
  const std::string* squared_at(const std::string& value) const {
    const Node* power = writer_of(value, "Pow", 2);
    const Node* product = writer_of(value, "Mul", 2);
    const bool is_square =
        (power && number(power->inputs[1]) == 2.0f) || (product && product->inputs[0] == product->inputs[1]);
    return is_square ? &(power ? power : product)->inputs[0] : nullptr;
  }

  struct Layer {
    std::string x;
    std::vector<int64_t> axes;
    float epsilon;
  };
  // sqrt(mean of the squares of x + epsilon), which nothing else reads.
  struct Root {
    Layer layer;
    std::string squares;
  };
  std::optional<Root> root_at(const std::string& value) const {
    const Node* root = writer_of(value, "Sqrt", 1);
    const Node* sum = root ? writer_of(root->inputs[0], "Add", 2) : nullptr;
    if (!sum || reads(value) != 1 || reads(root->inputs[0]) != 1) return std::nullopt;
    const bool is_second = number(sum->inputs[1]).has_value();
    const auto epsilon = number(sum->inputs[is_second ? 1 : 0]);
    const std::string& variance = sum->inputs[is_second ? 0 : 1];
    const Node* mean = epsilon ? writer_of(variance, "ReduceMean", 1) : nullptr;
    const std::vector<int64_t> axes = axes_of(mean);
    if (axes.empty() || reads(variance) != 1 || reads(mean->inputs[0]) != 1) return std::nullopt;
    const std::string* squared = squared_at(mean->inputs[0]);
    return squared ? std::optional(Root{{*squared, axes, *epsilon}, mean->inputs[0]}) : std::nullopt;
  }

  std::optional<Layer> layer_at(const Node& quotient) const {
    if (quotient.op != "Div" || !quotient.domain.empty() || quotient.inputs.size() != 2) return std::nullopt;
    const auto root = root_at(quotient.inputs[1]);
    if (!root) return std::nullopt;
    const auto& [squared, axes, epsilon] = root->layer;
    const std::string *x = centred(quotient.inputs[0], axes), *same = centred(squared, axes);
    // Nothing else reads the values in between.
    const size_t of_square = writer_of(root->squares, "Pow", 2) ? 1 : 2;
    const bool is_alone = squared == quotient.inputs[0] ? reads(squared) == of_square + 1
                                                        : reads(squared) == of_square && reads(quotient.inputs[0]) == 1;
    if (!x || !same || *x != *same || !is_alone) return std::nullopt;
    return Layer{*x, axes, epsilon};
  }

  // x / root, or x * (1 / root).
  std::optional<Layer> rms_at(const Node& node) const {
    if (!node.domain.empty() || node.inputs.size() != 2) return std::nullopt;
    if (node.op == "Div") {
      const auto root = root_at(node.inputs[1]);
      return root && root->layer.x == node.inputs[0] ? std::optional(root->layer) : std::nullopt;
    }
    if (node.op != "Mul") return std::nullopt;
    for (size_t i = 0; i < 2; ++i) {
      const std::string& factor = node.inputs[i];
      const Node *reciprocal = writer_of(factor, "Reciprocal", 1), *quotient = writer_of(factor, "Div", 2);
      const bool is_of_one = quotient && number(quotient->inputs[0]) == 1.0f;
      if (reads(factor) != 1 || (!reciprocal && !is_of_one)) continue;
      const auto root = root_at(reciprocal ? reciprocal->inputs[0] : quotient->inputs[1]);
      if (root && root->layer.x == node.inputs[1 - i]) return root->layer;
    }
    return std::nullopt;
  }

  // The constant operand of a value's only reader, if that has this operator; else nullptr.
  Node* reader_with_constant(const std::string& value, std::string_view op, std::string& beside) {
    const auto readers = readers_.find(value);
    if (readers == readers_.end() || readers->second.size() != 1 || readers->second[0] == kOutput) return nullptr;
    Node& node = graph_.nodes[readers->second[0]];
    if (node.op != op || !node.domain.empty() || node.inputs.size() != 2) return nullptr;
    beside = node.inputs[node.inputs[0] == value ? 1 : 0];
    const TensorPtr tensor = constant(beside);
    return tensor && is_real(tensor->type) && tensor->size() > 1 ? &node : nullptr;
  }

  void join(size_t place) {
    auto layer = layer_at(graph_.nodes[place]);
    const bool is_centred = layer.has_value();
    if (!layer) layer = rms_at(graph_.nodes[place]);
    if (!layer) return;
    Node* last = &graph_.nodes[place];
    std::vector<std::string> inputs{layer->x};
    std::string name = last->name, factor, offset;
    if (Node* product = reader_with_constant(last->outputs[0], "Mul", factor)) {
      last = product;
      inputs.push_back(factor);
      name += " + " + last->name;
      Node* sum = is_centred ? reader_with_constant(last->outputs[0], "Add", offset) : nullptr;
      if (sum) {
        last = sum;
        inputs.push_back(offset);
        name += " + " + last->name;
      }
    }
    last->name = name;
    last->op = is_centred ? "LayerNormalization" : "RMSNormalization";
    last->inputs = inputs;
    last->attributes = {
        {"axis", *std::ranges::min_element(layer->axes)}, {"epsilon", layer->epsilon}, {"axes", layer->axes}};
  }

  ModelGraph& graph_;
  std::map<std::string, size_t> writers_;
  std::map<std::string, std::vector<size_t>> readers_;
};

}  // namespace

void join_functions(ModelGraph& graph) { Joiner(graph).run(); }
void join_layers(ModelGraph& graph) { LayerJoiner(graph).run(); }

}  // namespace qgen::onnx
