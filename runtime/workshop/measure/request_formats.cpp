// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/measure/request_formats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "runtime/engine/calls/attributes.h"
#include "runtime/engine/calls/placement.h"
#include "vocabulary/layouts.h"

namespace qgen::measure {
namespace {

constexpr size_t kMaxTextureRank = 4;
constexpr std::string_view kOutputDtype = "output_dtype";

// Calls visit(form) for every format that a kernel of the operator, or of a recipe's step, accepts at an operand; for a
// step, only formats that the operator accepts too.
void for_each_form(const OperatorInfo& op, size_t operand, const std::function<void(const OperandForm&)>& visit) {
  for (const KernelInfo& kernel : op.kernels) visit(op.form(kernel.parameters, operand));
  for (const RecipeInfo& recipe : op.recipes) {
    for (const StepInfo& step : recipe.steps) {
      for (size_t i = 0; i < step.operands.size(); ++i) {
        const OperandSource& source = step.operands[i];
        if (source.is_scratch || source.index != operand || source.seen_as != kAbsent) continue;
        for (const KernelInfo& kernel : step.family->kernels) {
          if (step.takes && !step.takes(kernel.parameters)) continue;
          const OperandForm form = step.family->form(kernel.parameters, i);
          const uint32_t taken = op.operands[operand].dtypes;
          if (taken == 0 || (taken & bit(form.dtype)) != 0) visit(form);
        }
      }
    }
  }
}

bool takes(const OperatorInfo& op, size_t operand, DType dtype) {
  bool is_taken = false;
  for_each_form(op, operand, [&](const OperandForm& form) { is_taken |= form.dtype == dtype; });
  return is_taken;
}

size_t operand_named(const OperatorInfo& op, std::string_view name) {
  const auto operand = std::ranges::find(op.operands, name, &OperandInfo::name);
  return static_cast<size_t>(operand - op.operands.begin());
}

// An operand with several possible representations.
struct Mover {
  std::string name;
  std::vector<Representation> representations;
};

std::vector<Mover> movers_of(const OperatorEntry& entry, const OperatorInfo& op,
                             const std::map<std::string, size_t, std::less<>>& ranks) {
  std::vector<Mover> movers;
  const auto add = [&](const TensorInfo& info) {
    const auto rank = ranks.find(info.name);
    if (!info.has_representation || rank == ranks.end()) return;
    auto representations = representations_of(op, operand_named(op, info.name));
    // Of recipes only, an operator may take less than its steps' kernels.
    std::erase_if(representations, [&](const Representation& representation) {
      return !can_lie(info, representation.storage, representation.layout);
    });
    if (rank->second > kMaxTextureRank) {
      std::erase_if(representations,
                    [](const Representation& representation) { return representation.storage == Storage::texture3d; });
    }
    if (representations.size() > 1) movers.push_back({std::string(info.name), std::move(representations)});
  };
  for (const TensorInfo& info : inputs_of(entry)) add(info);
  for (const TensorInfo& info : outputs_of(entry)) add(info);
  return movers;
}

void add_formats(std::vector<RequestFormats>& formats, RequestFormats one) {
  std::erase_if(one.representations, [](const auto& named) { return named.second == Representation{}; });
  const bool is_known = std::ranges::any_of(
      formats, [&](const RequestFormats& other) { return other.representations == one.representations; });
  if (!is_known) formats.push_back(std::move(one));
}

std::vector<RequestFormats> formats_through(const std::vector<Mover>& movers) {
  std::vector<RequestFormats> formats = {RequestFormats{}};
  for (const Mover& first : movers) {
    for (const Representation& representation : first.representations) {
      add_formats(formats, {.representations = {{first.name, representation}}});
      for (const Mover& second : movers) {
        if (&second <= &first) continue;
        for (const Representation& other : second.representations)
          add_formats(formats, {.representations = {{first.name, representation}, {second.name, other}}});
      }
      RequestFormats together;
      for (const Mover& mover : movers) {
        const bool is_possible =
            std::ranges::find(mover.representations, representation) != mover.representations.end();
        if (is_possible) together.representations.emplace(mover.name, representation);
      }
      add_formats(formats, std::move(together));
    }
  }
  return formats;
}

HostTensor as_half(const HostTensor& tensor) {
  HostTensor half = zeros(DType::f16, tensor.shape);
  for (int64_t i = 0; i < element_count(tensor.shape); ++i) set_element(half, i, element(tensor, i));
  return half;
}

// The tensors that become f16: f32 inputs that some kernel accepts as f16, and a floating-point output whose dtype the
// request may set.
bool may_be_half(const OperatorInfo& op, std::string_view name, DType given) {
  const size_t operand = operand_named(op, name);
  return given == DType::f32 && operand < op.operands.size() && takes(op, operand, DType::f16);
}

bool output_may_be_half(const OperatorEntry& entry, const OperatorInfo& op, const Request& request) {
  const auto info = std::ranges::find(entry.attributes, kOutputDtype, &AttributeInfo::name);
  if (info == entry.attributes.end()) return false;
  const auto given = request.attributes.find(kOutputDtype);
  const bool is_given = given != request.attributes.end();
  // Where the operator finds out for itself, it does so for halves too.
  const auto* word = is_given ? std::get_if<std::string>(&given->second) : nullptr;
  const bool is_real = dtype_named(word ? *word : info->otherwise) == DType::f32;
  return is_real && std::ranges::any_of(outputs_of(entry), [&](const TensorInfo& output) {
           return may_be_half(op, output.name, DType::f32);
         });
}

bool may_be_half(const OperatorEntry& entry, const OperatorInfo& op, const Request& request) {
  return output_may_be_half(entry, op, request) || std::ranges::any_of(request.inputs, [&](const auto& named) {
           return may_be_half(op, named.first, named.second.dtype);
         });
}

}  // namespace

std::string to_text(const RequestFormats& one) {
  std::vector<std::string> parts;
  for (const auto& [operand, representation] : one.representations) {
    parts.push_back(fmt::format("{} {} {}", operand, name(representation.storage), name(representation.layout)));
  }
  if (parts.empty()) parts.emplace_back("plain buffers");
  if (one.is_half) parts.emplace_back("f16");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<Representation> representations_of(const OperatorInfo& op, size_t operand) {
  std::vector<Representation> representations;
  if (operand >= op.operands.size()) return representations;
  for_each_form(op, operand, [&](const OperandForm& form) {
    for (const LayoutInfo& row : kLayouts) {
      const Representation representation{row.storage, row.layout};
      const bool is_new = std::ranges::find(representations, representation) == representations.end();
      if (is_new && takes(form, form.dtype, row.storage, row.layout)) representations.push_back(representation);
    }
  });
  return representations;
}

std::vector<RequestFormats> formats_of(const OperatorEntry& entry, const OperatorInfo& op, const Request& request,
                                       const std::map<std::string, size_t, std::less<>>& ranks) {
  std::vector<RequestFormats> formats = formats_through(movers_of(entry, op, ranks));
  if (!may_be_half(entry, op, request)) return formats;
  const size_t count = formats.size();
  for (size_t i = 0; i < count; ++i) {
    formats.push_back(formats[i]);
    formats.back().is_half = true;
  }
  return formats;
}

Request in_formats(const Request& request, const RequestFormats& one, const OperatorEntry& entry,
                   const OperatorInfo& op) {
  Request result = request;
  result.representations = one.representations;
  if (!one.is_half) return result;
  for (auto& [operand, tensor] : result.inputs) {
    if (may_be_half(op, operand, tensor.dtype)) tensor = as_half(tensor);
  }
  if (output_may_be_half(entry, op, request))
    result.attributes.insert_or_assign(std::string(kOutputDtype), std::string(name(DType::f16)));
  return result;
}

}  // namespace qgen::measure
