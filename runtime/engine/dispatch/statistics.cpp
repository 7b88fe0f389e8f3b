// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/dispatch/statistics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "runtime/engine/device/handles.h"
#include "runtime/engine/dispatch/pipelines.h"

namespace qgen {
namespace {

// A number of a driver's may be no number; JSON has no word for it.
std::string value_of(const VkPipelineExecutableStatisticKHR& statistic) {
  switch (statistic.format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR: return statistic.value.b32 ? "true" : "false";
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR: return fmt::format("{}", statistic.value.i64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR: return fmt::format("{}", statistic.value.u64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR:
      return std::isfinite(statistic.value.f64) ? fmt::format("{}", statistic.value.f64) : "null";
    default: return "null";
  }
}

// Drivers choose the names: they are escaped as JSON wants it, byte by byte.
std::string in_quotes(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20) quoted += fmt::format("\\u{:04x}", static_cast<int>(c));
    else quoted += c;
  }
  return quoted + "\"";
}

// Vulkan's way to query a list: first the count, then the entries.
template <typename Struct, typename Ask>
Expected<std::vector<Struct>> list_of(VkStructureType type, const Ask& ask) {
  uint32_t count = 0;
  VkResult result = ask(&count, nullptr);
  std::vector<Struct> list(count, Struct{type});
  if (result == VK_SUCCESS && count > 0) result = ask(&count, list.data());
  if (result != VK_SUCCESS) return vulkan::error_of(result, "reading a pipeline's statistics");
  list.resize(count);
  return list;
}

}  // namespace

std::string to_json(std::span<const std::vector<Statistic>> launches) {
  std::vector<std::string> objects;
  for (const std::vector<Statistic>& launch : launches) {
    std::vector<std::string> members;
    for (const Statistic& s : launch) members.push_back(fmt::format("{}: {}", in_quotes(s.name), s.value));
    objects.push_back(fmt::format("{{{}}}", fmt::join(members, ", ")));
  }
  return fmt::format("[{}]", fmt::join(objects, ", "));
}

Expected<std::vector<Statistic>> dispatch::read_statistics(const Device::Handles& device, VkPipeline pipeline) {
  if (!device.has_pipeline_statistics) {
    return Error{Error::Kind::unsupported,
                 fmt::format("'{}' reports no statistics of its pipelines", device.profile.name),
                 "this needs a driver with VK_KHR_pipeline_executable_properties, and "
                 "OpenOptions::pipeline_statistics"};
  }
  const auto& vk = device.vk;
  const VkPipelineInfoKHR of{VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, nullptr, pipeline};
  const auto programs = list_of<VkPipelineExecutablePropertiesKHR>(
      VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR,
      [&](uint32_t* count, VkPipelineExecutablePropertiesKHR* list) {
        return vk.vkGetPipelineExecutablePropertiesKHR(device.device, &of, count, list);
      });
  if (!programs) return programs.error();
  std::vector<Statistic> statistics;
  for (uint32_t i = 0; i < programs->size(); ++i) {
    const VkPipelineExecutableInfoKHR program{VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, nullptr, pipeline, i};
    const auto said = list_of<VkPipelineExecutableStatisticKHR>(
        VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR,
        [&](uint32_t* count, VkPipelineExecutableStatisticKHR* list) {
          return vk.vkGetPipelineExecutableStatisticsKHR(device.device, &program, count, list);
        });
    if (!said) return said.error();
    const std::string prefix = programs->size() > 1 ? fmt::format("{}: ", (*programs)[i].name) : "";
    for (const auto& s : *said) statistics.push_back({prefix + s.name, value_of(s)});
  }
  return statistics;
}

}  // namespace qgen
