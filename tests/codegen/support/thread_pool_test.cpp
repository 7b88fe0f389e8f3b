// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/support/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace qgen {
namespace {

TEST(ThreadPool, EachIndexIsVisitedOnce) {
  for (const size_t threads : {1u, 2u, 7u}) {
    ThreadPool pool(threads);
    for (const size_t count : {0u, 1u, 2u, 1000u}) {
      std::vector<std::atomic<int>> visits(count);
      pool.for_each_index(count, [&](size_t i) { ++visits[i]; });
      for (const auto& visit : visits) EXPECT_EQ(visit, 1) << threads << " threads, " << count << " indices";
    }
  }
}

TEST(ThreadPool, AnExceptionIsThrownWhereTheWorkWasAskedFor) {
  ThreadPool pool(3);
  std::atomic<int> visits = 0;
  const auto job = [&](size_t i) {
    ++visits;
    if (i == 5) throw std::runtime_error("five");
  };
  EXPECT_THROW(pool.for_each_index(100, job), std::runtime_error);
  EXPECT_EQ(visits, 100);
  EXPECT_NO_THROW(pool.for_each_index(2, [](size_t) {}));
}

}  // namespace
}  // namespace qgen
