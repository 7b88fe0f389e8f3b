// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/int8_caches.h"

#include <fmt/format.h>

#include <algorithm>

namespace qgen::graph {
namespace {

bool is_cache_write(const Node& node) { return node.op == "cache_write" || node.op == "rotary_cache_write"; }

class Int8Caches {
 public:
  explicit Int8Caches(Graph& graph) : graph_(graph) {}

  Done run() {
    size_t caches = 0;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!is_cache_write(graph_.nodes[i]) || !writes_states(graph_.nodes[i])) continue;
      const ValueId keys = *value_of(graph_.nodes[i].outputs, "keys");
      const ValueId values = *value_of(graph_.nodes[i].outputs, "values");
      const ValueId scales = quantize(graph_.nodes[i]);
      if (Done read = read_codes(keys, values, scales); !read) return read;
      caches += 3;
    }
    if (caches == graph_.states.size()) return std::monostate{};
    return refused("a state of the model is no cache of keys and values of a layer of attention",
                   "only such caches can be int8");
  }

 private:
  bool writes_states(const Node& node) const {
    return graph_.is_state_input(*value_of(node.inputs, "key_cache")) &&
           graph_.is_state_input(*value_of(node.inputs, "value_cache"));
  }

  // Gives the scales after the node.
  ValueId quantize(Node& node) {
    const ValueId before = *value_of(node.inputs, "key_cache");
    Shape shape = graph_.values[before].shape;
    shape.back() = 2;
    graph_.values[before].dtype = DType::i8;
    graph_.values[*value_of(node.inputs, "value_cache")].dtype = DType::i8;
    const ValueId input = graph_.add_input(node.name + ".scale_cache", DType::f32, std::move(shape));
    const auto output = static_cast<ValueId>(graph_.values.size());
    graph_.values.push_back({.name = node.name + ".scales"});
    graph_.add_output(node.name + ".scales", output);
    graph_.states.push_back({input, output});
    node.op += "_q8rs";
    node.inputs.push_back({"scale_cache", input});
    node.outputs.push_back({"scales", output});
    return output;
  }

  // The attention that reads keys and values gets their scales.
  Done read_codes(ValueId keys, ValueId values, ValueId scales) {
    for (Node& node : graph_.nodes) {
      const bool reads = std::ranges::any_of(
          node.inputs, [&](const Port& port) { return port.value == keys || port.value == values; });
      if (!reads) continue;
      if (node.op != "attention" || value_of(node.inputs, "key") != keys || value_of(node.inputs, "value") != values)
        return refused(
            fmt::format("node '{}' reads a cache, and is no attention with both keys and values of it", node.name),
            "only caches that attention alone reads can be int8");
      node.op = "attention_q8rs";
      node.inputs.push_back({"scales", scales});
    }
    return std::monostate{};
  }

  Graph& graph_;
};

}  // namespace

Done make_caches_int8(Graph& graph) { return Int8Caches(graph).run(); }

}  // namespace qgen::graph
