// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The hint if no kernel fits: tries each kernel with the operands in the formats that it supports.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <tuple>

#include "runtime/engine/selector/refusal.h"
#include "vocabulary/layouts.h"

namespace qgen::selector {
namespace {

// The layout that a form takes: the desc's own if it can be kept.
OperandDesc desc_of(const OperandForm& form, const OperandDesc& given) {
  OperandDesc desc{form.dtype, form.storage, given.layout};
  if (info(given.layout).storage == form.storage && takes(form, desc)) return desc;
  for (const LayoutInfo& row : kLayouts) {
    desc.layout = row.layout;
    if (row.storage == form.storage && takes(form, desc)) return desc;
  }
  return desc;
}

// The request's operands in the forms that `kernel` takes; `changed` gets the indices of those that differ.
std::vector<OperandDesc> as_taken(const Request& request, const KernelInfo& kernel, std::vector<size_t>& changed) {
  std::vector<OperandDesc> operands(request.operands.begin(), request.operands.end());
  for (size_t i = 0; i < operands.size(); ++i) {
    const OperandForm form = request.op->form(kernel.parameters, i);
    if (!operands[i].is_present || takes(form, operands[i])) continue;
    operands[i] = desc_of(form, operands[i]);
    changed.push_back(i);
  }
  return operands;
}

// The formats that kernels support for an operand: kernels of the operator, or if there is none, of its recipes' steps.
std::vector<OperandForm> forms_of(const Request& request, const Filter& filter, size_t operand) {
  std::vector<OperandForm> forms;
  for (const KernelInfo& kernel : request.op->kernels) {
    if (admits(filter, kernel)) forms.push_back(request.op->form(kernel.parameters, operand));
  }
  if (filter.kernel) return forms;
  for (const RecipeInfo& recipe : request.op->recipes) {
    for (const StepInfo& step : recipe.steps) {
      for (size_t i = 0; i < step.operands.size(); ++i) {
        if (step.operands[i].is_scratch || step.operands[i].index != operand) continue;
        for (const KernelInfo& kernel : step.family->kernels) {
          if (admits({.takes = step.takes}, kernel)) forms.push_back(step.family->form(kernel.parameters, i));
        }
      }
    }
  }
  return forms;
}

std::string hint_of_untaken_operand(const Request& request, const Filter& filter) {
  for (size_t i = 0; i < request.operands.size(); ++i) {
    const OperandDesc& given = request.operands[i];
    if (!given.is_present) continue;
    auto forms = forms_of(request, filter, i);
    if (forms.empty() || std::ranges::any_of(forms, [&](const OperandForm& form) { return takes(form, given); }))
      continue;
    // Another layout is nearer than another type.
    const auto is_of_type = [&](const OperandForm& form) { return form.dtype == given.dtype; };
    if (std::ranges::any_of(forms, is_of_type)) std::erase_if(forms, std::not_fn(is_of_type));
    std::vector<std::string> texts;
    for (const OperandForm& form : forms) {
      const std::string text = form_text(form);
      if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
    }
    return fmt::format("no kernel accepts {} as {}; possible are {}", request.op->operands[i].name, to_text(given),
                       fmt::join(texts, ", "));
  }
  return "";
}

// What to convert so that a kernel fits.
struct Conversion {
  const KernelInfo* kernel;
  std::vector<OperandDesc> operands;
  std::vector<size_t> changed;
  double cost_us = 0;
};

std::optional<Conversion> conversion_to(const Request& request, const Filter& filter, const KernelInfo& kernel) {
  Conversion conversion{&kernel, {}, {}};
  conversion.operands = as_taken(request, kernel, conversion.changed);
  if (conversion.changed.empty()) return std::nullopt;
  Request converted = request;
  converted.operands = conversion.operands;
  Filter only = filter;
  only.kernel = &kernel;
  only.reasons = false;
  const Fitting fitting = fit(converted, only);
  if (fitting.candidates.empty()) return std::nullopt;
  conversion.cost_us = fitting.candidates.front().cost_us;
  return conversion;
}

bool is_better(const Conversion& a, const Conversion& b) {
  return std::make_tuple(a.changed.size(), a.cost_us, a.kernel->id) <
         std::make_tuple(b.changed.size(), b.cost_us, b.kernel->id);
}

}  // namespace

std::string hint_of_forms(const Request& request, const Filter& filter) {
  std::optional<Conversion> best;
  for (const KernelInfo& kernel : request.op->kernels) {
    if (!admits(filter, kernel)) continue;
    auto next = conversion_to(request, filter, kernel);
    if (next && (!best || is_better(*next, *best))) best = std::move(next);
  }
  if (!best) return hint_of_untaken_operand(request, filter);
  std::vector<std::string> changes;
  for (size_t i : best->changed) {
    changes.push_back(fmt::format("{} as {}", request.op->operands[i].name, to_text(best->operands[i])));
  }
  return fmt::format("{} fits with {}", best->kernel->id, fmt::join(changes, ", "));
}

}  // namespace qgen::selector
