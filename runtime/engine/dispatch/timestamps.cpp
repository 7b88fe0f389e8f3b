// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/dispatch/timestamps.h"

#include <fmt/format.h>

namespace qgen::dispatch {

Expected<Timestamps> Timestamps::make(std::shared_ptr<const Device::Handles> device, uint32_t count) {
  if (device->profile.timestamp_period_ns <= 0) {
    return Error{Error::Kind::unsupported,
                 fmt::format("the compute queue of '{}' has no timestamps", device->profile.name),
                 "measure on the host's clock around run()"};
  }
  VkQueryPoolCreateInfo info{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = count;
  VkQueryPool pool = VK_NULL_HANDLE;
  const VkResult result = device->vk.vkCreateQueryPool(device->device, &info, nullptr, &pool);
  if (result != VK_SUCCESS) return vulkan::error_of(result, "creating timestamp queries");
  return Timestamps(std::move(device), pool, count);
}

void Timestamps::reset(VkCommandBuffer commands) const { device_->vk.vkCmdResetQueryPool(commands, pool_, 0, count_); }

void Timestamps::write(VkCommandBuffer commands, VkPipelineStageFlagBits stage, uint32_t index) const {
  device_->vk.vkCmdWriteTimestamp(commands, stage, pool_, index);
}

Expected<std::vector<double>> Timestamps::intervals_us() const {
  std::vector<uint64_t> ticks(count_);
  const VkResult result = device_->vk.vkGetQueryPoolResults(
      device_->device, pool_, 0, count_, ticks.size() * sizeof(uint64_t), ticks.data(), sizeof(uint64_t),
      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  if (result != VK_SUCCESS) return vulkan::error_of(result, "reading timestamps");
  // A counter of fewer bits wraps; differences within those bits do not.
  const uint64_t mask = device_->timestamp_bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << device_->timestamp_bits) - 1;
  std::vector<double> intervals;
  for (size_t i = 1; i < ticks.size(); ++i) {
    const auto elapsed = static_cast<double>((ticks[i] - ticks[i - 1]) & mask);
    intervals.push_back(elapsed * device_->profile.timestamp_period_ns / 1e3);
  }
  return intervals;
}

Timestamps::~Timestamps() {
  if (pool_) device_->vk.vkDestroyQueryPool(device_->device, pool_, nullptr);
}

}  // namespace qgen::dispatch
