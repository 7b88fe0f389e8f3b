// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/all_cores.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace qgen {

void on_all_cores(size_t count, const std::function<void(size_t)>& job) {
  std::atomic<size_t> next = 0;
  std::mutex lock;
  std::exception_ptr first;
  const auto work = [&] {
    try {
      for (size_t i = next++; i < count; i = next++) job(i);
    } catch (...) {
      const std::lock_guard held(lock);
      if (!first) first = std::current_exception();
    }
  };
  std::vector<std::jthread> others;
  const size_t threads = std::min<size_t>(std::max(1U, std::thread::hardware_concurrency()), count);
  for (size_t i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  others.clear();  // waits
  if (first) std::rethrow_exception(first);
}

}  // namespace qgen
