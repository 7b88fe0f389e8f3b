// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Quantizes a floating-point model: runs it on samples, chooses ranges, writes the file, and prints the error that each
// rounding adds.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "common/files.h"
#include "common/progress.h"
#include "runtime/engine/tensor/npy.h"
#include "runtime/models/onnx/external_data.h"
#include "runtime/workshop/model/calibrate.h"
#include "runtime/workshop/model/commands.h"
#include "runtime/workshop/model/load.h"
#include "runtime/workshop/model/noise_plot.h"
#include "runtime/workshop/runner/arguments.h"
#include "runtime/workshop/runner/opened.h"

namespace qgen::model {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostBytesAtOnce = uint64_t{512} << 20;  // of activations that one run gives

std::vector<fs::path> sorted_entries(const fs::path& folder, bool are_folders) {
  std::vector<fs::path> entries;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (entry.is_directory() == are_folders && (are_folders || entry.path().extension() == ".npy"))
      entries.push_back(entry.path());
  }
  std::ranges::sort(entries);
  return entries;
}

// A file is a sample of the only input; a folder is a sample, with a file for each input.
Expected<std::vector<Tensors>> samples_in(const std::string& folder, const std::vector<std::string>& inputs) {
  std::error_code none;
  if (!fs::is_directory(folder, none)) return refused(fmt::format("--calibrate: {} is no folder", folder));
  std::vector<Tensors> samples;
  const auto add = [&](Tensors& sample, const std::string& name, const fs::path& file) -> Done {
    auto tensor = load_npy(file);
    if (!tensor) return tensor.error();
    sample.emplace(name, *std::move(tensor));
    return std::monostate{};
  };
  for (const fs::path& place : sorted_entries(folder, true)) {
    Tensors sample;
    for (const std::string& name : inputs) {
      if (Done added = add(sample, name, place / (name + ".npy")); !added) return added.error();
    }
    samples.push_back(std::move(sample));
  }
  const auto files = sorted_entries(folder, false);
  if (!files.empty() && inputs.size() != 1)
    return refused(
        fmt::format("--calibrate: the model has {} inputs, so a sample is a folder with a file for each, "
                    "such as {}/1/{}.npy",
                    inputs.size(), folder, inputs.empty() ? "x" : inputs.front()));
  for (const fs::path& file : files) {
    Tensors sample;
    if (Done added = add(sample, inputs.front(), file); !added) return added.error();
    samples.push_back(std::move(sample));
  }
  if (samples.empty()) return refused(fmt::format("--calibrate: {} has no samples", folder), "put .npy files there");
  return samples;
}

// Those that the graph has. An import leaves out inputs that nothing reads.
Tensors inputs_of(const graph::Graph& graph, const Tensors& given) {
  Tensors inputs;
  for (const graph::ValueId id : graph.inputs) {
    const auto tensor = given.find(graph.values[id].name);
    if (tensor != given.end()) inputs.insert(*tensor);
  }
  return inputs;
}

// Runs models whose files are in memory.
class Runner {
 public:
  Runner(const Program& program, Context& context, Tensors constants)
      : program_(program), context_(context), constants_(std::move(constants)) {}

  Expected<graph::Graph> graph_of(const std::string& file, const Tensors& inputs) const {
    const onnx::ImportOptions options{.constants = constants_, .shapes = graph::shapes_of(inputs)};
    auto imported = onnx::import_model(std::as_bytes(std::span(file)), options);
    if (!imported) return imported.error();
    return std::move(imported->graph);
  }

  Expected<graph::Model> model_of(const std::string& file, const Tensors& inputs) {
    auto graph = graph_of(file, inputs);
    if (!graph) return graph.error();
    return graph::Model::create(context_, program_.operators, *std::move(graph), {});
  }

  Expected<Tensors> run(const std::string& file, const Tensors& inputs) {
    auto model = model_of(file, inputs);
    return model ? model->run(inputs_of(model->graph(), inputs)) : model.error();
  }

 private:
  const Program& program_;
  Context& context_;
  Tensors constants_;
};

// Activations in runs whose results the host can hold.
Expected<std::vector<std::vector<std::string>>> groups_of(const onnx::FloatModel& model,
                                                          const std::vector<std::string>& activations,
                                                          OperatorEntries operators, const Runner& runner,
                                                          const Tensors& sample) {
  if (activations.empty()) return std::vector<std::vector<std::string>>();  // weights alone are quantized
  const auto all = runner.graph_of(model.with_outputs(activations), sample);
  if (!all) return all.error();
  const auto inferred = graph::infer(*all, operators, graph::shapes_of(inputs_of(*all, sample)));
  if (!inferred) return inferred.error();
  std::map<std::string, uint64_t, std::less<>> bytes;
  for (const graph::Named& output : all->outputs)
    bytes[output.name] = static_cast<uint64_t>(4 * element_count(inferred->values[output.value].shape));
  std::vector<std::vector<std::string>> groups;
  uint64_t together = kMostBytesAtOnce;
  for (const std::string& name : activations) {
    if (together + bytes[name] > kMostBytesAtOnce) {
      groups.emplace_back();
      together = 0;
    }
    groups.back().push_back(name);
    together += bytes[name];
  }
  return groups;
}

double sqnr_db_of(const Tensors& wanted, const Tensors& got) {
  double signal = 0, noise = 0;
  for (const auto& [name, tensor] : wanted) {
    const HostTensor& other = got.at(name);
    for (int64_t i = 0; i < element_count(tensor.shape); ++i) {
      const double a = element(tensor, i), b = element(other, i);
      signal += a * a;
      noise += (a - b) * (a - b);
    }
  }
  return onnx::sqnr_db(signal, noise);
}

std::vector<LayerNoise> noise_of(const onnx::QuantizedModel& quantized, const Calibrated& calibrated) {
  std::vector<LayerNoise> noise;
  for (const auto& layer : quantized.layers) {
    noise.push_back({layer.node, {}, layer.weight_sqnr_db});
    if (!layer.input.empty()) noise.back().input_db = calibrated.sqnr_db.at(layer.input);
  }
  return noise;
}

void print_report(const onnx::QuantizedModel& quantized, std::span<const LayerNoise> noise, double of_outputs) {
  size_t width = 5;
  for (const auto& layer : quantized.layers) width = std::max(width, std::min<size_t>(layer.node.size(), 48));
  fmt::print("signal to quantization noise, dB: below {:.0f} a layer may be worth keeping in floating point (--keep)\n",
             kLowNoiseRatioDb);
  fmt::print("{:{}}  {:8}{:>8}{:>8}\n", "layer", width, "op", "input", "weight");
  for (size_t i = 0; i < noise.size(); ++i) {
    const std::string input = noise[i].input_db ? fmt::format("{:.1f}", *noise[i].input_db) : "-";
    fmt::print("{:{}}  {:8}{:>8}{:8.1f}\n", noise[i].name, width, quantized.layers[i].op, input, noise[i].weight_db);
  }
  for (const std::string& left : quantized.left) fmt::print("not quantized: {}\n", left);
  fmt::print("outputs, all samples: {:.1f} dB\n", of_outputs);
}

}  // namespace

namespace {

// A model with its data in another file has them so afterwards too: in FILE.data.
Done write_model(const onnx::FloatModel& source, const std::string& model, const fs::path& to) {
  if (!source.has_external_data()) return write_file(to, model);
  const fs::path data = to.filename().string() + ".data";
  const auto split = onnx::with_external_data(model, data.string());
  if (!split) return split.error();
  if (Done written = write_file(to.parent_path() / data, split->data); !written) return written;
  return write_file(to, split->file);
}

Done check_plot(const std::string& file) {
  if (file.empty() || fs::path(file).extension() == ".svg") return std::monostate{};
  return refused(fmt::format("--plot: '{}' does not end in .svg", file));
}

// Runs the model on all samples, for one group of activations after the other, and shows the progress.
Expected<Calibrated> calibrated_on(const std::vector<Tensors>& samples, const onnx::FloatModel& source,
                                   const std::vector<std::vector<std::string>>& groups, Runner& runner,
                                   const CalibrationOptions& options) {
  Progress progress(::isatty(STDERR_FILENO) != 0);
  const size_t passes = options.method == CalibrationMethod::minmax ? 2 : 3;
  const size_t total = passes * groups.size() * samples.size();
  size_t done = 0;
  std::optional<graph::Model> model;  // of the group that is run
  std::vector<std::string> of_model;
  const RunSample run = [&](const std::vector<std::string>& names, size_t sample) -> Expected<Tensors> {
    if (!model || of_model != names) {
      auto made = runner.model_of(source.with_outputs(names), samples[sample]);
      if (!made) return made.error();
      model.emplace(*std::move(made));
      of_model = names;
    }
    auto values = model->run(inputs_of(model->graph(), samples[sample]));
    progress.show("calibrate", ++done, total);
    return values;
  };
  auto calibrated = calibrate(groups, samples.size(), run, options);
  progress.clear();
  return calibrated;
}

// The signal to noise of all outputs of a model, against those of another, for all samples.
Expected<double> outputs_sqnr_db(Runner& runner, const std::string& model, const std::string& quantized,
                                 const std::vector<Tensors>& samples) {
  Tensors wanted, got;
  for (size_t i = 0; i < samples.size(); ++i) {
    for (const auto& [text, into] : {std::pair(&model, &wanted), std::pair(&quantized, &got)}) {
      const auto outputs = runner.run(*text, samples[i]);
      if (!outputs) return outputs.error();
      for (const auto& [name, tensor] : *outputs) into->emplace(fmt::format("{} {}", i, name), tensor);
    }
  }
  return sqnr_db_of(wanted, got);
}

}  // namespace

Expected<int> quantize(const Program& program, const Arguments& arguments) {
  if (Done sound = check_plot(arguments.plot); !sound) return sound.error();
  auto source = onnx::FloatModel::load(arguments.model);
  if (!source) return source.error();
  auto described = onnx::load_model(arguments.model);
  if (!described) return described.error();
  const auto stated = stated_by(arguments, described->graph);
  if (!stated) return stated.error();
  std::vector<std::string> inputs;
  for (const onnx::ValueInfo& input : described->graph.inputs) {
    if (!stated->constants.contains(input.name)) inputs.push_back(input.name);
  }
  const auto samples = samples_in(arguments.calibration.folder, inputs);
  if (!samples) return samples.error();
  onnx::QuantizeOptions options{.layers_only = arguments.calibration.layers_only,
                                .weight_bits = arguments.calibration.weight_bits};
  options.kept.insert(arguments.calibration.kept.begin(), arguments.calibration.kept.end());
  const auto activations = source->activations(options);
  if (!activations) return activations.error();

  auto opened =
      runner::Opened::open(program.library, arguments.device,
                           {.is_untuned = arguments.is_untuned, .keeps_pipelines = true, .mask = arguments.mask});
  if (!opened) return opened.error();
  Runner runner(program, (*opened)->context(), stated->constants);
  const auto groups = groups_of(*source, *activations, program.operators, runner, samples->front());
  if (!groups) return groups.error();

  const auto calibrated = calibrated_on(*samples, *source, *groups, runner, arguments.calibration.method);
  if (!calibrated) return calibrated.error();
  const auto quantized = source->quantized(calibrated->ranges, options);
  if (!quantized) return quantized.error();
  if (Done written = write_model(*source, quantized->file, arguments.compiled); !written) return written.error();

  const std::string file = source->file();
  const auto of_outputs = outputs_sqnr_db(runner, file, quantized->file, *samples);
  if (!of_outputs) return of_outputs.error();
  const std::vector<LayerNoise> noise = noise_of(*quantized, *calibrated);
  print_report(*quantized, noise, *of_outputs);
  if (!arguments.plot.empty()) {
    if (Done written = write_file(arguments.plot, noise_plot(noise)); !written) return written.error();
  }
  fmt::print("{}: {} layers, {:.1f} MiB ({:.1f} before)\n", arguments.compiled, quantized->layers.size(),
             static_cast<double>(quantized->file.size()) / (1 << 20), static_cast<double>(file.size()) / (1 << 20));
  return runner::kDone;
}

}  // namespace qgen::model
