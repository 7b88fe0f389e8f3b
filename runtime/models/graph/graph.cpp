// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "common/nearest.h"
#include "vocabulary/layouts.h"

namespace qgen::graph {

// ---- building -------------------------------------------------------------------------------------------------------

namespace {

ValueId add_value(Graph& graph, Value value) {
  graph.values.push_back(std::move(value));
  return static_cast<ValueId>(graph.values.size() - 1);
}

}  // namespace

std::optional<ValueId> value_of(std::span<const Port> ports, std::string_view operand) {
  const auto port = std::ranges::find(ports, operand, &Port::operand);
  return port == ports.end() ? std::nullopt : std::optional(port->value);
}

ValueId Graph::add_input(std::string name, DType dtype, Shape shape) {
  inputs.push_back(add_value(*this, {std::move(name), dtype, std::move(shape)}));
  return inputs.back();
}

ValueId Graph::add_constant(std::string name, HostTensor data) {
  return add_constant(std::move(name), std::make_shared<const HostTensor>(std::move(data)));
}

ValueId Graph::add_constant(std::string name, std::shared_ptr<const HostTensor> data) {
  return add_value(*this, {std::move(name), data->dtype, data->shape, true, data});
}

ValueId Graph::add(Node node, std::string_view output) { return add(std::move(node), {&output, 1}).front(); }

std::vector<ValueId> Graph::add(Node node, std::span<const std::string_view> outputs_of_node) {
  if (node.name.empty()) node.name = fmt::format("{}_{}", node.op, nodes.size());
  std::vector<ValueId> made;
  for (const std::string_view operand : outputs_of_node) {
    const std::string name = outputs_of_node.size() == 1 ? node.name : fmt::format("{}.{}", node.name, operand);
    made.push_back(add_value(*this, {.name = name}));
    node.outputs.push_back({std::string(operand), made.back()});
  }
  nodes.push_back(std::move(node));
  return made;
}

void Graph::add_output(std::string name, ValueId value) { outputs.push_back({std::move(name), value}); }

bool Graph::is_state_input(ValueId value) const { return std::ranges::count(states, value, &State::input) > 0; }
bool Graph::is_state_output(ValueId value) const { return std::ranges::count(states, value, &State::output) > 0; }
bool Graph::is_kept(ValueId value) const { return std::ranges::count(kept, value) > 0; }

std::string sides_text(const Shape& shape) {
  std::vector<std::string> sides;
  for (const int64_t side : shape) sides.push_back(side == kAnySide ? "any" : fmt::format("{}", side));
  return fmt::format("[{}]", fmt::join(sides, ", "));
}

// ---- inferring ------------------------------------------------------------------------------------------------------

Expected<Shape> reshaped(const Shape& input, std::span<const int64_t> shape) {
  Shape output(shape.begin(), shape.end());
  const auto refuse = [&] {
    return refused(
        fmt::format("{} cannot be reshaped to {}", to_text(input), to_text(Shape(shape.begin(), shape.end()))),
        "0 keeps a dimension, and one dimension may be -1: the rest");
  };
  std::optional<size_t> rest;
  for (size_t i = 0; i < output.size(); ++i) {
    if (output[i] == 0) {
      if (i >= input.size()) return refuse();
      output[i] = input[i];
    } else if (output[i] == -1) {
      if (rest) return refuse();
      rest = i;
      output[i] = 1;
    } else if (output[i] < 0) {
      return refuse();
    }
  }
  if (Done sound = check_shape(output); !sound) return sound.error();
  const int64_t all = element_count(input), known = element_count(output);
  if (rest) {
    if (known == 0 || all % known != 0) return refuse();
    output[*rest] = all / known;
  }
  if (element_count(output) != all) return refuse();
  return output;
}

namespace {

// One node after the other; each value is known before it is read.
class Inference {
 public:
  Inference(const Graph& graph, OperatorEntries operators)
      : graph_(graph), operators_(operators), is_known_(graph.values.size()) {
    result_.values.resize(graph.values.size());
  }

  Expected<Inferred> run(const InputShapes& shapes) {
    if (Done bound = bind_inputs(shapes); !bound) return bound.error();
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const Value& value = graph_.values[i];
      if (!value.is_constant) continue;
      if (Done sound = check_constant(value); !sound) return sound.error();
      if (Done known = know(static_cast<ValueId>(i), {value.dtype, value.shape}); !known) return known.error();
    }
    for (const Node& node : graph_.nodes) {
      const Done done = node.op == kReshape ? reshape(node) : call(node);
      if (!done) return about(node, done.error());
    }
    if (Done sound = check_outputs(); !sound) return sound.error();
    return std::move(result_);
  }

 private:
  static Error about(const Node& node, Error error) {
    error.message = fmt::format("node '{}': {}", node.name, error.message);
    return error;
  }

  Done know(ValueId id, TensorDesc desc) {
    if (id >= is_known_.size()) return refused(fmt::format("there is no value {}", id));
    if (is_known_[id]) return refused(fmt::format("value '{}' is written twice", graph_.values[id].name));
    is_known_[id] = true;
    result_.values[id] = std::move(desc);
    return std::monostate{};
  }

  Done check_known(ValueId id) const {
    if (id >= is_known_.size()) return refused(fmt::format("there is no value {}", id));
    if (is_known_[id]) return std::monostate{};
    return refused(fmt::format("'{}' is read before anything writes it", graph_.values[id].name));
  }

  static Done check_constant(const Value& value) {
    if (!value.data) return check_shape(value.shape);
    if (value.data->dtype != value.dtype || value.data->shape != value.shape)
      return refused(fmt::format("constant '{}' has data of another dtype or shape than its own", value.name));
    return check_host_tensor(*value.data, fmt::format("constant '{}'", value.name));
  }

  // A name that the graph does not have is reported first: it may be the misspelt name of an input.
  Done check_names(const InputShapes& shapes) const {
    std::set<std::string_view> names;
    for (const ValueId id : graph_.inputs) {
      if (id >= graph_.values.size()) return refused(fmt::format("there is no value {}", id));
      const std::string& name = graph_.values[id].name;
      if (!names.insert(name).second) return refused(fmt::format("two inputs are called '{}'", name));
    }
    for (const auto& [name, shape] : shapes) {
      if (!names.contains(name))
        return refused(fmt::format("the graph has no input '{}'", name),
                       hint_among(name, std::vector<std::string_view>(names.begin(), names.end())));
    }
    return std::monostate{};
  }

  Done bind_inputs(const InputShapes& shapes) {
    if (Done known = check_names(shapes); !known) return known;
    for (const ValueId id : graph_.inputs) {
      const Value& value = graph_.values[id];
      const auto given = shapes.find(value.name);
      auto shape = bound_shape(value, given == shapes.end() ? nullptr : &given->second);
      if (!shape) return shape.error();
      if (Done known = know(id, {value.dtype, *std::move(shape)}); !known) return known;
    }
    return std::monostate{};
  }

  static Expected<Shape> bound_shape(const Value& input, const Shape* given) {
    const auto refuse = [&](const std::string& fault) {
      return refused(fmt::format("input '{}' is {}, and {}", input.name, sides_text(input.shape), fault));
    };
    if (!given && std::ranges::count(input.shape, kAnySide) > 0) return refuse("no shape is given for it");
    const Shape& shape = given ? *given : input.shape;
    const bool fits =
        shape.size() == input.shape.size() &&
        std::ranges::equal(shape, input.shape, [](int64_t a, int64_t b) { return b == kAnySide || a == b; });
    if (!fits) return refuse(fmt::format("is given as {}", to_text(shape)));
    if (Done sound = check_shape(shape); !sound) return refuse(sound.error().message);
    return shape;
  }

  Done check_outputs() const {
    std::set<std::string_view> names;
    for (const Named& output : graph_.outputs) {
      if (!names.insert(output.name).second) return refused(fmt::format("two outputs are called '{}'", output.name));
      if (Done known = check_known(output.value); !known) return known;
    }
    return check_states();
  }

  Done check_states() const {
    for (const auto& [input, output] : graph_.states) {
      if (std::ranges::count(graph_.inputs, input) != 1 ||
          std::ranges::count(graph_.outputs, output, &Named::value) != 1)
        return refused("a state is an input and an output of the graph");
      const TensorDesc &before = result_.values[input], &after = result_.values[output];
      if (before.dtype == after.dtype && before.shape == after.shape) continue;
      return refused(fmt::format("state '{}' is {} {} before a run, and {} {} after it", graph_.values[input].name,
                                 name(before.dtype), to_text(before.shape), name(after.dtype), to_text(after.shape)));
    }
    return std::monostate{};
  }

  Done reshape(const Node& node) {
    result_.operations.push_back({});
    const auto said = node.attributes.find("shape");
    const auto* shape = said == node.attributes.end() ? nullptr : std::get_if<std::vector<int64_t>>(&said->second);
    if (!shape || node.inputs.size() != 1 || node.outputs.size() != 1 || node.attributes.size() != 1)
      return refused("a reshape has one input, one output and a list of integers, 'shape'");
    if (Done known = check_known(node.inputs.front().value); !known) return known;
    const TensorDesc& input = result_.values[node.inputs.front().value];
    auto output = reshaped(input.shape, *shape);
    if (!output) return output.error();
    return know(node.outputs.front().value, {input.dtype, *std::move(output)});
  }

  Done call(const Node& node) {
    const OperatorEntry* entry = find_operator(operators_, node.op);
    if (!entry) return unknown_operator(operators_, node.op);
    if (Done sound = check_ports(node, *entry); !sound) return sound;
    const auto attributes = complete_attributes(*entry, node.attributes);
    if (!attributes) return attributes.error();
    InferArguments arguments(*entry);
    set_attributes(arguments, *attributes);
    set_tensors(node, arguments);
    const auto inferred = checked(arguments, entry->infer);
    if (!inferred) return inferred.error();
    result_.operations.push_back({entry, std::move(arguments)});
    for (const Port& output : node.outputs) {
      const auto& desc = inferred->operands[find_tensor(*entry, output.operand)->operand];
      if (!desc) return refused(fmt::format("it has no output '{}' with these attributes", output.operand));
      if (Done known = know(output.value, {desc->dtype, desc->shape}); !known) return known;
    }
    return std::monostate{};
  }

  // Weights in the forms that their values allow. If the values are only on the device, the forms were found earlier.
  void set_tensors(const Node& node, InferArguments& arguments) const {
    for (const Port& input : node.inputs) {
      const TensorInfo& info = *find_tensor(*arguments.signature, input.operand);
      TensorDesc desc = result_.values[input.value];
      if (info.role == TensorInfo::Role::weight && desc.dtype == DType::i8) {
        const auto& data = graph_.values[input.value].data;
        desc.other_layouts = weight_layouts(!data || fits_four_bits(*data));
        desc.layout = first_layout(desc.other_layouts).value_or(Layout::strided);
      }
      arguments.set_tensor(info.operand, desc);
    }
  }

  Done check_ports(const Node& node, const OperatorEntry& entry) const {
    for (const Port& input : node.inputs) {
      if (Done known = check_known(input.value); !known) return known;
      const TensorInfo* info = find_tensor(entry, input.operand);
      const bool is_input = info && (info->role == TensorInfo::Role::input || info->role == TensorInfo::Role::weight);
      if (!is_input) return refused(fmt::format("'{}' has no input '{}'", entry.name, input.operand));
      if (info->role == TensorInfo::Role::weight && !graph_.values[input.value].is_constant)
        return refused(
            fmt::format("'{}' is a weight, but '{}' is not constant", input.operand, graph_.values[input.value].name));
    }
    for (const TensorInfo& info : outputs_of(entry)) {
      if (std::ranges::count(node.outputs, info.name, &Port::operand) != 1)
        return refused(fmt::format("output '{}' of '{}' must be named once", info.name, entry.name));
    }
    return std::monostate{};
  }

  const Graph& graph_;
  OperatorEntries operators_;
  std::vector<bool> is_known_;
  Inferred result_;
};

}  // namespace

InputShapes shapes_of(const Tensors& inputs) {
  InputShapes shapes;
  for (const auto& [name, tensor] : inputs) shapes.emplace(name, tensor.shape);
  return shapes;
}

Expected<Inferred> infer(const Graph& graph, OperatorEntries operators, const InputShapes& shapes) {
  return Inference(graph, operators).run(shapes);
}

}  // namespace qgen::graph
