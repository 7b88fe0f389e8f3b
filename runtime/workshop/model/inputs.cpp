// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/model/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "common/files.h"
#include "common/nearest.h"
#include "runtime/engine/tensor/npy.h"
#include "runtime/workshop/runner/command.h"
#include "runtime/workshop/runner/random_input.h"

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

template <typename Map, typename T>
Done add(Map& map, const std::string& name, T value) {
  if (map.try_emplace(name, std::move(value)).second) return std::monostate{};
  return refused(fmt::format("'{}' is given twice", name));
}

Done add_random_input(Inputs& inputs, const std::string& name, const runner::RandomInput& what) {
  if (Done added = add(inputs.tensors, name, what.description()); !added) return added;
  inputs.random_inputs.push_back(name);
  inputs.values.emplace(name, what);
  return std::monostate{};
}

// Integers of 16 bits, and unsigned ones, are i32 to the graph.
Expected<HostTensor> as_input(HostTensor tensor, const graph::Value& input) {
  if (input.dtype != DType::i32 || tensor.dtype == DType::i32 || is_real(tensor.dtype)) return tensor;
  HostTensor result = zeros(DType::i32, tensor.shape);
  for (int64_t i = 0; i < element_count(tensor.shape); ++i) {
    const double value = element(tensor, i);
    if (value > 2147483647.0)
      return refused(fmt::format("--input {}: {} is no integer of 32 bits with a sign", input.name, value));
    set_element(result, i, value);
  }
  return result;
}

}  // namespace

Expected<runner::Named> named(std::string_view flag, std::string_view typed, const std::vector<std::string>& known) {
  for (const std::string& name : known) {
    if (typed.starts_with(name + "=")) return runner::Named{name, std::string(typed.substr(name.size() + 1))};
  }
  const size_t equals = typed.find('=');
  const bool is_plain = equals == typed.npos || std::filesystem::exists(typed);
  if (is_plain && known.size() == 1) return runner::Named{known.front(), std::string(typed)};
  if (is_plain)
    return refused(
        fmt::format("{} takes {}, given '{}'", flag, flag == "--state" ? "input=output" : "name=file", typed),
        fmt::format("the model has {}", fmt::join(known, ", ")));
  return refused(fmt::format("{}: the model has no '{}'", flag, typed.substr(0, equals)),
                 hint_among(typed.substr(0, equals), std::vector<std::string_view>(known.begin(), known.end())));
}

Done make(Inputs& inputs) {
  for (const auto& [name, what] : inputs.values) {
    auto tensor = runner::random_input(what);
    if (!tensor) return tensor.error();
    inputs.tensors[name] = *std::move(tensor);
  }
  return std::monostate{};
}

Expected<Tensors> given_inputs(const graph::Graph& graph, const Arguments& arguments,
                               const std::set<std::string, std::less<>>& left_out) {
  Tensors tensors;
  auto names = input_names(graph);
  names.insert(names.end(), left_out.begin(), left_out.end());
  for (const std::string& typed : arguments.inputs) {
    const auto file = named("--input", typed, names);
    if (!file) return file.error();
    if (left_out.contains(file->name)) continue;
    auto tensor = load_npy(file->value);
    if (!tensor) return tensor.error();
    const auto value =
        std::ranges::find_if(graph.inputs, [&](graph::ValueId id) { return graph.values[id].name == file->name; });
    auto given = as_input(*std::move(tensor), graph.values[*value]);
    if (!given) return given.error();
    if (Done added = add(tensors, file->name, *std::move(given)); !added) return added.error();
  }
  return tensors;
}

Expected<Inputs> inputs_of(const graph::Graph& graph, const Arguments& arguments, const graph::InputShapes& shapes,
                           const std::set<std::string, std::less<>>& left_out) {
  Inputs inputs;
  auto names = input_names(graph);
  names.insert(names.end(), left_out.begin(), left_out.end());
  auto given = given_inputs(graph, arguments, left_out);
  if (!given) return given.error();
  inputs.tensors = *std::move(given);
  for (const std::string& typed : arguments.shapes) {
    const auto text = named("--shape", typed, names);
    if (!text) return text.error();
    if (left_out.contains(text->name)) continue;
    const auto what = runner::parse_random_input(text->value);
    if (!what) return what.error();
    if (Done added = add_random_input(inputs, text->name, *what); !added) return added.error();
  }
  for (const graph::ValueId id : graph.inputs) {
    const graph::Value& input = graph.values[id];
    if (inputs.tensors.contains(input.name)) continue;
    const auto known = shapes.find(input.name);
    Shape shape = known != shapes.end() && !arguments.batch ? known->second : input.shape;
    std::ranges::replace(shape, graph::kAnySide, arguments.batch.value_or(1));
    if (Done sane = check_shape(shape); !sane) return sane.error();
    if (Done added = add_random_input(inputs, input.name, {input.dtype, shape, {}}); !added) return added.error();
  }
  return inputs;
}

Expected<std::map<std::string, std::string>> files_of_outputs(const graph::Graph& graph, std::string_view flag,
                                                              const std::vector<std::string>& typed) {
  std::map<std::string, std::string> files;
  for (const std::string& text : typed) {
    const auto file = named(flag, text, output_names(graph));
    if (!file) return file.error();
    if (file->value.empty()) return refused(fmt::format("{} '{}' names no file", flag, text), file->name + "=file.npy");
    if (Done added = add(files, file->name, file->value); !added) return added.error();
  }
  return files;
}

Done write_outputs(const std::map<std::string, std::string>& files, const Tensors& tensors) {
  Outputs outputs;
  for (const auto& [name, file] : files) {
    if (Done added = add_npy(outputs, file, tensors.at(name)); !added) return added;
  }
  return outputs.commit();
}

std::string tensor_text(const std::string& name, const HostTensor& tensor) {
  std::string values;
  const int64_t count = element_count(tensor.shape);
  for (int64_t i = 0; i < std::min<int64_t>(count, 6); ++i) values += fmt::format(" {:.6g}", element(tensor, i));
  return fmt::format("{}: {} {}:{}{}\n", name, qgen::name(tensor.dtype), to_text(tensor.shape), values,
                     count > 6 ? " ..." : "");
}

}  // namespace qgen::model
