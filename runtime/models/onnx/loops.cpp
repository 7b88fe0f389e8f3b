// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Loop and Scan whose number of iterations is known before the model runs: the nodes of the body, once for each
// iteration. The copies have names of their own, "Loop_3/0/Add_1", since two iterations share no value.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/models/onnx/fold.h"
#include "runtime/models/onnx/written_out.h"

namespace qgen::onnx {
namespace {

constexpr int64_t kMostIterations = 256;  // each is written out

using Names = std::map<std::string, std::string, std::less<>>;

// The names of values that the graph, or a branch in it, computes or gets. Its constants are the same in all copies.
void add_names(const ModelGraph& graph, const std::string& prefix, Names& names) {
  const auto add = [&](const std::string& name) {
    if (!name.empty()) names.emplace(name, prefix + name);
  };
  for (const ValueInfo& input : graph.inputs) add(input.name);
  for (const Node& node : graph.nodes) {
    std::ranges::for_each(node.outputs, add);
    for (const auto& [attribute, data] : node.attributes) {
      const auto* inner = std::get_if<Subgraph>(&data);
      if (inner && inner->graph) add_names(*inner->graph, prefix, names);
    }
  }
}

ModelGraph renamed(ModelGraph graph, const std::string& prefix, const Names& names) {
  const auto rename = [&](std::string& name) {
    const auto found = names.find(name);
    if (found != names.end()) name = found->second;
  };
  for (ValueInfo& input : graph.inputs) rename(input.name);
  for (ValueInfo& output : graph.outputs) rename(output.name);
  for (Node& node : graph.nodes) {
    node.name = prefix + node.name;
    std::ranges::for_each(node.inputs, rename);
    std::ranges::for_each(node.outputs, rename);
    for (auto& [attribute, data] : node.attributes) {
      auto* inner = std::get_if<Subgraph>(&data);
      if (inner && inner->graph)
        inner->graph = std::make_shared<const ModelGraph>(renamed(*inner->graph, prefix, names));
    }
  }
  return graph;
}

Expected<const ModelGraph*> body_of(const Node& node, size_t inputs, size_t least_outputs) {
  const AttributeData* data = node.find("body");
  const auto* body = data ? std::get_if<Subgraph>(data) : nullptr;
  if (!body || !body->graph) return refused("it has no body");
  if (body->graph->inputs.size() != inputs)
    return refused(fmt::format("its body has {} inputs, and it gives {}", body->graph->inputs.size(), inputs));
  if (body->graph->outputs.size() < least_outputs || body->graph->outputs.size() - 1 < node.outputs.size() - 1)
    return refused(fmt::format("its body has {} outputs, which are too few", body->graph->outputs.size()));
  return body->graph.get();
}

}  // namespace

Done Importer::compute_reads(const Node& node) {
  for (const std::string_view read : reads_of(node)) {
    const auto known = known_.find(read);
    if (known == known_.end() || !known->second.as<PendingPtr>()) continue;
    auto value = computed(known->second);
    if (!value) return value.error();
    known->second = *std::move(value);
  }
  return std::monostate{};
}

Expected<std::vector<Known>> Importer::iteration(const Node& node, const ModelGraph& body, int64_t index,
                                                 const std::vector<Known>& inputs) {
  if (index >= kMostIterations)
    return unsupported(fmt::format("it has more than {} iterations, and each is written out", kMostIterations));
  // Loops in loops multiply their nodes.
  if (Done spent = builder_.spend(64 * std::ssize(body.nodes)); !spent) return spent.error();
  const std::string prefix = fmt::format("{}/{}/", node.name, index);
  Names names;
  add_names(body, prefix, names);
  const ModelGraph& graph = iterations_.emplace_back(renamed(body, prefix, names));
  for (size_t i = 0; i < inputs.size(); ++i) known_.insert_or_assign(graph.inputs[i].name, inputs[i]);
  return results_of_graph(graph, {});
}

// The results of all iterations along a new axis.
Expected<Known> Importer::stacked(const Node& node, const std::vector<Known>& parts, int64_t axis) {
  if (parts.empty()) return unsupported("it has no iterations, and an output of all iterations");
  std::vector<Known> rows;
  for (const Known& part : parts) {
    auto row = written(node, "Unsqueeze", {part, constant_of(node.name + " axis", {1}, std::vector<int64_t>{axis})});
    if (!row) return row;
    rows.push_back(*std::move(row));
  }
  return rows.size() == 1 ? Expected<Known>(rows.front()) : computed(node, "Concat", rows, {{"axis", axis}});
}

Done Importer::tell_results(const Node& node, const std::vector<Known>& last,
                            const std::vector<std::vector<Known>>& all, const std::vector<int64_t>& axes) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty() || !order_.uses.contains(node.outputs[i])) continue;
    const size_t of_all = i - last.size();
    auto result = i < last.size() ? Expected<Known>(last[i]) : stacked(node, all[of_all], axes[of_all]);
    if (!result) return result.error();
    known_.insert_or_assign(node.outputs[i], *std::move(result));
  }
  return std::monostate{};
}

Done Importer::lower_loop(const Node& node) {
  if (Done computes = compute_reads(node); !computes) return computes;
  const auto arguments = arguments_of(node);
  if (!arguments) return arguments.error();
  const bool has_count = !arguments->empty() && (*arguments)[0],
             has_condition = arguments->size() > 1 && (*arguments)[1];
  const auto said = has_count ? list_at(node, "", *arguments, 0) : std::vector{kMostIterations + 1};
  if (!said || said->size() != 1)
    return unsupported("its number of iterations is computed, and must be known before the model runs",
                       "give the inputs that it depends on with --constant of qgen-model, or ImportOptions::constants");
  const TensorPtr condition = tensor_at(*arguments, 1);
  if (has_condition && (!condition || condition->size() != 1))
    return unsupported("its condition is computed, and must be known before the model runs");
  bool goes_on = !condition || condition->integer(0) != 0;
  std::vector<Known> state;
  for (size_t i = 2; i < arguments->size(); ++i) {
    if (!(*arguments)[i]) return refused(fmt::format("it has no input {}", i));
    state.push_back(*(*arguments)[i]);
  }
  const size_t carried = state.size();
  const auto body = body_of(node, carried + 2, carried + 1);
  if (!body) return body.error();
  const size_t scans = (*body)->outputs.size() - 1 - carried;
  if (node.outputs.size() > carried + scans) return refused("it has more outputs than its body");
  std::vector<std::vector<Known>> scanned(scans);
  const Known is_true{std::make_shared<const Tensor>(Tensor{"true", ElementType::boolean, {}, {std::byte{1}}}), {}};
  for (int64_t i = 0; goes_on && i < said->front(); ++i) {
    std::vector<Known> inputs{number(i), is_true};
    inputs.insert(inputs.end(), state.begin(), state.end());
    const auto results = iteration(node, **body, i, inputs);
    if (!results) return results.error();
    const TensorPtr next = onnx::constant_of(results->front());
    if (!next || next->size() != 1)
      return unsupported("the condition in its body is computed, and must be known before the model runs");
    goes_on = next->integer(0) != 0;
    state.assign(results->begin() + 1, results->begin() + 1 + static_cast<std::ptrdiff_t>(carried));
    for (size_t s = 0; s < scans; ++s) scanned[s].push_back((*results)[1 + carried + s]);
  }
  return tell_results(node, state, scanned, std::vector<int64_t>(scans, 0));
}

namespace {

// An element of an attribute with one number for each scanned value; left out, all are 0.
int64_t of_scanned(const Node& node, std::string_view attribute, size_t index) {
  const std::vector<int64_t> list = node.integers(attribute);
  return index < list.size() ? list[index] : 0;
}

}  // namespace

Expected<int64_t> Importer::scan_length(const Node& node, Arguments arguments, size_t states) {
  std::optional<Number> length;
  for (size_t i = states; i < arguments.size(); ++i) {
    if (!arguments[i]) return refused(fmt::format("it has no input {}", i));
    const int64_t said = of_scanned(node, "scan_input_axes", i - states);
    const auto axis = dimension_at(said, arguments[i]->shape.size());
    if (!axis) return no_axis(said, arguments[i]->shape.size());
    const Number side = arguments[i]->shape[*axis];
    if (length && !(*length == side)) return refused("its scanned inputs have different lengths");
    length = side;
  }
  if (!length) return refused("it scans no input");
  if (length->is_symbol) return unsupported("its number of iterations is not known", kHowToNumberSides);
  return length->value;
}

Done Importer::lower_scan(const Node& node) {
  if (builder_.opset < 9)
    return unsupported("it is a Scan of opset 8, which has batches; qgen reads Scan since opset 9");
  if (Done computes = compute_reads(node); !computes) return computes;
  const auto arguments = arguments_of(node);
  if (!arguments) return arguments.error();
  const int64_t scanned_inputs = node.integer("num_scan_inputs", 0);
  if (scanned_inputs < 1 || scanned_inputs > std::ssize(*arguments))
    return refused(fmt::format("its num_scan_inputs is {}, and it has {} inputs", scanned_inputs, arguments->size()));
  const size_t states = arguments->size() - static_cast<size_t>(scanned_inputs);
  const auto body = body_of(node, arguments->size(), states);
  if (!body) return body.error();
  if (node.outputs.size() > (*body)->outputs.size()) return refused("it has more outputs than its body");
  const auto length = scan_length(node, *arguments, states);
  if (!length) return length.error();
  std::vector<Known> state;
  for (size_t i = 0; i < states; ++i) {
    if (!(*arguments)[i]) return refused(fmt::format("it has no input {}", i));
    state.push_back(*(*arguments)[i]);
  }
  const size_t scans = (*body)->outputs.size() - states;
  std::vector<std::vector<Known>> scanned(scans);
  for (int64_t i = 0; i < *length; ++i) {
    std::vector<Known> inputs = state;
    for (size_t s = states; s < arguments->size(); ++s) {
      const int64_t place = of_scanned(node, "scan_input_directions", s - states) != 0 ? *length - 1 - i : i;
      auto part = computed(node, "Gather", {*(*arguments)[s], number(place)},
                           {{"axis", of_scanned(node, "scan_input_axes", s - states)}});
      if (!part) return part.error();
      inputs.push_back(*std::move(part));
    }
    const auto results = iteration(node, **body, i, inputs);
    if (!results) return results.error();
    state.assign(results->begin(), results->begin() + static_cast<std::ptrdiff_t>(states));
    for (size_t s = 0; s < scans; ++s) scanned[s].push_back((*results)[states + s]);
  }
  std::vector<int64_t> axes;
  for (size_t s = 0; s < scans; ++s) {
    axes.push_back(of_scanned(node, "scan_output_axes", s));
    if (of_scanned(node, "scan_output_directions", s) != 0) std::ranges::reverse(scanned[s]);
  }
  return tell_results(node, state, scanned, axes);
}

}  // namespace qgen::onnx
