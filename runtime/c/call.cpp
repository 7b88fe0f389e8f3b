// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "operators.h"
#include "runtime/c/objects.h"
#include "runtime/engine/calls/attributes.h"
#include "vocabulary/dtypes.h"

extern "C" const char qgen_operators_text[];  // operators.S

namespace qgen::c {

Expected<const OperatorEntry*> operator_of(const qgen_call* call) {
  if (!call || !call->op) return is_null(call ? "the operator's name" : "call");
  const OperatorEntries all = generated::operators::entries();
  const OperatorEntry* entry = find_operator(all, call->op);
  if (!entry) return unknown_operator(all, call->op);
  return entry;
}

namespace {

bool is_output(const OperatorEntry& entry, std::string_view name) {
  const auto info = std::ranges::find(entry.tensors, name, &TensorInfo::name);
  return info != entry.tensors.end() && info->role == TensorInfo::Role::output;
}

Done add_argument(const OperatorEntry& entry, MixedArguments& arguments, const qgen_argument& given) {
  if (!given.name) return is_null("the name of an argument");
  if (arguments.request.inputs.contains(given.name) || arguments.tensors.contains(given.name) ||
      arguments.weights.contains(given.name))
    return given_twice(given.name);
  if (given.array && is_output(entry, given.name))
    return refused(std::string("'") + given.name + "' is an output, and takes a tensor that is on the device");
  if (!!given.array + !!given.tensor + !!given.weight != 1)
    return refused(std::string("'") + given.name + "' needs an array, a tensor or a weight, and one of them");
  if (given.array) {
    auto array = host_tensor(given.array);
    if (!array) return refused(std::string("'") + given.name + "': " + array.error().message, array.error().hint);
    arguments.request.inputs.insert_or_assign(given.name, *std::move(array));
  } else if (given.tensor) {
    const auto tensor = on_device(given.tensor);
    if (!tensor) return tensor.error();
    arguments.tensors.insert_or_assign(given.name, *tensor);
  } else {
    arguments.weights.insert_or_assign(given.name, &given.weight->weight);
  }
  return std::monostate{};
}

// Of a name that the operator has not, the text: complete() then refuses it.
Done add_attribute(const OperatorEntry& entry, MixedArguments& arguments, const qgen_attribute& given) {
  if (!given.name || !given.value) return is_null("the name or the value of an attribute");
  const auto info = std::ranges::find(entry.attributes, std::string_view(given.name), &AttributeInfo::name);
  Attributes& attributes = arguments.request.attributes;
  if (attributes.contains(given.name)) return given_twice(given.name);
  if (info == entry.attributes.end()) {
    attributes.insert_or_assign(given.name, std::string(given.value));
    return std::monostate{};
  }
  auto value = parse_attribute(*info, given.value);
  if (!value) return value.error();
  attributes.insert_or_assign(given.name, *std::move(value));
  return std::monostate{};
}

}  // namespace

Expected<MixedArguments> arguments_of(const OperatorEntry& entry, const qgen_call& call) {
  MixedArguments arguments;
  if (!call.arguments && call.argument_count != 0) return is_null("the call's arguments");
  if (!call.attributes && call.attribute_count != 0) return is_null("the call's attributes");
  for (size_t i = 0; i < call.argument_count; ++i) {
    if (Done added = add_argument(entry, arguments, call.arguments[i]); !added) return added.error();
  }
  for (size_t i = 0; i < call.attribute_count; ++i) {
    if (Done added = add_attribute(entry, arguments, call.attributes[i]); !added) return added.error();
  }
  return arguments;
}

namespace {

qgen_results results_of(const std::shared_ptr<OnDevice>& on, const OperatorEntry& entry, const PreparedCall& prepared,
                        std::vector<DeviceTensor> outputs) {
  qgen_results results;
  size_t next = 0;
  for (const TensorInfo& info : entry.tensors) {
    if (info.role != TensorInfo::Role::output || !prepared.call.operands[info.operand]) continue;
    if (next == outputs.size()) break;
    results.all.push_back({std::string(info.name), tensor_of(on, std::move(outputs[next++]))});
  }
  return results;
}

// Runs the call, or records it where the context has commands.
Done call_operator(const std::shared_ptr<OnDevice>& on, Commands* commands, const qgen_call* call,
                   qgen_results** results) {
  const auto entry = operator_of(call);
  if (!entry) return entry.error();
  auto arguments = arguments_of(**entry, *call);
  if (!arguments) return arguments.error();
  Context context = on->context;
  context.commands = commands;
  context.force_kernel = call->kernel ? call->kernel : "";
  auto prepared = prepare(context, **entry, *std::move(arguments));
  if (!prepared) return prepared.error();
  const KeptCall kept{std::make_shared<const Call>(prepared->call), nullptr};
  auto outputs = run(context, **entry, kept, prepared->arguments);
  if (!outputs) return outputs.error();
  if (!results) return std::monostate{};
  return give(results, results_of(on, **entry, *prepared, *std::move(outputs)));
}

std::string describe_outputs(const OperatorEntry& entry, const Call& call) {
  std::string lines;
  for (const TensorInfo& info : entry.tensors) {
    const auto& desc = call.operands[info.operand];
    if (info.role != TensorInfo::Role::output || !desc) continue;
    std::string sides;
    for (const int64_t side : desc->shape) sides += (sides.empty() ? "" : ",") + std::to_string(side);
    lines += std::string(info.name) + ' ' + std::string(name(desc->dtype)) + ' ' + sides + '\n';
  }
  return lines;
}

}  // namespace
}  // namespace qgen::c

using namespace qgen;
using namespace qgen::c;

extern "C" {

const char* qgen_operators_json(void) { return qgen_operators_text; }

qgen_code qgen_run(qgen_device* device, const qgen_call* call, qgen_results** results, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!device) return is_null("device");
    return call_operator(device->on, nullptr, call, results);
  });
}

qgen_code qgen_infer(const qgen_call* call, qgen_text** outputs, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!outputs) return is_null("outputs");
    const auto entry = operator_of(call);
    if (!entry) return entry.error();
    auto arguments = arguments_of(**entry, *call);
    if (!arguments) return arguments.error();
    const auto inferred = infer_call(**entry, *std::move(arguments));
    if (!inferred) return inferred.error();
    return give(outputs, qgen_text{describe_outputs(**entry, *inferred)});
  });
}

qgen_code qgen_explain(qgen_device* device, const qgen_call* call, qgen_text** explanation, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!device || !explanation) return is_null(device ? "explanation" : "device");
    const auto entry = operator_of(call);
    if (!entry) return entry.error();
    auto arguments = arguments_of(**entry, *call);
    if (!arguments) return arguments.error();
    const auto inferred = infer_call(**entry, *std::move(arguments));
    if (!inferred) return inferred.error();
    const Context& context = device->on->context;
    const auto times = context.times->of(inferred->problem, context.profile);
    Selection selection = select(inferred->problem, context.profile, context.library,
                                 {.force = call->kernel ? call->kernel : "", .times = times.get()});
    selection.question = question_of(*inferred, context.profile);
    return give(explanation, qgen_text{explain(selection)});
  });
}

size_t qgen_results_count(const qgen_results* results) { return results ? results->all.size() : 0; }
const char* qgen_results_name(const qgen_results* results, size_t index) {
  return index < qgen_results_count(results) ? results->all[index].name.c_str() : nullptr;
}
const qgen_tensor* qgen_results_tensor(const qgen_results* results, size_t index) {
  return index < qgen_results_count(results) ? results->all[index].tensor.get() : nullptr;
}
qgen_tensor* qgen_results_take(qgen_results* results, size_t index) {
  return index < qgen_results_count(results) ? results->all[index].tensor.release() : nullptr;
}
void qgen_results_free(qgen_results* results) { delete results; }

// ---- in command buffers of the caller

qgen_code qgen_frame_create(qgen_device* device, const qgen_frame_info* info, qgen_frame** frame, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!device || !frame) return is_null(device ? "frame" : "device");
    CommandsOptions options;
    if (info && info->arena) {
      const auto arena = on_device(info->arena);
      if (!arena) return arena.error();
      options.arena = *arena;
    }
    if (info) options.descriptor_pool = (VkDescriptorPool)(uintptr_t)info->descriptor_pool;
    auto commands = device->on->executor.commands(options);
    if (!commands) return commands.error();
    return give(frame, qgen_frame{device->on, *std::move(commands)});
  });
}

void qgen_frame_free(qgen_frame* frame) { delete frame; }

qgen_code qgen_frame_begin(qgen_frame* frame, void* command_buffer, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!frame || !command_buffer) return is_null(frame ? "command_buffer" : "frame");
    return frame->commands.begin(static_cast<VkCommandBuffer>(command_buffer));
  });
}

qgen_code qgen_frame_resume(qgen_frame* frame, void* command_buffer, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!frame || !command_buffer) return is_null(frame ? "command_buffer" : "frame");
    return frame->commands.resume(static_cast<VkCommandBuffer>(command_buffer));
  });
}

qgen_code qgen_frame_end(qgen_frame* frame, qgen_error** error) {
  return guarded(error, [&]() -> Done { return frame ? frame->commands.end() : Done(is_null("frame")); });
}

qgen_code qgen_record(qgen_frame* frame, const qgen_call* call, qgen_results** results, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!frame) return is_null("frame");
    return call_operator(frame->on, &frame->commands, call, results);
  });
}

uint64_t qgen_frame_arena_bytes_used(const qgen_frame* frame) { return frame ? frame->commands.arena_bytes_used() : 0; }

}  // extern "C"
