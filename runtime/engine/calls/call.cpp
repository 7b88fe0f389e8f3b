// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/calls/call.h"

#include <fmt/format.h>

#include "runtime/engine/calls/online_tuning.h"
#include "vocabulary/layouts.h"

namespace qgen {

Layout layout_read(const Choice& choice, size_t operand, Layout otherwise) {
  for (const Launch& launch : choice.launches) {
    for (size_t i = 0; i < launch.operands.size(); ++i) {
      if (launch.operands[i].is_scratch || launch.operands[i].index != operand) continue;
      const uint32_t layouts = launch.op->form(launch.kernel->parameters, i).layouts;
      if (const auto first = first_layout(layouts)) return *first;
    }
  }
  return otherwise;
}

TensorDesc desc_of(const Weight& weight) {
  if (weight.is_moved_from()) return {.dtype = DType::i8, .is_moved_from = true};
  const uint32_t layouts = weight.layouts();
  const Layout first = first_layout(layouts).value_or(Layout::strided);  // of a weight that holds no form yet
  return {DType::i8, weight.shape(), Storage::buffer, first, layouts};
}

OperandDesc operand_of(const TensorDesc& tensor) {
  return {tensor.dtype, tensor.storage, tensor.layout, true, tensor.other_layouts, tensor.shape};
}

TensorDesc desc_of(const DeviceTensor& tensor) {
  return {tensor.dtype(), tensor.shape(), tensor.storage(), tensor.layout(), 0, !tensor.shared_memory()};
}

std::optional<TensorDesc> desc_of(const DeviceTensor* tensor) {
  return tensor ? std::optional(desc_of(*tensor)) : std::nullopt;
}

namespace {

// As kernels of the Call read it.
Expected<Weight*> weight_read(Executor& executor, const Call& call, Weight& weight) {
  return call.turned_groups == 0 ? &weight : weight.turned(executor, call.turned_groups);
}

}  // namespace

Expected<const DeviceTensor*> row_sums(Executor& executor, const Call& call, Weight& weight) {
  const auto read = weight_read(executor, call, weight);
  if (!read) return read.error();
  return (*read)->sums(executor, call.row_sum_run == 0 ? (*read)->k() : call.row_sum_run);
}

Argument argument_of(const DeviceTensor* tensor) { return tensor ? Argument(tensor) : Argument(); }

namespace {

std::string text_of(const TensorDesc& desc) {
  return fmt::format("{} {} {} {}", name(desc.dtype), to_text(desc.shape), name(desc.storage), name(desc.layout));
}

// Without a TensorDesc: each warm call looks at each argument.
bool is_as(const DeviceTensor& tensor, const TensorDesc& wanted) {
  return tensor.dtype() == wanted.dtype && tensor.shape() == wanted.shape && tensor.storage() == wanted.storage &&
         tensor.layout() == wanted.layout;
}
bool is_as(const Weight& weight, const TensorDesc& wanted) {
  return wanted.dtype == DType::i8 && weight.shape() == wanted.shape && wanted.storage == Storage::buffer;
}

Error other_than_made_for(const OperandInfo& operand, const TensorDesc& given, const TensorDesc& wanted) {
  return refused(fmt::format("{} is {}, and the call was made for {}", operand.name, text_of(given), text_of(wanted)));
}

Done check_tensor(const OperandInfo& operand, const DeviceTensor& tensor, const TensorDesc& wanted) {
  if (!tensor.shared_memory()) return moved_from(fmt::format("tensor '{}'", operand.name));
  if (is_as(tensor, wanted)) return std::monostate{};
  return other_than_made_for(operand, desc_of(tensor), wanted);
}

Done check_weight(Executor& executor, const Call& call, const OperandInfo& operand, Weight& weight,
                  const TensorDesc& wanted) {
  const auto read = weight_read(executor, call, weight);
  if (!read) return read.error();
  if ((*read)->is_moved_from()) return moved_from(fmt::format("weight '{}'", operand.name));
  if (is_as(**read, wanted)) return std::monostate{};
  return other_than_made_for(operand, desc_of(**read), wanted);
}

Done check_argument(Executor& executor, const Call& call, size_t index, const Argument& argument) {
  const OperandInfo& operand = call.problem.op->operands[index];
  const std::optional<TensorDesc>& desc = call.operands[index];
  const auto* tensor = std::get_if<const DeviceTensor*>(&argument);
  const auto* weight = std::get_if<Weight*>(&argument);
  const bool is_null = (tensor && !*tensor) || (weight && !*weight);
  const auto refuse = [&](std::string_view fault) { return refused(fmt::format("{} {}", operand.name, fault)); };
  if (!desc) {
    const bool is_given = (tensor || weight) && !is_null;
    return is_given ? refuse("is given, and the call was made without it") : Done(std::monostate{});
  }
  if (is_null) return refuse("is null, and the call was made with it");
  if (tensor) return check_tensor(operand, **tensor, *desc);
  if (weight) return check_weight(executor, call, operand, **weight, *desc);
  // To be allocated.
  return operand.access == Access::write ? Done(std::monostate{}) : refuse("is read, but no tensor is given");
}

Done check_arguments(Executor& executor, const Call& call, const ArgumentList& arguments) {
  const OperatorInfo& op = *call.problem.op;
  if (arguments.size() != call.operands.size()) {
    return refused(fmt::format("'{}' was given {} arguments, and has {} operands", op.name, arguments.size(),
                               call.operands.size()),
                   "give one for each operand, also for those that are left out and for outputs to be allocated");
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (Done sound = check_argument(executor, call, i, arguments[i]); !sound) return sound;
  }
  return std::monostate{};
}

// How many operands bind() allocates.
size_t count_made(const Call& call, const ArgumentList& arguments) {
  size_t count = 0;
  for (size_t i = 0; i < call.operands.size(); ++i)
    count += call.operands[i] && std::holds_alternative<std::monostate>(arguments[i]) ? 1 : 0;
  return count;
}

// A Call says each operand twice: as the selector sees it, and with its shape.
Done check_call(const Call& call) {
  const OperatorInfo* op = call.problem.op;
  const bool is_whole = op && call.operands.size() == op->operands.size();
  return is_whole ? Done(std::monostate{}) : refused("the call is incomplete", "make it with an operator's function");
}

}  // namespace

Expected<BoundCall> bind(Context& context, const Call& call, const Choice& choice, const ArgumentList& arguments) {
  if (Done whole = check_call(call); !whole) return whole.error();
  if (Done sound = check_arguments(context.executor, call, arguments); !sound) return sound.error();
  BoundCall bound;
  bound.operands.reserve(call.operands.size());
  bound.made.reserve(count_made(call, arguments));  // operands point into it
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const auto& desc = call.operands[i];
    if (!desc) {
      bound.operands.push_back(nullptr);
    } else if (const auto* tensor = std::get_if<const DeviceTensor*>(&arguments[i])) {
      bound.operands.push_back(*tensor);
    } else if (const auto* weight = std::get_if<Weight*>(&arguments[i])) {
      const auto read = weight_read(context.executor, call, **weight);
      if (!read) return read.error();
      const auto form = (*read)->form(context.executor, layout_read(choice, i, desc->layout));
      if (!form) return form.error();
      bound.operands.push_back(*form);
    } else {
      auto made = context.commands ? context.commands->allocate(desc->dtype, desc->shape, desc->storage, desc->layout)
                                   : context.executor.allocate(desc->dtype, desc->shape, desc->storage, desc->layout);
      if (!made) return made.error();
      bound.made.push_back(*std::move(made));
      bound.operands.push_back(&bound.made.back());
    }
  }
  return bound;
}

namespace {

// With `device_us`, it is timed too.
Expected<std::vector<DeviceTensor>> run(Context& context, const Call& call, const Choice& choice,
                                        const ArgumentList& arguments, double* device_us = nullptr) {
  auto bound = bind(context, call, choice, arguments);
  if (!bound) return bound.error();
  const Work work{&choice, bound->operands};
  auto recording = context.executor.record({&work, 1});
  if (!recording) return recording.error();
  if (!device_us) {
    if (auto done = context.executor.run(*recording); !done) return done.error();
    return std::move(bound->made);
  }
  const auto timing = context.executor.time(*recording, static_cast<uint32_t>(choice.launches.size()));
  if (!timing) return timing.error();
  *device_us = timing->device_us;
  return std::move(bound->made);
}

// `record` puts the choice with these operands into Context::commands.
Expected<std::vector<DeviceTensor>> record_with(Context& context, const Call& call, const Choice& choice,
                                                const ArgumentList& arguments, const auto& record) {
  auto bound = bind(context, call, choice, arguments);
  if (!bound) return bound.error();
  if (Done recorded = record(bound->operands); !recorded) return recorded.error();
  return std::move(bound->made);
}

// One that the program keeps: its plan is kept too.
Expected<std::vector<DeviceTensor>> run_or_record(Context& context, const Call& call,
                                                  const std::shared_ptr<const Choice>& choice,
                                                  const ArgumentList& arguments) {
  if (!context.commands) return run(context, call, *choice, arguments);
  return record_with(context, call, *choice, arguments,
                     [&](const auto& operands) { return context.commands->record(choice, operands); });
}

// One for this call alone.
Expected<std::vector<DeviceTensor>> run_or_record_once(Context& context, const Call& call, const Choice& choice,
                                                       const ArgumentList& arguments) {
  if (!context.commands) return run(context, call, choice, arguments);
  return record_with(context, call, choice, arguments, [&](const auto& operands) {
    return context.commands->record(Work{&choice, operands});
  });
}

std::shared_ptr<const KernelTimes> known_times(const Context& context, const Problem& problem) {
  return context.times ? context.times->of(problem, context.profile) : std::make_shared<const KernelTimes>();
}

// A kernel that cannot be run when it is tried is another's turn. nullopt: no kernel fits, for others to explain.
using Made = std::optional<std::vector<DeviceTensor>>;
Expected<Made> run_online(Context& context, const Call& call, const ArgumentList& arguments) {
  const auto times = known_times(context, call.problem);
  while (true) {
    const auto turn = context.online->next(call.problem, context.profile, context.library, *times);
    if (!turn.choice) return Made();
    double device_us = 0;
    auto made = run(context, call, *turn.choice, arguments, turn.is_timed ? &device_us : nullptr);
    if (made) {
      context.online->took(turn, device_us);
      return Made(*std::move(made));
    }
    context.online->failed(turn);
    if (!turn.is_trial) return made.error();
  }
}

bool is_tuned_online(const Context& context) {
  const bool has_timestamps = context.profile.timestamp_period_ns > 0;
  return context.online && has_timestamps && !context.commands;
}
bool is_free_to_choose(const Context& context) { return !context.on_selection && context.force_kernel.empty(); }

}  // namespace

bool takes_kept_choices(const Context& context) {
  return context.decisions && is_free_to_choose(context) && !is_tuned_online(context);
}

Expected<std::vector<DeviceTensor>> run(Context& context, const Call& call, const ArgumentList& arguments) {
  if (Done whole = check_call(call); !whole) return whole.error();
  if (context.on_call) context.on_call(call);
  if (is_tuned_online(context) && is_free_to_choose(context)) {
    auto made = run_online(context, call, arguments);
    if (!made) return made.error();
    if (*made) return **std::move(made);
  }
  if (context.decisions && is_free_to_choose(context)) {
    if (const auto choice = context.decisions->best(call.problem))
      return run_or_record(context, call, choice, arguments);
  }
  const bool is_watched = static_cast<bool>(context.on_selection);
  const auto times = known_times(context, call.problem);
  Selection selection = select(call.problem, context.profile, context.library,
                               {.force = context.force_kernel, .best_only = !is_watched, .times = times.get()});
  const bool is_told = is_watched || selection.ranked.empty();
  if (is_told && call.arguments) selection.question = question_of(call, context.profile);
  if (is_watched) context.on_selection(selection);
  if (selection.ranked.empty()) return no_kernel(selection);
  return run_or_record_once(context, call, selection.ranked.front(), arguments);
}

Expected<std::vector<DeviceTensor>> run(Context& context, const KeptCall& kept, const ArgumentList& arguments) {
  if (!kept.choice || !takes_kept_choices(context)) return run(context, *kept.call, arguments);
  if (context.on_call) context.on_call(*kept.call);
  return run_or_record(context, *kept.call, kept.choice, arguments);
}

}  // namespace qgen
