// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "common/files.h"
#include "operators.h"
#include "runtime/c/objects.h"
#include "runtime/models/graph/fixed_part.h"
#include "runtime/models/onnx/import.h"
#include "vocabulary/dtypes.h"

namespace qgen::c {
namespace {

void give_model(std::shared_ptr<OnDevice> on, std::unique_ptr<graph::Model> made, qgen_model** model) {
  auto whole = std::make_unique<qgen_model>(qgen_model{{std::move(on)}, std::move(made), {}, {}});
  const graph::Graph& graph = whole->model->graph();
  for (const graph::ValueId input : graph.inputs) {
    const graph::Value& value = graph.values[input];
    whole->inputs.push_back({value.name, std::string(name(value.dtype)), value.shape});
  }
  for (const graph::Named& output : graph.outputs) whole->outputs.push_back(output.name);
  *model = whole.release();
}

Done load_fixed(const qgen_device& device, std::span<const std::byte> file, qgen_model** model) {
  auto fixed = graph::FixedModel::open(*device.on->device, file, {});
  if (!fixed) return fixed.error();
  auto on = std::make_shared<OnDevice>(*device.on, *std::move(fixed));
  auto whole = std::make_unique<qgen_model>(qgen_model{{on}, nullptr, {}, {}});
  for (const auto& [input, tensor] : on->fixed()->inputs())
    whole->inputs.push_back({input, std::string(name(tensor.dtype)), tensor.shape});
  for (const auto& [output, tensor] : on->fixed()->outputs()) whole->outputs.push_back(output);
  *model = whole.release();
  return std::monostate{};
}

// The kernels in the file, where it was compiled for this device.
Expected<std::shared_ptr<OnDevice>> with_own_kernels(const OnDevice& on, const graph::Compiled& compiled) {
  auto executor = Executor::create(*on.device, compiled.own_kernels->library(), {});
  if (!executor) return executor.error();
  return std::make_shared<OnDevice>(on.device, on.profile, compiled.own_kernels, compiled.own_kernels->library(),
                                    *std::move(executor));
}

Done load_compiled(qgen_device& device, std::span<const std::byte> file, qgen_model** model) {
  auto compiled = graph::read_compiled(file);
  if (!compiled) return compiled.error();
  std::shared_ptr<OnDevice> on = device.on;
  if (graph::device_text(on->context.profile) == compiled->device &&
      !graph::has_quarantined(*compiled, on->context.profile, on->context.times)) {
    auto own = with_own_kernels(*on, *compiled);
    if (!own) return own.error();
    on = *std::move(own);
  }
  auto made = graph::Model::create(on->context, generated::operators::entries(), *std::move(compiled), {});
  give_model(on, std::make_unique<graph::Model>(std::move(made)), model);
  return std::monostate{};
}

Done load_imported(qgen_device& device, Expected<onnx::Imported> imported, qgen_model** model) {
  if (!imported) return imported.error();
  auto made = graph::Model::create(device.on->context, generated::operators::entries(), std::move(imported->graph), {});
  give_model(device.on, std::make_unique<graph::Model>(std::move(made)), model);
  return std::monostate{};
}

bool is_ours(std::span<const std::byte> begin) { return graph::is_compiled(begin) || graph::is_fixed(begin); }

Done load_ours(qgen_device& device, std::span<const std::byte> file, qgen_model** model) {
  return graph::is_fixed(file) ? load_fixed(device, file, model) : load_compiled(device, file, model);
}

// An ONNX file is left to the importer, which reads its external data too.
bool is_our_file(const std::string& path) {
  std::array<char, 8> begin{};
  std::ifstream(path, std::ios::binary).read(begin.data(), begin.size());
  return is_ours(std::as_bytes(std::span(begin)));
}

Done load_our_file(qgen_device& device, const std::string& path, qgen_model** model) {
  const auto file = read_file(path);
  if (!file) return file.error();
  const Done done = load_ours(device, std::as_bytes(std::span(*file)), model);
  return done ? done : in_file(path, done.error());
}

Done load(qgen_device& device, const std::string& path, qgen_model** model) {
  if (Done file = check_is_file(path); !file) return file;
  return is_our_file(path) ? load_our_file(device, path, model)
                           : load_imported(device, onnx::import_model(path), model);
}

struct Inputs {
  Tensors arrays;
  graph::LentTensors tensors;
  graph::InputShapes shapes;
};

Expected<Inputs> inputs_of(const qgen_argument* given, size_t count) {
  if (!given && count != 0) return is_null("inputs");
  Inputs inputs;
  for (size_t i = 0; i < count; ++i) {
    if (!given[i].name) return is_null("the name of an input");
    if (inputs.shapes.contains(given[i].name)) return given_twice(given[i].name);
    if (given[i].tensor) {
      const auto tensor = on_device(given[i].tensor);
      if (!tensor) return tensor.error();
      inputs.shapes.insert_or_assign(given[i].name, (*tensor)->shape());
      inputs.tensors.insert_or_assign(given[i].name, *tensor);
      continue;
    }
    auto array = host_tensor(given[i].array);
    if (!array) return refused(std::string("'") + given[i].name + "': " + array.error().message, array.error().hint);
    inputs.shapes.insert_or_assign(given[i].name, array->shape);
    inputs.arrays.insert_or_assign(given[i].name, *std::move(array));
  }
  return inputs;
}

}  // namespace

Expected<Tensors> arrays_of(const qgen_argument* given, size_t count) {
  auto inputs = inputs_of(given, count);
  if (!inputs) return inputs.error();
  if (!inputs->tensors.empty())
    return refused("'" + inputs->tensors.begin()->first + "' is a tensor", "give an array, or record the model");
  for (const auto& [name, array] : inputs->arrays) {
    if (Done whole = check_host_tensor(array, "input '" + name + "'"); !whole) return whole.error();
  }
  return std::move(inputs->arrays);
}

namespace {

Expected<graph::LentTensors> lent(const qgen_argument* given, size_t count) {
  auto inputs = inputs_of(given, count);
  if (!inputs) return inputs.error();
  if (!inputs->arrays.empty())
    return refused("'" + inputs->arrays.begin()->first + "' is an array", "record models on tensors, or run them");
  return std::move(inputs->tensors);
}

qgen_results results_of(qgen_model& model, Tensors outputs) {
  qgen_results results;
  for (const std::string& output : model.outputs) {
    auto found = outputs.extract(output);
    if (found) results.all.push_back({output, tensor_of(model.device.on, std::move(found.mapped()))});
  }
  return results;
}

std::string line_of(const graph::Step& step, double us) {
  return fmt::format("{}\t{}\t{}\n", step.name, step.choice->id, us);  // std::to_string() follows the locale
}

const qgen_model::Operand* input_of(const qgen_model* model, size_t index) {
  return model && index < model->inputs.size() ? &model->inputs[index] : nullptr;
}

// Of a model whose shapes and choices are those of its file.
Done check_shapes(const qgen_model& model, const graph::InputShapes& shapes) {
  for (const auto& [input, shape] : shapes) {
    const auto known = std::ranges::find(model.inputs, input, &qgen_model::Operand::name);
    if (known == model.inputs.end()) return refused("the model has no input '" + input + "'");
    if (known->shape != shape)
      return refused("'" + input + "' is " + to_text(shape) + ", but the model was compiled for " +
                     to_text(known->shape));
  }
  return std::monostate{};
}

// Where its layers can be asked for, and its shapes be changed.
Expected<graph::Prepared*> prepare_open(qgen_model* model, const qgen_argument* given, size_t count) {
  if (!model) return is_null("model");
  if (!model->model)
    return refused("a model that was compiled for named devices does not keep its layers", "load its ONNX file");
  const auto inputs = inputs_of(given, count);
  if (!inputs) return inputs.error();
  return model->model->prepare(inputs->shapes, nullptr);
}

Done prepare(qgen_model& model, const graph::InputShapes& shapes, const DeviceTensor* arena) {
  if (model.model) {
    const auto prepared = model.model->prepare(shapes, arena);
    return prepared ? Done(std::monostate{}) : Done(prepared.error());
  }
  if (Done same = check_shapes(model, shapes); !same) return same;
  return model.device.on->fixed()->prepare(arena);
}

Expected<uint64_t> arena_bytes(qgen_model& model, const graph::InputShapes& shapes) {
  if (model.model) return model.model->arena_bytes(shapes);
  if (Done same = check_shapes(model, shapes); !same) return same.error();
  return model.device.on->fixed()->arena_bytes();
}

}  // namespace
}  // namespace qgen::c

using namespace qgen;
using namespace qgen::c;

extern "C" {

qgen_code qgen_model_load(qgen_device* device, const char* path, qgen_model** model, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!device || !path || !model) return is_null(!device ? "device" : !path ? "path" : "model");
    return load(*device, path, model);
  });
}

qgen_code qgen_model_load_memory(qgen_device* device, const void* file, size_t bytes, qgen_model** model,
                                 qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!device || !file || !model) return is_null(!device ? "device" : !file ? "file" : "model");
    const std::span<const std::byte> all(static_cast<const std::byte*>(file), bytes);
    if (is_ours(all)) return load_ours(*device, all, model);
    return load_imported(*device, onnx::import_model(all), model);
  });
}

void qgen_model_free(qgen_model* model) { delete model; }

size_t qgen_model_input_count(const qgen_model* model) { return model ? model->inputs.size() : 0; }
const char* qgen_model_input_name(const qgen_model* model, size_t index) {
  const auto* input = input_of(model, index);
  return input ? input->name.c_str() : nullptr;
}
const char* qgen_model_input_dtype(const qgen_model* model, size_t index) {
  const auto* input = input_of(model, index);
  return input ? input->dtype.c_str() : nullptr;
}
size_t qgen_model_input_rank(const qgen_model* model, size_t index) {
  const auto* input = input_of(model, index);
  return input ? input->shape.size() : 0;
}
const int64_t* qgen_model_input_shape(const qgen_model* model, size_t index) {
  const auto* input = input_of(model, index);
  return input ? input->shape.data() : nullptr;
}
size_t qgen_model_output_count(const qgen_model* model) { return model ? model->outputs.size() : 0; }
const char* qgen_model_output_name(const qgen_model* model, size_t index) {
  return index < qgen_model_output_count(model) ? model->outputs[index].c_str() : nullptr;
}

qgen_code qgen_model_run(qgen_model* model, const qgen_argument* inputs, size_t count, qgen_results** results,
                         qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!model || !results) return is_null(model ? "results" : "model");
    const auto arrays = arrays_of(inputs, count);
    if (!arrays) return arrays.error();
    auto outputs = model->model ? model->model->run(*arrays) : model->device.on->fixed()->run(*arrays);
    if (!outputs) return outputs.error();
    return give(results, results_of(*model, *std::move(outputs)));
  });
}

qgen_code qgen_model_explain(qgen_model* model, const qgen_argument* inputs, size_t count, qgen_text** text,
                             qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!text) return is_null("text");
    const auto prepared = prepare_open(model, inputs, count);
    if (!prepared) return prepared.error();
    std::string lines;
    for (const graph::Step& step : (*prepared)->schedule().steps) lines += line_of(step, step.choice->time_us);
    return give(text, qgen_text{std::move(lines)});
  });
}

qgen_code qgen_model_profile(qgen_model* model, const qgen_argument* inputs, size_t count, qgen_text** text,
                             qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!text) return is_null("text");
    const auto prepared = prepare_open(model, inputs, count);
    if (!prepared) return prepared.error();
    const auto times = (*prepared)->step_times_us();
    if (!times) return times.error();
    const auto& steps = (*prepared)->schedule().steps;
    std::string lines;
    for (size_t i = 0; i < steps.size(); ++i) lines += line_of(steps[i], (*times)[i]);
    return give(text, qgen_text{std::move(lines)});
  });
}

qgen_code qgen_model_save(qgen_model* model, const char* path, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!model || !path) return is_null(model ? "path" : "model");
    if (!model->model) return refused("the model is saved already: it was compiled for named devices");
    const auto compiled = model->model->compiled();
    if (!compiled) return compiled.error();
    const auto bytes = graph::write_compiled(*compiled);
    return write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  });
}

qgen_device* qgen_model_device(qgen_model* model) { return model ? &model->device : nullptr; }

qgen_code qgen_model_arena_bytes(qgen_model* model, const qgen_argument* inputs, size_t count, uint64_t* bytes,
                                 qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!model || !bytes) return is_null(model ? "bytes" : "model");
    const auto given = inputs_of(inputs, count);
    if (!given) return given.error();
    const auto needed = arena_bytes(*model, given->shapes);
    if (!needed) return needed.error();
    *bytes = *needed;
    return std::monostate{};
  });
}

qgen_code qgen_model_prepare(qgen_model* model, const qgen_argument* inputs, size_t count, const qgen_tensor* arena,
                             qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!model) return is_null("model");
    const auto lies = arena ? on_device(arena) : Expected<const DeviceTensor*>(nullptr);
    if (!lies) return lies.error();
    const auto given = inputs_of(inputs, count);
    if (!given) return given.error();
    return prepare(*model, given->shapes, *lies);
  });
}

qgen_code qgen_model_record(qgen_model* model, qgen_frame* frame, const qgen_argument* inputs, size_t input_count,
                            const qgen_argument* outputs, size_t output_count, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!model || !frame) return is_null(model ? "frame" : "model");
    const auto from = lent(inputs, input_count);
    if (!from) return from.error();
    const auto to = lent(outputs, output_count);
    if (!to) return to.error();
    if (model->model) return model->model->record(frame->commands, *from, *to);
    return model->device.on->fixed()->record(frame->commands, *from, *to);
  });
}

}  // extern "C"
