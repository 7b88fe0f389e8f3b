// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/prepared.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/stopwatch.h"

namespace qgen::graph {
namespace {

// The tensors of a schedule in their arena, and the operands of its steps.
class Binder {
 public:
  Binder(Context& context, const Graph& graph, const Schedule& schedule, Constants& constants,
         const PrepareOptions& options)
      : context_(context), graph_(graph), schedule_(schedule), constants_(constants), options_(options) {}

  Done place() {
    if (Done allocated = allocate(options_.arena); !allocated) return allocated;
    for (size_t i = 0; i < schedule_.tensors.size(); ++i) {
      auto tensor = placed(i);
      if (!tensor) return tensor.error();
      tensors_.push_back(*std::move(tensor));
    }
    for (const Step& step : schedule_.steps) {
      if (!step.scratch) continue;
      const auto bytes = static_cast<int64_t>(scratch_bytes(*step.choice));
      auto scratch = in_arena(schedule_.memory.offsets[*step.scratch], DType::u8, Shape{bytes});
      if (!scratch) return scratch.error();
      scratch_.emplace(*step.scratch, *std::move(scratch));
    }
    return std::monostate{};
  }

  Expected<DeviceTensor> placed(size_t tensor) {
    const PlacedValue& lies = schedule_.tensors[tensor];
    const TensorDesc& value = schedule_.values[lies.value];
    const uint32_t root = lies.alias_of == PlacedValue::kNone ? static_cast<uint32_t>(tensor) : lies.alias_of;
    for (size_t i = 0; i < schedule_.states.size(); ++i) {
      if (schedule_.states[i] == root) return view_of("state", options_.states, graph_.states[i].input, value);
    }
    for (size_t i = 0; i < schedule_.kept.size(); ++i) {
      if (schedule_.kept[i] == root) return view_of("kept input", options_.kept, graph_.kept[i], value);
    }
    return in_arena(schedule_.memory.offsets[tensor], value.dtype, value.shape, lies.layout);
  }

  // Uploads the constants that the step reads.
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

  std::vector<DeviceTensor> tensors() && { return std::move(tensors_); }

 private:
  // `lent`: the caller's arena, which is one buffer; null: one is allocated.
  Done allocate(const DeviceTensor* lent) {
    const MemoryPlan& plan = schedule_.memory;
    buffer_bytes_ = lent ? 0 : plan.buffer_bytes;
    if (lent) arena_.push_back(DeviceTensor(lent->shared_memory()));
    for (uint64_t begin = 0; !lent && begin < std::max<uint64_t>(plan.bytes, 1); begin += buffer_bytes_) {
      const uint64_t left = std::max<uint64_t>(plan.bytes, 1) - begin;
      const auto size = static_cast<int64_t>(buffer_bytes_ == 0 ? left : std::min(left, buffer_bytes_));
      auto buffer = context_.executor.allocate(DType::u8, {size}, Storage::buffer);
      if (!buffer) return buffer.error();
      arena_.push_back(*std::move(buffer));
      if (buffer_bytes_ == 0) break;
    }
    return std::monostate{};
  }

  Expected<DeviceTensor> in_arena(uint64_t offset, DType dtype, const Shape& shape, Layout layout = Layout::strided) {
    const uint64_t buffer = buffer_bytes_ == 0 ? 0 : offset / buffer_bytes_;
    return context_.executor.place(arena_[buffer], offset - buffer * buffer_bytes_, dtype, shape, layout);
  }

  Expected<Argument> argument_for(const Source& source) {
    switch (source.kind) {
      case Source::Kind::tensor: return Argument(&tensors_[source.index]);
      case Source::Kind::weight: return Argument(constants_.weight(source.index));
      case Source::Kind::constant: {
        const auto parameter = constants_.parameter(context_.executor, graph_, source.index);
        return parameter ? Expected<Argument>(Argument(*parameter)) : parameter.error();
      }
      case Source::Kind::none: break;
    }
    return Argument();
  }

  Expected<DeviceTensor> view_of(std::string_view what, const LentTensors& lent, ValueId input,
                                 const TensorDesc& value) {
    const std::string& name = graph_.values[input].name;
    const auto memory = lent.find(name);
    if (memory == lent.end()) return refused(fmt::format("{} '{}' has no memory", what, name));
    return context_.executor.view(*memory->second, value.dtype, value.shape);
  }

  Context& context_;
  const Graph& graph_;
  const Schedule& schedule_;
  Constants& constants_;
  const PrepareOptions& options_;
  std::vector<DeviceTensor> arena_;  // buffers
  uint64_t buffer_bytes_ = 0;        // of each but the last; 0: there is one
  std::vector<DeviceTensor> tensors_;
  std::map<uint32_t, DeviceTensor> scratch_;
};

Error about(const Step& step, Error error) {
  error.message = fmt::format("node '{}': {}", step.name, error.message);
  return error;
}

std::function<void(size_t, size_t)> progress_of(const PrepareOptions& options, std::string_view what) {
  if (!options.on_progress) return {};
  return [&options, what](size_t done, size_t total) { options.on_progress(what, done, total); };
}

}  // namespace

std::vector<uint32_t> owners_of(const Schedule& schedule) {
  std::vector<bool> is_written(schedule.tensors.size());
  for (const Step& step : schedule.steps) {
    for (size_t i = 0; i < step.operands.size(); ++i) {
      const bool is_tensor = step.operands[i].kind == Source::Kind::tensor;
      if (is_tensor && step.call.problem.op->operands[i].access != Access::read)
        is_written[step.operands[i].index] = true;
    }
  }
  std::vector<uint32_t> owners;
  for (uint32_t tensor = 0; tensor < schedule.tensors.size(); ++tensor) {
    uint32_t owner = tensor;
    while (!is_written[owner] && schedule.tensors[owner].alias_of != PlacedValue::kNone)
      owner = schedule.tensors[owner].alias_of;
    owners.push_back(owner);
  }
  return owners;
}

Expected<std::unique_ptr<Prepared>> Prepared::create(Context& context, OperatorEntries operators, const Graph& graph,
                                                     const Inferred& inferred, Constants& constants,
                                                     const PrepareOptions& options) {
  auto planned = plan(context, operators, graph, inferred, constants, options);
  if (!planned) return planned.error();
  return create(context, graph, *std::move(planned), constants, options);
}

Expected<Planned> Prepared::plan(Context& context, OperatorEntries operators, const Graph& graph,
                                 const Inferred& inferred, Constants& constants, const PrepareOptions& options) {
  Stopwatch watch;
  auto schedule = make_schedule(graph, inferred, constants.weight_descs(),
                                {context.profile, context.library, operators, context.times, options.own_kernels},
                                options.decision, progress_of(options, "plan"));
  if (!schedule) return schedule.error();
  return Planned{*std::move(schedule), watch.lap_ms()};
}

Expected<std::unique_ptr<Prepared>> Prepared::create(Context& context, const Graph& graph, Planned planned,
                                                     Constants& constants, const PrepareOptions& options) {
  Stopwatch watch;
  Phases phases;
  phases.plan = planned.plan_ms;
  const Schedule* schedule = &planned.schedule;
  Binder binder(context, graph, *schedule, constants, options);
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
  context.executor.make_pipelines(choices, progress_of(options, "pipelines"));
  phases.pipelines = watch.lap_ms();
  auto recording = context.executor.record(works);
  if (!recording) return recording.error();
  phases.record = watch.lap_ms();

  BoundGraph::Parts parts{.tensors = std::move(binder).tensors(), .owners = owners_of(*schedule)};
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (!graph.is_state_input(graph.inputs[i]) && !graph.is_kept(graph.inputs[i]))
      parts.inputs.push_back({graph.values[graph.inputs[i]].name, schedule->inputs[i]});
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    if (!graph.is_state_output(graph.outputs[i].value))
      parts.outputs.push_back({graph.outputs[i].name, schedule->outputs[i]});
  }
  return std::unique_ptr<Prepared>(
      new Prepared(context, std::move(planned.schedule), BoundGraph(std::move(parts), *std::move(recording)), phases));
}

const DeviceTensor* Prepared::input(std::string_view name) const { return bound_.input(name); }
const DeviceTensor* Prepared::output(std::string_view name) const { return bound_.output(name); }

Expected<Tensors> Prepared::run(const Tensors& inputs) { return bound_.run(context_.executor, inputs); }
Expected<RoundTrip*> Prepared::round_trip(std::span<const std::string_view> inputs,
                                          std::span<const std::string_view> outputs,
                                          std::optional<RoundTrip::Fed> fed) {
  if (trip_) return &*trip_;
  std::vector<const DeviceTensor*> written, read;
  for (const std::string_view name : inputs) {
    if (!input(name)) return refused(fmt::format("the model has no input '{}'", name));
    written.push_back(input(name));
  }
  for (const std::string_view name : outputs) {
    if (!output(name)) return refused(fmt::format("the model has no output '{}'", name));
    read.push_back(output(name));
  }
  auto trip = RoundTrip::create(bound_.recording(), written, read, fed);
  if (!trip) return trip.error();
  return &trip_.emplace(*std::move(trip));
}
Done Prepared::record(Commands& commands, const LentTensors& inputs, const LentTensors& outputs) {
  return bound_.record(context_.executor, commands, inputs, outputs);
}

Expected<Timing> Prepared::time() {
  return context_.executor.time(bound_.recording(), std::numeric_limits<uint32_t>::max());
}

Expected<std::vector<double>> Prepared::step_times_us() {
  const auto timing = context_.executor.time(bound_.recording(), 1);
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
