// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/all_cores.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace qgen {

void on_all_cores(size_t count, const std::function<void(size_t)>& job) {
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) job(i);
  };
  std::vector<std::jthread> others;
  const size_t threads = std::min<size_t>(std::max(1U, std::thread::hardware_concurrency()), count);
  for (size_t i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  others.clear();  // waits
}

}  // namespace qgen
