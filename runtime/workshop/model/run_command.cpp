// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "common/bytes_text.h"
#include "common/count_text.h"
#include "common/files.h"
#include "common/stopwatch.h"
#include "common/time_text.h"
#include "runtime/engine/device/choose_device.h"
#include "runtime/engine/profiles/device_file.h"
#include "runtime/engine/tensor/npy.h"
#include "runtime/workshop/model/draw.h"
#include "runtime/workshop/model/layers.h"
#include "runtime/workshop/model/page.h"
#include "runtime/workshop/model/reasons.h"
#include "runtime/workshop/model/session.h"
#include "runtime/workshop/model/timing.h"
#include "runtime/workshop/runner/arguments.h"
#include "runtime/workshop/runner/trace.h"

namespace qgen::model {
namespace {

using graph::Prepared;
using graph::Schedule;

std::string memory_text(const Schedule& schedule, uint64_t constant_bytes) {
  const graph::MemoryPlan& memory = schedule.memory;
  std::string text = fmt::format("memory: {} for tensors; least possible {}, without sharing {}",
                                 bytes_text(memory.bytes), bytes_text(memory.lower_bound), bytes_text(memory.naive));
  if (memory.buffer_bytes > 0)
    text += fmt::format("; in {} buffers", (memory.bytes + memory.buffer_bytes - 1) / memory.buffer_bytes);
  if (constant_bytes > 0) text += fmt::format("; {} of weights", bytes_text(constant_bytes));
  return text + "\n";
}

std::string plan_text(const Schedule& schedule) {
  const graph::Decision& decision = schedule.decision;
  const bool is_best = decision.cost_us == decision.lower_bound_us;
  const size_t copies = decision.copies.size();
  return fmt::format("plan: {}, {} of them {}; {} us estimated, {}\n", count_text(schedule.steps.size(), "step"),
                     copies == 0 ? "none" : fmt::format("{}", copies), copies == 1 ? "a conversion" : "conversions",
                     us_text(decision.cost_us),
                     is_best ? "and no other choice of layouts is better"
                             : "and none takes less than " + us_text(decision.lower_bound_us));
}

// ---- --explain ------------------------------------------------------------------------------------------------------

Done print_explanation(const graph::Graph& graph, const Schedule& schedule, const std::string& layer,
                       const graph::Chooser& chooser) {
  const auto text = layer.empty() ? Expected<std::string>(table_of(layers_of(schedule, {}), 0))
                                  : reasons_of(graph, schedule, layer, chooser);
  if (!text) return text.error();
  fmt::print("{}", *text);
  return std::monostate{};
}

Expected<int> explain_on_file(const Program& program, const Arguments& arguments, const Loaded& loaded,
                              const Inputs& inputs) {
  const auto device = profiles::load_device(arguments.device_file);
  if (!device) return device.error();
  if (Done checked = check_vulkan_version(*device); !checked) return checked.error();
  const auto inferred = graph::infer(loaded.graph, program.operators, graph::shapes_of(inputs.tensors));
  if (!inferred) return inferred.error();
  const auto constants = graph::Constants::create(
      loaded.graph, *inferred, loaded.compiled ? loaded.compiled->weights : graph::Constants::SavedWeights());
  if (!constants) return constants.error();
  const graph::Chooser chooser{*device, program.library, program.operators};
  const auto schedule = graph::make_schedule(loaded.graph, *inferred, constants->weight_descs(), chooser);
  if (!schedule) return schedule.error();
  if (Done printed = print_explanation(loaded.graph, *schedule, *arguments.explained, chooser); !printed)
    return printed.error();
  fmt::print("{}{}", plan_text(*schedule), memory_text(*schedule, 0));
  return runner::kDone;
}

// ---- all of it ------------------------------------------------------------------------------------------------------

// The problems of its layers go to a file, if one is named.
Expected<Prepared*> prepare_and_trace(Session& session, const Tensors& inputs, const std::string& file) {
  if (file.empty()) return session.prepare(inputs);
  runner::Trace trace;
  session.context().on_call = [&](const Call& call) { trace.add(call); };
  const auto made = session.prepare(inputs);
  session.context().on_call = nullptr;
  if (!made) return made;
  const Done saved = trace.save(file);
  return saved ? made : saved.error();
}

Done plot(const std::string& dot, const std::string& file) {
  const auto drawn = drawing(dot, file);
  if (!drawn) return drawn.error();
  Outputs outputs;
  if (Done added = outputs.add(file, *drawn); !added) return added;
  return outputs.commit();
}

bool is_measuring(const Arguments& arguments) {
  return arguments.is_timed || !arguments.profile.empty() || !arguments.json.empty() || !arguments.html.empty();
}

// `run_ms`: how long a run took.
Done measure_and_report(Context& context, Prepared& prepared, const graph::Model& model, const Arguments& arguments,
                        double run_ms) {
  Times times;
  if (is_measuring(arguments)) {
    const bool has_profile = !arguments.profile.empty() || !arguments.json.empty() || !arguments.html.empty();
    auto measured = measured_times(context, prepared, {arguments.replays, has_profile, run_ms});
    if (!measured) return measured.error();
    times = *std::move(measured);
  }
  const std::vector<std::vector<double>>& samples = times.samples;
  const double headline_us = times.device_us;
  const std::vector<Layer> layers = layers_of(prepared.schedule(), samples);
  if (!samples.empty()) fmt::print("{}", table_of(layers, headline_us));
  Outputs outputs;
  const auto add = [&](const std::string& path, const std::string& text) {
    return path.empty() ? Done(std::monostate{}) : outputs.add(path, text);
  };
  if (Done added = add(arguments.profile, trace_of(layers, arguments.model, context.profile.name)); !added)
    return added;
  if (Done added = add(arguments.json, json_of(layers, samples.size())); !added) return added;
  if (!arguments.html.empty()) {
    const ProfilePage page{std::filesystem::path(arguments.model).filename(),
                           context.profile,
                           model.graph(),
                           prepared.schedule(),
                           layers,
                           headline_us,
                           samples.size(),
                           model.constant_bytes()};
    if (Done added = add(arguments.html, page_of(page)); !added) return added;
  }
  if (Done written = outputs.commit(); !written || arguments.plot.empty()) return written;
  return plot(dot_of(model.graph(), prepared.schedule(), layers), arguments.plot);
}

}  // namespace

Expected<int> run(const Program& program, const Arguments& arguments) {
  if (!arguments.plot.empty()) {
    if (Done can = check_drawing(arguments.plot); !can) return can.error();
  }
  const auto is_fixed = is_fixed_file(arguments.model);
  if (!is_fixed) return is_fixed.error();
  if (*is_fixed) return run_fixed(program, arguments);
  auto question = read_question(arguments);
  if (!question) return question.error();
  Inputs& inputs = question->inputs;
  const auto files = files_of_outputs(question->loaded.graph, "--output", arguments.outputs);
  if (!files) return files.error();
  if (!arguments.device_file.empty()) return explain_on_file(program, arguments, question->loaded, inputs);

  const double parse_ms = question->loaded.parse_ms, fuse_ms = question->loaded.fuse_ms;
  const auto session = Session::open(program, arguments, std::move(question->loaded), inputs.tensors);
  if (!session) return session.error();
  Context& context = (*session)->context();
  const auto made = prepare_and_trace(**session, inputs.tensors, arguments.trace);
  if (!made) return made.error();
  Prepared& prepared = **made;
  if (Done filled = make(inputs); !filled) return filled.error();  // the device has accepted the shapes
  const graph::Model& model = (*session)->model();
  Stopwatch watch;
  const auto outputs = prepared.run(inputs.tensors);
  if (!outputs) return outputs.error();
  const double first_run_ms = watch.lap_ms();
  if (Done written = write_outputs(*files, *outputs); !written) return written.error();

  if (!inputs.random_inputs.empty()) fmt::print("random: {}\n", fmt::join(inputs.random_inputs, ", "));
  for (const auto& [name, tensor] : *outputs) fmt::print("{}", tensor_text(name, tensor));
  const graph::Phases& phases = prepared.phases();
  fmt::print(
      "load: parse {:.1f} ms, fuse {:.1f}, plan {:.1f}, upload {:.1f}, pipelines {:.1f}, record {:.1f}; first run "
      "{:.1f}\n",
      parse_ms, fuse_ms, phases.plan, phases.upload, phases.pipelines, phases.record, first_run_ms);
  fmt::print("{}{}", plan_text(prepared.schedule()), memory_text(prepared.schedule(), model.constant_bytes()));
  if (arguments.explained) {
    const graph::Chooser chooser{context.profile, program.library, program.operators, context.times};
    if (Done printed = print_explanation(model.graph(), prepared.schedule(), *arguments.explained, chooser); !printed)
      return printed.error();
  }
  if (Done reported = measure_and_report(context, prepared, model, arguments, first_run_ms); !reported)
    return reported.error();
  return runner::kDone;
}

}  // namespace qgen::model
