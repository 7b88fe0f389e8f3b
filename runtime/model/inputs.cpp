// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/model/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "runtime/runner/command.h"
#include "runtime/runner/random_input.h"
#include "runtime/tensor/npy.h"

namespace qgen::model {
namespace {

std::vector<std::string> input_names(const graph::Graph& graph) {
  std::vector<std::string> names;
  for (const graph::ValueId input : graph.inputs) names.push_back(graph.values[input].name);
  return names;
}

std::vector<std::string> output_names(const graph::Graph& graph) {
  std::vector<std::string> names;
  for (const graph::Named& output : graph.outputs) names.push_back(output.name);
  return names;
}

// Names may hold '=': the longest known name before one counts.
Expected<runner::Named> named(std::string_view flag, std::string_view typed, const std::vector<std::string>& known) {
  for (const std::string& name : known) {
    if (typed.starts_with(name + "=")) return runner::Named{name, std::string(typed.substr(name.size() + 1))};
  }
  const size_t equals = typed.find('=');
  const bool is_plain = equals == typed.npos || std::filesystem::exists(typed);
  if (is_plain && known.size() == 1) return runner::Named{known.front(), std::string(typed)};
  if (is_plain)
    return refused(fmt::format("{} takes name=file, given '{}'", flag, typed),
                   fmt::format("the model has {}", fmt::join(known, ", ")));
  return refused(fmt::format("{}: the model has no '{}'", flag, typed.substr(0, equals)),
                 fmt::format("there are {}", fmt::join(known, ", ")));
}

template <typename Map, typename T>
Done add(Map& map, const std::string& name, T value) {
  if (map.try_emplace(name, std::move(value)).second) return std::monostate{};
  return refused(fmt::format("'{}' is given twice", name));
}

}  // namespace

Expected<Inputs> inputs_of(const graph::Graph& graph, const Arguments& arguments, const graph::InputShapes& shapes) {
  Inputs inputs;
  const auto names = input_names(graph);
  for (const std::string& typed : arguments.inputs) {
    const auto file = named("--input", typed, names);
    if (!file) return file.error();
    auto tensor = load_npy(file->value);
    if (!tensor) return tensor.error();
    if (Done added = add(inputs.tensors, file->name, *std::move(tensor)); !added) return added.error();
  }
  for (const std::string& typed : arguments.shapes) {
    const auto text = named("--shape", typed, names);
    if (!text) return text.error();
    auto tensor = runner::made_up_input(text->value);
    if (!tensor) return tensor.error();
    if (Done added = add(inputs.tensors, text->name, *std::move(tensor)); !added) return added.error();
    inputs.made_up.push_back(text->name);
  }
  for (const graph::ValueId id : graph.inputs) {
    const graph::Value& input = graph.values[id];
    if (inputs.tensors.contains(input.name)) continue;
    const auto known = shapes.find(input.name);
    Shape shape = known != shapes.end() && !arguments.batch ? known->second : input.shape;
    std::ranges::replace(shape, graph::kAnySide, arguments.batch.value_or(1));
    auto tensor = runner::made_up_input(input.dtype, shape);
    if (!tensor) return tensor.error();
    inputs.tensors.emplace(input.name, *std::move(tensor));
    inputs.made_up.push_back(input.name);
  }
  return inputs;
}

Expected<std::map<std::string, std::string>> files_of_outputs(const graph::Graph& graph, std::string_view flag,
                                                              const std::vector<std::string>& typed) {
  std::map<std::string, std::string> files;
  for (const std::string& text : typed) {
    const auto file = named(flag, text, output_names(graph));
    if (!file) return file.error();
    if (Done added = add(files, file->name, file->value); !added) return added.error();
  }
  return files;
}

}  // namespace qgen::model
