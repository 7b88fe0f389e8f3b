// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/model/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/files.h"
#include "common/number.h"
#include "common/stopwatch.h"
#include "runtime/engine/tensor/npy.h"
#include "runtime/models/graph/fixed_part.h"
#include "runtime/workshop/model/inputs.h"

namespace qgen::model {
namespace {

Expected<Loaded> load_compiled(const Arguments& arguments) {
  const std::filesystem::path file = arguments.model;
  Stopwatch watch;
  const auto bytes = read_file(file);
  if (!bytes) return bytes.error();
  if (graph::is_fixed(std::as_bytes(std::span(*bytes))))
    return refused(fmt::format("{} was compiled with --for or --cpp, so it has no graph", file.string()),
                   "`qgen-model run` takes it; for all else give the ONNX file");
  if (arguments.command == Command::generate)
    return refused(fmt::format("{} is a compiled model, and has no states", arguments.model), "give the ONNX file");
  auto compiled = graph::read_compiled(std::as_bytes(std::span(*bytes)));
  if (!compiled) return in_file(file.string(), compiled.error());
  Loaded loaded{.graph = compiled->graph, .compiled = *std::move(compiled)};
  loaded.parse_ms = watch.lap_ms();
  return loaded;
}

// --state, or by their names.
Expected<std::vector<onnx::StateNames>> states_named_by(const Arguments& arguments, const onnx::ModelGraph& graph) {
  if (arguments.generation.states.empty()) return onnx::states_of(graph);
  std::vector<std::string> inputs;
  for (const onnx::ValueInfo& input : graph.inputs) inputs.push_back(input.name);
  std::vector<onnx::StateNames> states;
  for (const std::string& typed : arguments.generation.states) {
    auto state = named("--state", typed, inputs);
    if (!state) return state.error();
    if (std::ranges::count(graph.outputs, state->value, &onnx::ValueInfo::name) == 0)
      return refused(fmt::format("--state {}: '{}' is no output of the model", typed, state->value));
    for (const onnx::StateNames& before : states) {
      const bool is_input = before.input == state->name;
      if (!is_input && before.output != state->value) continue;
      return refused(fmt::format("--state names the {} '{}' twice", is_input ? "input" : "output",
                                 is_input ? before.input : before.output));
    }
    states.push_back({state->name, state->value});
  }
  // A cache that is no state would be an input whose values nobody gives.
  for (const onnx::StateNames& other : onnx::states_of(graph)) {
    if (std::ranges::count(states, other.input, &onnx::StateNames::input) > 0) continue;
    return refused(fmt::format("--state names some caches, and not '{}'", other.input),
                   fmt::format("add --state {}={}, or leave out --state: then all inputs past_... are states",
                               other.input, other.output));
  }
  return states;
}

Expected<Loaded> load_onnx(const Arguments& arguments, bool fuses) {
  const std::filesystem::path file = arguments.model;
  Stopwatch watch;
  auto model = onnx::load_model(file);
  if (!model) return model.error();
  const double parse_ms = watch.lap_ms();
  const auto stated = stated_by(arguments, model->graph);
  if (!stated) return stated.error();
  onnx::ImportOptions options{.constants = stated->constants, .fuses = fuses};
  if (arguments.command == Command::generate) {
    auto states = states_named_by(arguments, model->graph);
    if (!states) return states.error();
    options.states = *std::move(states);
    options.positions_follow_caches = true;
  }
  auto imported = onnx::import_model(*model, options);
  if (!imported && !stated->may_be_constants.empty()) {
    onnx::ImportOptions known = options;
    for (const auto& [name, tensor] : stated->may_be_constants) known.constants.emplace(name, tensor);
    auto with_constants = onnx::import_model(*model, known);
    if (with_constants) imported = std::move(with_constants);
    options = std::move(known);
  }
  if (!imported) {
    options.shapes = stated->shapes;
    auto bound = onnx::import_model(*model, options);
    if (bound || stated->are_complete) imported = std::move(bound);
  }
  if (!imported) return in_file(file.string(), imported.error());
  Loaded loaded{.graph = std::move(imported->graph), .parse_ms = parse_ms, .fuse_ms = watch.lap_ms()};
  loaded.notes = onnx::texts_of(imported->notes);
  for (const onnx::ValueInfo& input : model->graph.inputs) loaded.left_out.insert(input.name);
  for (const graph::ValueId input : loaded.graph.inputs) loaded.left_out.erase(loaded.graph.values[input].name);
  return loaded;
}

// "16000", "1,2,3": of the shape that the model declares, if it declares one.
Expected<HostTensor> typed_constant(const onnx::ValueInfo& input, const std::string& text) {
  const auto refuse = [&](const std::string& fault) {
    return refused(fmt::format("--constant {}: {}", input.name, fault), "name=16000, or name=1,2,3");
  };
  std::vector<double> values;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const auto value = read_number<double>(std::string_view(text).substr(begin, end - begin));
    if (!value) return refuse(fmt::format("'{}' is no number", text.substr(begin, end - begin)));
    values.push_back(*value);
    begin = end + 1;
  }
  Shape shape{std::ssize(values)};
  if (input.shape && input.shape->empty()) shape.clear();
  else if (input.shape) {
    Shape declared;
    for (const onnx::InputSide& side : *input.shape) declared.push_back(side.symbol.empty() ? side.side : 1);
    if (declared.size() > 1 || element_count(declared) == std::ssize(values)) shape = declared;
  }
  if (element_count(shape) != std::ssize(values))
    return refuse(fmt::format("it has {} numbers, and the input is {}", values.size(), to_text(shape)));
  using enum onnx::ElementType;
  const DType otherwise = input.type == boolean       ? DType::u8
                          : input.type == u64         ? DType::u32
                          : onnx::is_real(input.type) ? DType::f32
                                                      : DType::i32;
  const DType dtype = onnx::dtype_of(input.type).value_or(otherwise);
  const auto range = range_of(dtype);
  HostTensor tensor = zeros(dtype, shape);
  for (size_t i = 0; i < values.size(); ++i) {
    const bool is_in_range =
        !range || (values[i] == std::floor(values[i]) && values[i] >= static_cast<double>(range->min) &&
                   values[i] <= static_cast<double>(range->max));
    if (!is_in_range) return refuse(fmt::format("{} is no {}", values[i], name(dtype)));
    set_element(tensor, static_cast<int64_t>(i), values[i]);
  }
  return tensor;
}

bool is_computed_with(onnx::ElementType type) {
  using enum onnx::ElementType;
  return type == f32 || type == f16 || type == i8 || type == u8 || type == i4 || type == u4;
}

}  // namespace

Expected<Stated> stated_by(const Arguments& arguments, const onnx::ModelGraph& graph) {
  Stated stated;
  std::vector<std::string> names;
  for (const onnx::ValueInfo& input : graph.inputs) names.push_back(input.name);
  const auto input_of = [&](const std::string& name) -> const onnx::ValueInfo& {
    return *std::ranges::find(graph.inputs, name, &onnx::ValueInfo::name);
  };
  for (const std::string& typed : arguments.constants) {
    const auto text = named("--constant", typed, names);
    if (!text) return text.error();
    auto tensor = typed_constant(input_of(text->name), text->value);
    if (!tensor) return tensor.error();
    stated.constants.insert_or_assign(text->name, *std::move(tensor));
  }
  for (const std::string& typed : arguments.inputs) {
    const auto file = named("--input", typed, names);
    if (!file) return file.error();
    auto tensor = load_npy(file->value);
    if (!tensor) return tensor.error();
    stated.shapes.insert_or_assign(file->name, tensor->shape);
    if (!is_computed_with(input_of(file->name).type))
      stated.may_be_constants.insert_or_assign(file->name, *std::move(tensor));
  }
  for (const std::string& typed : arguments.shapes) {
    const auto text = named("--shape", typed, names);
    if (!text) return text.error();
    const auto what = runner::parse_random_input(text->value);
    if (!what) return what.error();
    stated.shapes.insert_or_assign(text->name, what->description().shape);
  }
  for (const onnx::ValueInfo& input : graph.inputs) {
    if (stated.shapes.contains(input.name) || stated.constants.contains(input.name) || !input.shape) continue;
    Shape shape;
    for (const onnx::InputSide& side : *input.shape) {
      const bool is_known = side.symbol.empty();
      shape.push_back(is_known ? side.side : arguments.batch.value_or(1));
      stated.are_complete = stated.are_complete && (is_known || shape.size() == 1);
    }
    stated.shapes.emplace(input.name, std::move(shape));
  }
  return stated;
}

Expected<bool> is_fixed_file(const std::filesystem::path& file) {
  if (file.extension() != ".qgen") return false;
  const auto bytes = read_file(file);
  if (!bytes) return bytes.error();
  return graph::is_fixed(std::as_bytes(std::span(*bytes)));
}

Expected<Loaded> load(const Arguments& arguments, bool fuses) {
  const std::filesystem::path file = arguments.model;
  return file.extension() == ".qgen" ? load_compiled(arguments) : load_onnx(arguments, fuses);
}

graph::Model model_of(Context& context, OperatorEntries operators, Loaded loaded, const graph::ModelOptions& options) {
  if (loaded.compiled) return graph::Model::create(context, operators, *std::move(loaded.compiled), options);
  return graph::Model::create(context, operators, std::move(loaded.graph), options);
}

}  // namespace qgen::model
