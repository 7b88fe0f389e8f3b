// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/operators/call.h"

#include <bit>

namespace qgen {
namespace {

// The layout in which a choice reads an operand of the whole: the first that one of its kernels names there.
Layout layout_read(const Choice& choice, size_t operand, Layout otherwise) {
  for (const Launch& launch : choice.launches) {
    for (size_t i = 0; i < launch.operands.size(); ++i) {
      if (launch.operands[i].is_scratch || launch.operands[i].index != operand) continue;
      const uint32_t layouts = launch.op->form(launch.kernel->parameters, i).layouts;
      if (layouts != 0) return static_cast<Layout>(std::countr_zero(layouts));
    }
  }
  return otherwise;
}

}  // namespace

TensorDesc desc_of(const Weight& weight) {
  const uint32_t layouts = weight.layouts();
  return {DType::i8, weight.shape(), Storage::buffer, static_cast<Layout>(std::countr_zero(layouts)), layouts};
}

OperandDesc operand_of(const TensorDesc& tensor) {
  return {tensor.dtype, tensor.storage, tensor.layout, true, tensor.other_layouts};
}

TensorDesc desc_of(const DeviceTensor& tensor) {
  return {tensor.dtype(), tensor.shape(), tensor.storage(), tensor.layout()};
}

std::optional<TensorDesc> desc_of(const DeviceTensor* tensor) {
  return tensor ? std::optional(desc_of(*tensor)) : std::nullopt;
}

Argument argument_of(const DeviceTensor* tensor) { return tensor ? Argument(tensor) : Argument(); }

Expected<BoundCall> bind(Context& context, const Call& call, const Choice& choice,
                         const std::vector<Argument>& arguments) {
  BoundCall bound;
  bound.made.reserve(call.operands.size());  // operands point into it
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const auto& desc = call.operands[i];
    if (!desc) {
      bound.operands.push_back(nullptr);
    } else if (const auto* tensor = std::get_if<const DeviceTensor*>(&arguments[i])) {
      bound.operands.push_back(*tensor);
    } else if (const auto* weight = std::get_if<Weight*>(&arguments[i])) {
      const auto form = (*weight)->form(context.executor, layout_read(choice, i, desc->layout));
      if (!form) return form.error();
      bound.operands.push_back(*form);
    } else {
      auto made = context.executor.allocate(desc->dtype, desc->shape, desc->storage, desc->layout);
      if (!made) return made.error();
      bound.made.push_back(*std::move(made));
      bound.operands.push_back(&bound.made.back());
    }
  }
  return bound;
}

Expected<std::vector<DeviceTensor>> run(Context& context, const Call& call, const std::vector<Argument>& arguments) {
  const bool is_watched = static_cast<bool>(context.on_selection);
  const Selection selection =
      select(call.problem, context.profile, context.library, {.force = context.force_kernel, .best_only = !is_watched});
  if (is_watched) context.on_selection(selection);
  if (selection.ranked.empty()) return no_kernel(selection);
  auto bound = bind(context, call, selection.ranked.front(), arguments);
  if (!bound) return bound.error();
  const Work work{&selection.ranked.front(), bound->operands};
  auto recording = context.executor.record({&work, 1});
  if (!recording) return recording.error();
  if (auto done = context.executor.run(*recording); !done) return done.error();
  return std::move(bound->made);
}

Expected<DeviceTensor> run_for_one(Context& context, const Expected<Call>& call,
                                   const std::vector<Argument>& arguments) {
  if (!call) return call.error();
  auto made = run(context, *call, arguments);
  if (!made) return made.error();
  return std::move(made->front());
}

}  // namespace qgen
