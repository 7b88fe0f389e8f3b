// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// GPU timestamps within one command buffer.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "runtime/engine/device/handles.h"
#include "runtime/engine/library/error.h"

namespace qgen::dispatch {

class Timestamps {
 public:
  // Error: the queue has none.
  static Expected<Timestamps> make(std::shared_ptr<const Device::Handles> device, uint32_t count);

  void reset(VkCommandBuffer commands) const;  // before the first write() of a command buffer
  // Once all earlier commands are through `stage`.
  void write(VkCommandBuffer commands, VkPipelineStageFlagBits stage, uint32_t index) const;
  // After the command buffer ran: microseconds between neighbours, count - 1 of them.
  Expected<std::vector<double>> intervals_us() const;

  Timestamps(Timestamps&& other) noexcept { swap(other); }
  Timestamps& operator=(Timestamps&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Timestamps();

 private:
  Timestamps(std::shared_ptr<const Device::Handles> device, VkQueryPool pool, uint32_t count)
      : device_(std::move(device)), pool_(pool), count_(count) {}
  void swap(Timestamps& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(pool_, other.pool_);
    std::swap(count_, other.count_);
  }

  std::shared_ptr<const Device::Handles> device_;
  VkQueryPool pool_ = VK_NULL_HANDLE;
  uint32_t count_ = 0;
};

}  // namespace qgen::dispatch
