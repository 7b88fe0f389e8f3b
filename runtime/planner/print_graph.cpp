// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// In the order of the graph, one line for each tensor, kernel and rule.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "common/yaml/reader.h"
#include "runtime/planner/graph_text.h"

namespace qgen::planner {
namespace {

using yaml::scalar_text;

std::string words(const std::vector<std::string>& names) {
  std::vector<std::string> list;
  for (const auto& name : names) list.push_back(scalar_text(name));
  return fmt::format("[{}]", fmt::join(list, ", "));
}

std::string set_text(RepresentationSet set) {
  if (set == any_representation()) return "any";
  if (set == any_of(Storage::buffer)) return "buffer.*";
  if (set == any_of(Storage::texture3d)) return "texture3d.*";
  if (set == any_packed_int8()) return "buffer.packed_*";
  std::vector<std::string> names;
  for (Representation r : set) names.push_back(name(r));
  return names.size() == 1 ? names.front() : fmt::format("[{}]", fmt::join(names, ", "));
}

std::string device_text(const DeviceModel& device) {
  return fmt::format("{{image_extent: [{}], buffer_bytes: {}, bytes_per_us: {}, launch_us: {}, preferred: {}}}",
                     fmt::join(device.image_extent, ", "), device.buffer_bytes, device.bytes_per_us, device.launch_us,
                     name(device.preferred));
}

std::string tensor_text(const Tensor& tensor) {
  std::string text = fmt::format("shape: [{}], dtype: {}", fmt::join(tensor.shape, ", "), name(tensor.dtype));
  if (!tensor.arrives_as.empty()) text += fmt::format(", arrives_as: {}", set_text(tensor.arrives_as));
  if (!tensor.leaves_as.empty()) text += fmt::format(", leaves_as: {}", set_text(tensor.leaves_as));
  return fmt::format("{{{}}}", text);
}

std::string operand_text(const Node& node, uint32_t operand) {
  std::vector<std::string_view> names(node.inputs.begin(), node.inputs.end());
  names.insert(names.end(), node.outputs.begin(), node.outputs.end());
  const bool is_unique = std::count(names.begin(), names.end(), names[operand]) == 1;
  return is_unique ? scalar_text(names[operand]) : std::to_string(operand);
}

std::string synced_text(const Node& node, const Kernel& kernel) {
  std::vector<std::string> groups;
  for (const auto& group : kernel.synced) {
    std::vector<std::string> operands;
    for (uint32_t operand : group) operands.push_back(operand_text(node, operand));
    groups.push_back(fmt::format("[{}]", fmt::join(operands, ", ")));
  }
  const bool is_plain_group = groups.size() == 1 && !kernel.synced.front().empty();
  return is_plain_group ? groups.front() : fmt::format("[{}]", fmt::join(groups, ", "));
}

std::string kernel_text(const Node& node, const Kernel& kernel) {
  std::vector<std::string> sets;
  for (RepresentationSet set : kernel.takes) sets.push_back(set_text(set));
  std::string text = fmt::format("takes: [{}]", fmt::join(sets, ", "));
  if (!kernel.synced.empty()) text += fmt::format(", synced: {}", synced_text(node, kernel));
  return fmt::format("{{{}, cost_us: {}}}", text, kernel.cost_us);
}

std::string node_text(const Node& node) {
  std::string text =
      fmt::format("  {}:\n    op: {}\n    reads: {}\n    writes: {}\n    kernels:{}\n", scalar_text(node.name),
                  scalar_text(node.op), words(node.inputs), words(node.outputs), node.kernels.empty() ? " {}" : "");
  for (const Kernel& kernel : node.kernels) {
    text += fmt::format("      {}: {}\n", scalar_text(kernel.name), kernel_text(node, kernel));
  }
  return text;
}

std::string rule_text(const ConversionRule& rule) {
  const std::string tensor = rule.tensor.empty() ? "" : fmt::format("tensor: {}, ", scalar_text(rule.tensor));
  return fmt::format("  - {{{}from: {}, to: {}, cost_us: {}}}\n", tensor, set_text(rule.from), set_text(rule.to),
                     rule.cost_us ? fmt::format("{}", *rule.cost_us) : "none");
}

}  // namespace

std::string to_yaml(const GraphText& text) {
  std::string yaml = text.device == DeviceModel{} ? "" : fmt::format("device: {}\n\n", device_text(text.device));
  yaml += text.graph.tensors.empty() ? "tensors: {}\n" : "tensors:\n";
  for (const Tensor& tensor : text.graph.tensors)
    yaml += fmt::format("  {}: {}\n", scalar_text(tensor.name), tensor_text(tensor));
  yaml += text.graph.nodes.empty() ? "\noperators: {}\n" : "\noperators:\n";
  for (const Node& node : text.graph.nodes) yaml += node_text(node);
  if (!text.conversions.empty()) yaml += "\nconversions:\n";
  for (const ConversionRule& rule : text.conversions) yaml += rule_text(rule);
  return yaml;
}

}  // namespace qgen::planner
