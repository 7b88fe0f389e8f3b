// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/runner/trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/files.h"
#include "runtime/engine/calls/infer_arguments.h"
#include "vocabulary/weight_forms.h"

namespace qgen::runner {
namespace {

bool has_four_bits(const TensorDesc& weight) {
  const uint32_t layouts = weight.other_layouts | bit(weight.layout);
  for (const WeightForm& form : weight_forms()) {
    if (form.bits == 4 && (layouts & bit(form.layout)) != 0) return true;
  }
  return false;
}

// The values with which the tuner fills a tensor: any bit pattern for a weight, a small number for a parameter (scale,
// zero point, bias), any values for all others.
std::string_view values_of(const TensorInfo& info, const TensorDesc& desc) {
  if (info.role == TensorInfo::Role::weight) return has_four_bits(desc) ? "=-8..7" : "";
  if (info.has_representation) return "";
  return is_real(desc.dtype) ? "=0.01" : "=0";
}

std::string text_of(const AttributeValue& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::vector<int64_t>>) return fmt::format("{}", fmt::join(v, ","));
        else return fmt::format("{}", v);
      },
      value);
}

void add_representation(const TensorInfo& info, const Representation& representation, RequestText& request) {
  if (representation == Representation{} || info.role == TensorInfo::Role::weight) return;
  request.layouts.push_back(fmt::format("{}={}", info.name, name(representation.layout)));
}

}  // namespace

Task task_of(const InferArguments& arguments) {
  const SignatureInfo& signature = *arguments.signature;
  Task task{std::string(signature.name), {}};
  for (const TensorInfo& info : signature.tensors) {
    if (const auto& representation = arguments.representations[info.operand];
        representation && info.role == TensorInfo::Role::output) {
      add_representation(info, *representation, task.request);
    }
    const auto& tensor = arguments.tensors[info.operand];
    if (!tensor) continue;
    const TensorDesc& desc = tensor->tensor;
    task.request.shapes.push_back(
        fmt::format("{}={}:{}{}", info.name, fmt::join(desc.shape, "x"), name(desc.dtype), values_of(info, desc)));
    add_representation(info, {desc.storage, desc.layout}, task.request);
  }
  for (size_t i = 0; i < signature.attributes.size(); ++i) {
    if (!arguments.attributes[i]) continue;
    task.request.attributes.push_back(
        fmt::format("{}={}", signature.attributes[i].name, text_of(*arguments.attributes[i])));
  }
  return task;
}

void Trace::add(const Call& call) {
  if (!call.arguments) return;
  const std::lock_guard lock(mutex_);
  if (keys_.insert(key_of(call.problem)).second) tasks_.push_back(task_of(*call.arguments));
}

std::vector<Task> Trace::tasks() const {
  const std::lock_guard lock(mutex_);
  return tasks_;
}

Done Trace::save(const std::string& path) const { return write_file(path, to_yaml(tasks())); }

}  // namespace qgen::runner
