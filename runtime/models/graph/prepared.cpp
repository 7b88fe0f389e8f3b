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
  Binder(Context& context, const Graph& graph, const Schedule& schedule, Constants& constants)
      : context_(context), graph_(graph), schedule_(schedule), constants_(constants) {}

  // `lent`: the caller's arena; null: one is allocated.
  Done place(const DeviceTensor* lent) {
    const auto size = static_cast<int64_t>(std::max<uint64_t>(schedule_.memory.bytes, 1));
    auto arena = lent ? Expected<DeviceTensor>(DeviceTensor(lent->shared_memory()))
                      : context_.executor.allocate(DType::u8, {size}, Storage::buffer);
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

  std::vector<std::pair<std::string, DeviceTensor>> named(std::span<const uint32_t> tensors,
                                                          const std::function<std::string(size_t)>& name) const {
    std::vector<std::pair<std::string, DeviceTensor>> list;
    for (size_t i = 0; i < tensors.size(); ++i)
      list.emplace_back(name(i), DeviceTensor(tensors_[tensors[i]].shared_memory()));
    return list;
  }

  std::vector<DeviceTensor> tensors() && { return std::move(tensors_); }

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

// For each tensor of a schedule, the tensor of which it is a view: the output of a reshape has the memory of its input.
// A tensor that a step writes is its own, even if it replaces another one in memory.
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

Error about(const Step& step, Error error) {
  error.message = fmt::format("node '{}': {}", step.name, error.message);
  return error;
}

}  // namespace

namespace {

std::function<void(size_t, size_t)> progress_of(const PrepareOptions& options, std::string_view what) {
  if (!options.on_progress) return {};
  return [&options, what](size_t done, size_t total) { options.on_progress(what, done, total); };
}

}  // namespace

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
  Binder binder(context, graph, *schedule, constants);
  if (Done placed = binder.place(options.arena); !placed) return placed.error();
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

  std::unique_ptr<Prepared> prepared(new Prepared(context, std::move(planned.schedule), *std::move(recording)));
  prepared->phases_ = phases;
  prepared->inputs_ =
      binder.named(prepared->schedule_.inputs, [&](size_t i) { return graph.values[graph.inputs[i]].name; });
  prepared->outputs_ = binder.named(prepared->schedule_.outputs, [&](size_t i) { return graph.outputs[i].name; });
  prepared->tensors_ = std::move(binder).tensors();
  prepared->owners_ = owners_of(prepared->schedule_);
  for (uint32_t tensor = 0; tensor < prepared->owners_.size(); ++tensor)
    prepared->views_[prepared->owners_[tensor]].push_back(tensor);
  return prepared;
}

// ---- in command buffers of the caller -------------------------------------------------------------------------------

namespace {

using NamedTensors = std::vector<std::pair<std::string, DeviceTensor>>;

const DeviceTensor* find_named(const NamedTensors& tensors, std::string_view name) {
  const auto found = std::ranges::find(tensors, name, &NamedTensors::value_type::first);
  return found == tensors.end() ? nullptr : &found->second;
}

// Those that are given, as places in `tensors`. Errors: a name that is not there, null.
Expected<std::vector<std::pair<size_t, const DeviceTensor*>>> places_of(const LentTensors& given,
                                                                        const NamedTensors& tensors,
                                                                        std::string_view kind) {
  std::vector<std::pair<size_t, const DeviceTensor*>> places;
  for (const auto& [name, tensor] : given) {
    const auto found = std::ranges::find(tensors, name, &NamedTensors::value_type::first);
    if (found == tensors.end()) return refused(fmt::format("the model has no {} '{}'", kind, name));
    if (!tensor) return refused(fmt::format("{} '{}' is null", kind, name));
    places.emplace_back(static_cast<size_t>(found - tensors.begin()), tensor);
  }
  return places;
}

}  // namespace

const DeviceTensor* Prepared::input(std::string_view name) const { return find_named(inputs_, name); }
const DeviceTensor* Prepared::output(std::string_view name) const { return find_named(outputs_, name); }

// Every view of the tensor's memory is one of the given memory then.
Done Prepared::rebind(std::string_view name, uint32_t tensor, const DeviceTensor& to, std::vector<DeviceTensor>& views,
                      std::vector<Rebinding>& rebindings) const {
  const DeviceTensor& own = tensors_[tensor];
  if (to.dtype() != own.dtype() || to.shape() != own.shape() || to.storage() != own.storage() ||
      to.layout() != own.layout()) {
    return refused(fmt::format("'{}' is {} {} in a {}, and was given {} {} in a {}", name, qgen::name(own.dtype()),
                               to_text(own.shape()), qgen::name(own.storage()), qgen::name(to.dtype()),
                               to_text(to.shape()), qgen::name(to.storage())));
  }
  for (const uint32_t other : views_.at(owners_[tensor])) {
    const DeviceTensor& view = tensors_[other];
    auto seen = context_.executor.view(to, view.dtype(), view.shape(), view.layout());
    if (!seen) return seen.error();
    views.push_back(*std::move(seen));
    rebindings.push_back({&view, &views.back()});
  }
  return std::monostate{};
}

Done Prepared::record(Commands& commands, const LentTensors& inputs, const LentTensors& outputs) {
  const auto given_inputs = places_of(inputs, inputs_, "input");
  if (!given_inputs) return given_inputs.error();
  const auto given_outputs = places_of(outputs, outputs_, "output");
  if (!given_outputs) return given_outputs.error();
  std::vector<DeviceTensor> views;
  size_t view_count = 0;
  for (const auto& [place, tensor] : *given_inputs) view_count += views_.at(owners_[schedule_.inputs[place]]).size();
  for (const auto& [place, tensor] : *given_outputs) view_count += views_.at(owners_[schedule_.outputs[place]]).size();
  views.reserve(view_count);  // rebindings point into it
  std::vector<Rebinding> rebindings;
  for (const auto& [place, tensor] : *given_inputs) {
    const Done bound = rebind(inputs_[place].first, schedule_.inputs[place], *tensor, views, rebindings);
    if (!bound) return bound;
  }
  for (const auto& [place, tensor] : *given_outputs) {
    const uint32_t output = schedule_.outputs[place];
    const auto is_same = [&](uint32_t input) { return owners_[input] == owners_[output]; };
    if (std::ranges::any_of(schedule_.inputs, is_same)) {
      return refused(
          fmt::format("output '{}' is an input that is passed through, and no kernel writes it", outputs_[place].first),
          "copy the input, or read it");
    }
    const Done bound = rebind(outputs_[place].first, output, *tensor, views, rebindings);
    if (!bound) return bound;
  }
  return commands.record(recording_, rebindings);
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
