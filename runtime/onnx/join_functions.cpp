// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/onnx/join_functions.h"

#include <fmt/format.h>

#include <cmath>

#include "runtime/onnx/functions.h"

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

  // What a node has a sixth of.
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

}  // namespace

void join_functions(ModelGraph& graph) { Joiner(graph).run(); }

}  // namespace qgen::onnx
