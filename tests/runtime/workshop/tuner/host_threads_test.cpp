// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/tuner/host_threads.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <future>
#include <thread>
#include <vector>

namespace qgen::tuner {
namespace {

std::vector<size_t> processors_of(pid_t thread) {
  cpu_set_t set;
  std::vector<size_t> processors;
  if (::sched_getaffinity(thread, sizeof(set), &set) != 0) return processors;
  for (size_t processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &set)) processors.push_back(processor);
  }
  return processors;
}

TEST(HostThreads, OfAPoolAreOnDifferentProcessors) {
  const std::vector<size_t> all = processors_of(0);
  ASSERT_FALSE(all.empty());
  const std::set<pid_t> before = threads_of_process();
  EXPECT_TRUE(before.contains(::gettid()));
  EXPECT_TRUE(threads_since(before).empty());
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  std::vector<std::jthread> pool;
  for (size_t i = 0; i < 2 * all.size(); ++i) pool.emplace_back([ended] { ended.wait(); });
  const std::set<pid_t> started = threads_since(before);
  EXPECT_EQ(started.size(), pool.size());
  {
    const PinnedApart pinned(started);
    size_t place = 0;
    for (const pid_t thread : started) EXPECT_EQ(processors_of(thread), std::vector{all[place++ % all.size()]});
    EXPECT_EQ(processors_of(0), all) << "the others, and threads that they start, run anywhere";
  }
  for (const pid_t thread : started) EXPECT_EQ(processors_of(thread), all);
  end.set_value();
}

TEST(HostThreads, ThatHaveEndedAreLeftOut) {
  const std::set<pid_t> ended = {0x3fffffff};
  const PinnedApart pinned(ended);
}

}  // namespace
}  // namespace qgen::tuner
