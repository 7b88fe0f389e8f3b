// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/cache_forms.h"

#include <fmt/format.h>

#include <algorithm>

namespace qgen::graph {
namespace {

constexpr std::string_view kCaches[] = {"key_cache", "value_cache"};

bool is_cache_write(const Node& node) { return node.op == "cache_write" || node.op == "rotary_cache_write"; }

// As in messages.
std::string_view name_of(Cache form) {
  switch (form) {
    case Cache::of_model: return "of the model";
    case Cache::int8: return "int8";
    case Cache::paged: return "paged";
    case Cache::paged_int8: return "paged and int8";
  }
  return "";
}

class CacheForms {
 public:
  CacheForms(Graph& graph, Cache form)
      : graph_(graph),
        form_(form),
        suffix_(std::string(is_paged(form) ? "_paged" : "") + (is_int8(form) ? "_q8rs" : "")) {}

  Done change() {
    const size_t states = graph_.states.size();
    size_t caches = 0;
    if (is_paged(form_)) table_ = graph_.add_input(std::string(kBlockTable), DType::i32, {kAnySide, kAnySide});
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      Node& node = graph_.nodes[i];
      if (!is_cache_write(node) || !writes_states(node)) continue;
      const std::vector<Port> of_attention = change_write(node);
      node.op += suffix_;
      if (Done changed = change_attention(node, of_attention); !changed) return changed;
      caches += 2;
    }
    if (caches == states) return std::monostate{};
    return refused("a state of the model is no cache of keys and values of a layer of attention",
                   fmt::format("only such caches can be {}", name_of(form_)));
  }

 private:
  bool writes_states(const Node& node) const {
    return std::ranges::all_of(kCaches, [&](std::string_view cache) {
      const ValueId value = *value_of(node.inputs, cache);
      return graph_.is_state_input(value) && graph_.values[value].shape.size() == 4;
    });
  }

  // The node that writes both caches gets its new operands. Gives those of the attention that reads them.
  std::vector<Port> change_write(Node& node) {
    std::vector<Port> of_attention;
    if (is_paged(form_)) {
      // The first side is no longer the batch, and the third one no longer the capacity.
      for (const std::string_view cache : kCaches) {
        Shape& shape = graph_.values[*value_of(node.inputs, cache)].shape;
        shape[0] = shape[2] = kAnySide;
      }
      node.inputs.push_back({"blocks", *table_});
      of_attention.push_back({"blocks", *table_});
    }
    if (is_int8(form_)) of_attention.push_back({"scales", add_scales(node)});
    return of_attention;
  }

  // Gives the scales after the write.
  ValueId add_scales(Node& node) {
    Shape shape = graph_.values[*value_of(node.inputs, "key_cache")].shape;
    shape.back() = 2;
    for (const std::string_view cache : kCaches) graph_.values[*value_of(node.inputs, cache)].dtype = DType::i8;
    const ValueId before = graph_.add_input(node.name + ".scale_cache", DType::f32, std::move(shape));
    const auto after = static_cast<ValueId>(graph_.values.size());
    graph_.values.push_back({.name = node.name + ".scales"});
    graph_.add_output(node.name + ".scales", after);
    graph_.states.push_back({before, after});
    node.inputs.push_back({"scale_cache", before});
    node.outputs.push_back({"scales", after});
    return after;
  }

  Done change_attention(const Node& write, const std::vector<Port>& operands) {
    const ValueId keys = *value_of(write.outputs, "keys"), values = *value_of(write.outputs, "values");
    for (Node& node : graph_.nodes) {
      const bool reads = std::ranges::any_of(
          node.inputs, [&](const Port& port) { return port.value == keys || port.value == values; });
      if (!reads) continue;
      if (node.op != "attention" || value_of(node.inputs, "key") != keys || value_of(node.inputs, "value") != values)
        return refused(
            fmt::format("node '{}' reads a cache, and is no attention with both keys and values of it", node.name),
            fmt::format("only caches that attention alone reads can be {}", name_of(form_)));
      node.op += suffix_;
      node.inputs.insert(node.inputs.end(), operands.begin(), operands.end());
    }
    return std::monostate{};
  }

  Graph& graph_;
  Cache form_;
  std::string suffix_;
  std::optional<ValueId> table_;
};

}  // namespace

Done change_caches(Graph& graph, Cache form) {
  if (form == Cache::of_model) return std::monostate{};
  return CacheForms(graph, form).change();
}

}  // namespace qgen::graph
