// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/graph/prepared.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/stopwatch.h"

namespace qgen::graph {
namespace {

// The tensors of a schedule in their arena, and the operands of its steps.
class Binder {
 public:
  Binder(Context& context, const Graph& graph, const Schedule& schedule, Constants& constants)
      : context_(context), graph_(graph), schedule_(schedule), constants_(constants) {}

  Done place() {
    const auto size = static_cast<int64_t>(std::max<uint64_t>(schedule_.memory.bytes, 1));
    auto arena = context_.executor.allocate(DType::u8, {size}, Storage::buffer);
    if (!arena) return arena.error();
    for (size_t i = 0; i < schedule_.tensors.size(); ++i) {
      auto tensor = placed(*arena, i);
      if (!tensor) return tensor.error();
      tensors_.push_back(*std::move(tensor));
    }
    for (const Step& step : schedule_.steps) {
      if (!step.scratch) continue;
      const auto bytes = static_cast<int64_t>(scratch_bytes(*step.choice));
      auto scratch = context_.executor.place(*arena, schedule_.memory.offsets[*step.scratch], DType::u8, Shape{bytes});
      if (!scratch) return scratch.error();
      scratch_.emplace(*step.scratch, *std::move(scratch));
    }
    return std::monostate{};
  }

  Expected<DeviceTensor> placed(const DeviceTensor& arena, size_t tensor) {
    const PlacedValue& lies = schedule_.tensors[tensor];
    const TensorDesc& value = schedule_.values[lies.value];
    return context_.executor.place(arena, schedule_.memory.offsets[tensor], value.dtype, value.shape, lies.layout);
  }

  // Uploads what the step reads of constants.
  Expected<Work> bind(const Step& step) {
    std::vector<Argument> arguments;
    for (const Source& source : step.operands) {
      const auto argument = argument_for(source);
      if (!argument) return argument.error();
      arguments.push_back(*argument);
    }
    ArgumentList list(std::move(arguments));
    if (Done added = add_derived(context_.executor, *step.entry, step.call, list); !added) return added.error();
    auto bound = qgen::bind(context_, step.call, *step.choice, list);
    if (!bound) return bound.error();
    const DeviceTensor* scratch = step.scratch ? &scratch_.at(*step.scratch) : nullptr;
    return Work{step.choice.get(), std::move(bound->operands), scratch};
  }

  std::vector<std::pair<std::string, DeviceTensor>> named(std::span<const uint32_t> tensors,
                                                          const std::function<std::string(size_t)>& name) const {
    std::vector<std::pair<std::string, DeviceTensor>> list;
    for (size_t i = 0; i < tensors.size(); ++i)
      list.emplace_back(name(i), DeviceTensor(tensors_[tensors[i]].shared_memory()));
    return list;
  }

 private:
  Expected<Argument> argument_for(const Source& source) {
    switch (source.kind) {
      case Source::Kind::tensor: return Argument(&tensors_[source.index]);
      case Source::Kind::weight: return Argument(&constants_.weight(source.index));
      case Source::Kind::constant: {
        const auto parameter = constants_.parameter(context_.executor, graph_, source.index);
        return parameter ? Expected<Argument>(Argument(*parameter)) : parameter.error();
      }
      case Source::Kind::none: break;
    }
    return Argument();
  }

  Context& context_;
  const Graph& graph_;
  const Schedule& schedule_;
  Constants& constants_;
  std::vector<DeviceTensor> tensors_;
  std::map<uint32_t, DeviceTensor> scratch_;
};

Error about(const Step& step, Error error) {
  error.message = fmt::format("node '{}': {}", step.name, error.message);
  return error;
}

}  // namespace

Expected<std::unique_ptr<Prepared>> Prepared::create(Context& context, OperatorEntries operators, const Graph& graph,
                                                     const Inferred& inferred, Constants& constants,
                                                     const PrepareOptions& options) {
  const auto progress_of = [&](std::string_view what) -> std::function<void(size_t, size_t)> {
    if (!options.on_progress) return {};
    return [&options, what](size_t done, size_t total) { options.on_progress(what, done, total); };
  };
  Stopwatch watch;
  Phases phases;
  auto schedule = make_schedule(graph, inferred, constants.weight_descs(),
                                {context.profile, context.library, operators, context.times, options.own_kernels},
                                options.decision, progress_of("plan"));
  if (!schedule) return schedule.error();
  phases.plan = watch.lap_ms();

  Binder binder(context, graph, *schedule, constants);
  if (Done placed = binder.place(); !placed) return placed.error();
  std::vector<Work> works;
  std::vector<Choice> choices;
  for (const Step& step : schedule->steps) {
    if (context.on_call) context.on_call(step.call);
    auto work = binder.bind(step);
    if (!work) return about(step, work.error());
    works.push_back(*std::move(work));
    choices.push_back(*step.choice);
  }
  phases.upload = watch.lap_ms();
  context.executor.make_pipelines(choices, progress_of("pipelines"));
  phases.pipelines = watch.lap_ms();
  auto recording = context.executor.record(works);
  if (!recording) return recording.error();
  phases.record = watch.lap_ms();

  std::unique_ptr<Prepared> prepared(new Prepared(context, *std::move(schedule), *std::move(recording)));
  prepared->phases_ = phases;
  prepared->inputs_ =
      binder.named(prepared->schedule_.inputs, [&](size_t i) { return graph.values[graph.inputs[i]].name; });
  prepared->outputs_ = binder.named(prepared->schedule_.outputs, [&](size_t i) { return graph.outputs[i].name; });
  return prepared;
}

Expected<Tensors> Prepared::run(const Tensors& inputs) {
  for (const auto& [name, tensor] : inputs) {
    if (std::ranges::find(inputs_, name, &std::pair<std::string, DeviceTensor>::first) == inputs_.end())
      return refused(fmt::format("the model has no input '{}'", name));
  }
  for (const auto& [name, tensor] : inputs_) {
    const auto given = inputs.find(name);
    if (given == inputs.end()) return refused(fmt::format("input '{}' is missing", name));
    if (Done written = context_.executor.write(tensor, given->second); !written) return written.error();
  }
  if (Done done = replay(); !done) return done.error();
  Tensors outputs;
  for (const auto& [name, tensor] : outputs_) {
    auto output = context_.executor.download(tensor);
    if (!output) return output.error();
    outputs.emplace(name, *std::move(output));
  }
  return outputs;
}

Expected<Timing> Prepared::time() { return context_.executor.time(recording_, std::numeric_limits<uint32_t>::max()); }

Expected<std::vector<double>> Prepared::step_times_us() {
  const auto timing = context_.executor.time(recording_, 1);
  if (!timing) return timing.error();
  std::vector<double> times;
  size_t launch = 0;
  for (const Step& step : schedule_.steps) {
    double us = 0;
    for (size_t i = 0; i < step.choice->launches.size(); ++i) us += timing->intervals_us[launch++];
    times.push_back(us);
  }
  return times;
}

}  // namespace qgen::graph
