// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A recipe runs where each of its steps has a kernel. The formats of a step are those of the operator's tensors that it
// reads or writes. Scratch, and memory that a step reads in another layout, are invisible to callers.
#include "runtime/engine/selector/coverage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/engine/selector/checks.h"

namespace qgen {
namespace {

using selector::Refusal;
using selector::Request;

struct TensorFormat {
  uint8_t operand;  // of the operator
  OperandForm form;
};
using Format = std::string;  // as people read it

struct Found {
  bool is_covered = false;
  std::string refusal;  // of one kernel
};
using Formats = std::map<Format, Found>;

class Walk {
 public:
  Walk(const SignatureInfo& signature, const DeviceProfile& device) : signature_(signature), device_(device) {}

  Coverage run() {
    for (const KernelInfo& kernel : signature_.op->kernels) add_kernel(kernel);
    for (const RecipeInfo& recipe : signature_.op->recipes) add_recipe(recipe);
    for (const auto& [format, found] : formats_) {
      ++coverage_.all_formats;
      if (found.is_covered || taken_.contains(format)) ++coverage_.formats;
      else coverage_.missing.push_back(fmt::format("{}: {}", format, found.refusal));
    }
    return std::move(coverage_);
  }

 private:
  // Why no specialization of the kernel runs on the device; empty: one does.
  std::string refusal_of(const OperatorInfo& family, const KernelInfo& kernel) const {
    const Request request{.op = &family, .device = &device_};
    std::optional<Refusal> refusal = selector::check_module(device_, family.interface_of(kernel));
    if (refusal) return text_of(request, kernel, 0, *refusal);
    for (size_t row = 0; row < family.specialization_count(); ++row) {
      refusal = selector::check_device(request, kernel, row);
      if (!refusal) return "";
    }
    return text_of(request, kernel, family.specialization_count() - 1, *refusal);
  }
  static std::string text_of(const Request& request, const KernelInfo& kernel, size_t row, const Refusal& refusal) {
    return fmt::format("{}: {}", kernel.id, sentence(request, kernel, row, refusal));
  }

  void add_kernel(const KernelInfo& kernel) {
    std::vector<TensorFormat> tensors;
    for (uint8_t i = 0; i < signature_.op->operands.size(); ++i) {
      tensors.push_back({i, signature_.op->form(kernel.parameters, i)});
    }
    if (!are_callers(tensors)) return;
    const std::string refusal = refusal_of(*signature_.op, kernel);
    count(refusal.empty());
    add(tensors, refusal);
  }

  // A step that lacks a kernel leaves the recipe's other steps nothing to do.
  void add_recipe(const RecipeInfo& recipe) {
    std::string missing;
    for (const StepInfo& step : recipe.steps) {
      const std::string refusal = refusal_of(step);
      if (missing.empty()) missing = refusal;
    }
    count(missing.empty());
    for (const StepInfo& step : recipe.steps) {
      for_each_variant(step, [&](const KernelInfo& kernel) {
        std::vector<TensorFormat> tensors = tensors_of(step, kernel);
        if (!are_callers(tensors)) return;
        const std::string refusal = missing.empty() ? refusal_of(*step.family, kernel) : missing;
        for (const TensorFormat& tensor : tensors) add({tensor}, refusal);
      });
    }
  }

  std::string refusal_of(const StepInfo& step) const {
    std::string first;
    bool fits = false;
    for_each_variant(step, [&](const KernelInfo& kernel) {
      if (fits) return;
      const std::string refusal = refusal_of(*step.family, kernel);
      fits = refusal.empty();
      if (first.empty()) first = refusal;
    });
    return fits ? "" : first;
  }

  template <typename Visit>
  static void for_each_variant(const StepInfo& step, Visit visit) {
    for (const KernelInfo& kernel : step.family->kernels) {
      if (!step.takes || step.takes(kernel.parameters)) visit(kernel);
    }
  }

  static std::vector<TensorFormat> tensors_of(const StepInfo& step, const KernelInfo& kernel) {
    std::vector<TensorFormat> tensors;
    for (size_t i = 0; i < step.operands.size(); ++i) {
      const OperandSource& source = step.operands[i];
      if (source.is_scratch || source.index == kAbsent || source.seen_as != kAbsent) continue;
      tensors.push_back({source.index, step.family->form(kernel.parameters, i)});
    }
    return tensors;
  }

  // Without weights; whether callers of the signature may give the rest so.
  bool are_callers(std::vector<TensorFormat>& tensors) const {
    std::erase_if(tensors, [&](const TensorFormat& tensor) {
      const TensorInfo* info = info_of(tensor.operand);
      return !info || info->role == TensorInfo::Role::weight || info->role == TensorInfo::Role::derived;
    });
    return std::ranges::all_of(tensors, [&](const TensorFormat& tensor) {
      const TensorInfo& info = *info_of(tensor.operand);
      return (info.dtypes & bit(tensor.form.dtype)) != 0 && (info.storages & bit(tensor.form.storage)) != 0;
    });
  }
  const TensorInfo* info_of(uint8_t operand) const {
    const auto info = std::ranges::find(signature_.tensors, operand, &TensorInfo::operand);
    return info == signature_.tensors.end() ? nullptr : &*info;
  }

  void count(bool fits) {
    ++coverage_.all_kernels;
    coverage_.kernels += fits ? 1 : 0;
  }

  void add(const std::vector<TensorFormat>& tensors, const std::string& refusal) {
    std::vector<std::string> texts;
    for (const TensorFormat& tensor : tensors) {
      texts.push_back(
          fmt::format("{} {}", signature_.op->operands[tensor.operand].name, selector::form_text(tensor.form)));
    }
    if (texts.empty()) return;
    if (refusal.empty()) taken_.insert(texts.begin(), texts.end());
    Found& found = formats_[fmt::format("{}", fmt::join(texts, ", "))];
    found.is_covered |= refusal.empty();
    if (found.refusal.empty()) found.refusal = refusal;
  }

  const SignatureInfo& signature_;
  const DeviceProfile& device_;
  Formats formats_;
  std::set<Format> taken_;  // of single tensors, by some kernel that runs
  Coverage coverage_;
};

}  // namespace

Coverage coverage_of(const SignatureInfo& signature, const DeviceProfile& device) {
  return Walk(signature, device).run();
}

}  // namespace qgen
