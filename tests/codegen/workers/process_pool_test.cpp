// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// If a call fails in any way, the caller gets the reason, and the next call succeeds.
#include "codegen/workers/process_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

#include "common/sanitizers.h"
#include "tests/support/expected_text.h"

namespace qgen::workers {
namespace {

using Cause = CutOff::Cause;

#if QGEN_ADDRESS_SANITIZED || QGEN_THREAD_SANITIZED
constexpr bool kMemoryIsLimited = false;  // a sanitizer reserves terabytes
#else
constexpr bool kMemoryIsLimited = true;
#endif

#if defined(__SANITIZE_THREAD__)
constexpr Cause kPastItsTime = Cause::killed;  // the timer's signal has no handler there
#else
constexpr Cause kPastItsTime = Cause::cpu_time;
#endif

std::string prepared;        // set in the zygote, seen by its workers
std::vector<char*> hoarded;  // by one worker, from call to call
volatile char sink = 0;

// Frames that no optimiser can join.
int descend(int depth) {
  volatile char frame[1024];
  frame[depth % 1024] = static_cast<char>(depth);
  sink = frame[0];
  return depth == 0 ? 0 : descend(depth - 1) + frame[depth % 1024];
}

void touch(size_t mebibytes) {
  hoarded.push_back(new char[mebibytes << 20]);
  for (size_t at = 0; at < mebibytes << 20; at += 4096) hoarded.back()[at] = 1;
}

std::string work(std::string_view request) {
  if (request == "spin") {
    while (true) sink = sink + 1;
  }
  if (request == "sleep") ::pause();
  if (request == "recurse") return std::to_string(descend(1 << 30));
  if (request == "abort") std::abort();
  if (request == "raise") ::raise(SIGSEGV);
  if (request == "kill") ::raise(SIGKILL);
  if (request == "throw") throw std::runtime_error("no");
  if (request == "too long") return std::string(std::string().max_size(), 'x');
  if (request == "unbounded") {
    while (true) touch(16);
  }
  if (request == "take 100 MiB") touch(100);
  if (request == "process") return std::to_string(::getpid());
  if (request == "prepared") return prepared;
  return "you said " + std::string(request);
}

void prepare(std::string_view kind) { prepared += kind; }

constexpr ProcessPool::Function kFunction{work, prepare};
// Only the test of the time limit has a short one: a slow machine with sanitizers would meet it before the others.
constexpr Limits kSmall{.cpu_seconds = 100, .memory_mib = 256, .stack_mib = 16, .shared_mib = 1024};

Cause cause_of(ProcessPool& pool, std::string_view request) {
  const auto answer = pool.call(request, "");
  if (!answer) return answer.error().cause;
  ADD_FAILURE() << request << " was answered with " << *answer;
  return Cause::crash;
}

struct Row {
  std::string_view request;
  Cause cause;
  bool needs_limited_memory = false;
};
constexpr Row kRows[] = {
    {"recurse", Cause::stack},   {"abort", Cause::crash}, {"raise", Cause::crash},
    {"throw", Cause::crash},     {"kill", Cause::killed}, {"unbounded", Cause::memory, true},
    {"too long", Cause::memory},
};

TEST(ProcessPool, SaysWhyACallHasNoAnswerAndServesTheNext) {
  ProcessPool pool(kFunction, 1, kSmall);
  for (const Row& row : kRows) {
    if (row.needs_limited_memory && !kMemoryIsLimited) continue;
    EXPECT_EQ(cause_of(pool, row.request), row.cause) << row.request;
    EXPECT_TEXT(*pool.call("hello", ""), "you said hello") << "after " << row.request;
  }
}

TEST(ProcessPool, EndsACallAfterItsTimeAndServesTheNext) {
  Limits limits = kSmall;
  limits.cpu_seconds = 1;
  ProcessPool pool(kFunction, 1, limits);
  EXPECT_EQ(cause_of(pool, "spin"), kPastItsTime);
  EXPECT_TEXT(*pool.call("hello", ""), "you said hello");
}

TEST(ProcessPool, TellsTheSignalOfACrash) {
  ProcessPool pool(kFunction, 1, kSmall);
  EXPECT_EQ(pool.call("abort", "").error().signal, SIGABRT);
  EXPECT_EQ(pool.call("raise", "").error().signal, SIGSEGV);
}

TEST(ProcessPool, AnswersManyThreadsEachItsOwn) {
  ProcessPool pool(kFunction, 3, kSmall);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 50; ++i) {
        const std::string said = std::to_string(thread) + " " + std::to_string(i) + std::string(100'000, '.');
        right += *pool.call(said, "") == "you said " + said;
        if (i % 10 == 5) (void)pool.call("abort", "");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 8 * 50);
}

TEST(ProcessPool, PreparesAKindOnceForAllWorkers) {
  ProcessPool pool(kFunction, 1, kSmall);
  EXPECT_EQ(*pool.call("prepared", "a"), "a");
  (void)pool.call("abort", "a");
  EXPECT_EQ(*pool.call("prepared", "a"), "a");
  (void)pool.call("abort", "a");
  EXPECT_EQ(*pool.call("prepared", "b"), "ab");
}

// The use of a worker by others is no fault of a call: only together do three times 100 MiB exceed the limit.
TEST(ProcessPool, BelievesAWorkerOnlyIfItIsFresh) {
  ProcessPool pool(kFunction, 1, kSmall);
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(pool.call("take 100 MiB", ""));
}

// Nor is the number of workers, which decides how much each of them may use at once.
TEST(ProcessPool, GivesOneCallAllTheMemoryThatManyShare) {
  Limits limits = kSmall;
  limits.shared_mib = 512;
  ProcessPool pool(kFunction, 64, limits);
  EXPECT_TRUE(pool.call("take 100 MiB", ""));
  EXPECT_EQ(cause_of(pool, "recurse"), Cause::stack);
  if (kMemoryIsLimited) {
    EXPECT_EQ(cause_of(pool, "unbounded"), Cause::memory);
  }
}

bool is_gone(pid_t process) {
  for (int i = 0; i < 1000; ++i) {
    if (::kill(process, 0) != 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(ProcessPool, LeavesNoProcessBehind) {
  pid_t worker = 0;
  {
    ProcessPool pool(kFunction, 1, kSmall);
    worker = std::stoi(*pool.call("process", ""));
    EXPECT_EQ(::kill(worker, 0), 0);
  }
  EXPECT_NE(::kill(worker, 0), 0);
}

// In the middle of a call, too.
TEST(ProcessPool, DiesWithWhoeverMadeIt) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t owner = ::fork();
  if (owner == 0) {
    ProcessPool pool(kFunction, 1, {.cpu_seconds = 100});
    const pid_t worker = std::stoi(*pool.call("process", ""));
    if (::write(pipe[1], &worker, sizeof worker) != sizeof worker) ::_exit(1);
    (void)pool.call("sleep", "");
    ::_exit(1);
  }
  pid_t worker = 0;
  ASSERT_EQ(::read(pipe[0], &worker, sizeof worker), static_cast<ssize_t>(sizeof worker));
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  EXPECT_TRUE(is_gone(worker));
  ::close(pipe[0]);
  ::close(pipe[1]);
}

}  // namespace
}  // namespace qgen::workers
