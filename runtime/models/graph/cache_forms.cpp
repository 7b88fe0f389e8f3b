// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/cache_forms.h"

#include <fmt/format.h>

#include <algorithm>

namespace qgen::graph {
namespace {

constexpr std::string_view kCaches[] = {"key_cache", "value_cache"};

bool is_cache_write(const Node& node) { return node.op == "cache_write" || node.op == "rotary_cache_write"; }

class CacheForms {
 public:
  CacheForms(Graph& graph, std::string_view form, std::string_view suffix)
      : graph_(graph), form_(form), suffix_(suffix) {}
  virtual ~CacheForms() = default;

  Done change() {
    const size_t states = graph_.states.size();
    size_t caches = 0;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      Node& node = graph_.nodes[i];
      if (!is_cache_write(node) || !writes_states(node)) continue;
      const Port of_attention = change_write(node);
      node.op += suffix_;
      if (Done changed = change_attention(node, of_attention); !changed) return changed;
      caches += 2;
    }
    if (caches == states) return std::monostate{};
    return refused("a state of the model is no cache of keys and values of a layer of attention",
                   fmt::format("only such caches can be {}", form_));
  }

 protected:
  // The node that writes both caches gets its new operands. Gives the new operand of the attention that reads them.
  virtual Port change_write(Node& node) = 0;

  Graph& graph_;

 private:
  bool writes_states(const Node& node) const {
    return std::ranges::all_of(kCaches, [&](std::string_view cache) {
      const ValueId value = *value_of(node.inputs, cache);
      return graph_.is_state_input(value) && graph_.values[value].shape.size() == 4;
    });
  }

  Done change_attention(const Node& write, const Port& operand) {
    const ValueId keys = *value_of(write.outputs, "keys"), values = *value_of(write.outputs, "values");
    for (Node& node : graph_.nodes) {
      const bool reads = std::ranges::any_of(
          node.inputs, [&](const Port& port) { return port.value == keys || port.value == values; });
      if (!reads) continue;
      if (node.op != "attention" || value_of(node.inputs, "key") != keys || value_of(node.inputs, "value") != values)
        return refused(
            fmt::format("node '{}' reads a cache, and is no attention with both keys and values of it", node.name),
            fmt::format("only caches that attention alone reads can be {}", form_));
      node.op += suffix_;
      node.inputs.push_back(operand);
    }
    return std::monostate{};
  }

  std::string_view form_, suffix_;
};

class Int8Caches final : public CacheForms {
 public:
  explicit Int8Caches(Graph& graph) : CacheForms(graph, "int8", "_q8rs") {}

 private:
  Port change_write(Node& node) override {
    const ValueId before = *value_of(node.inputs, "key_cache");
    Shape shape = graph_.values[before].shape;
    shape.back() = 2;
    for (const std::string_view cache : kCaches) graph_.values[*value_of(node.inputs, cache)].dtype = DType::i8;
    const ValueId input = graph_.add_input(node.name + ".scale_cache", DType::f32, std::move(shape));
    const auto output = static_cast<ValueId>(graph_.values.size());
    graph_.values.push_back({.name = node.name + ".scales"});
    graph_.add_output(node.name + ".scales", output);
    graph_.states.push_back({input, output});
    node.inputs.push_back({"scale_cache", input});
    node.outputs.push_back({"scales", output});
    return {"scales", output};
  }
};

class PagedCaches final : public CacheForms {
 public:
  explicit PagedCaches(Graph& graph)
      : CacheForms(graph, "paged", "_paged"),
        table_{"blocks", graph.add_input(std::string(kBlockTable), DType::i32, {kAnySide, kAnySide})} {}

 private:
  // The first side is no longer the batch, and the third one no longer the capacity.
  Port change_write(Node& node) override {
    for (const std::string_view cache : kCaches) {
      Shape& shape = graph_.values[*value_of(node.inputs, cache)].shape;
      shape[0] = shape[2] = kAnySide;
    }
    node.inputs.push_back(table_);
    return table_;
  }

  const Port table_;
};

}  // namespace

Done change_caches(Graph& graph, Cache form) {
  switch (form) {
    case Cache::of_model: return std::monostate{};
    case Cache::int8: return Int8Caches(graph).change();
    case Cache::paged: return PagedCaches(graph).change();
  }
  return std::monostate{};
}

}  // namespace qgen::graph
