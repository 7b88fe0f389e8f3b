// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Threads take the next index from one atomic counter. They start at the first call that has work for them, so a run
// that finds everything in the cache never pays for threads.
#include "codegen/support/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace qgen {

struct ThreadPool::State {
  size_t helpers = 0;  // in addition to the calling thread
  std::vector<std::thread> threads;

  std::mutex mutex;
  std::condition_variable work_is_there;
  std::condition_variable work_is_done;
  size_t round = 0;  // counts calls of for_each_index
  size_t busy = 0;
  bool stops = false;

  const std::function<void(size_t)>* job = nullptr;
  size_t count = 0;
  std::atomic<size_t> next{0};
  std::exception_ptr failure;

  void work() {
    for (size_t index = next++; index < count; index = next++) {
      try {
        (*job)(index);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
    }
  }

  // Where the machine gives fewer threads than are wanted, those that there are do the work.
  void start_threads(size_t wanted) {
    threads.reserve(wanted);
    try {
      while (threads.size() < wanted) threads.emplace_back([this] { help(); });
    } catch (const std::system_error&) {
      helpers = threads.size();
    }
  }

  void help() {
    size_t seen = 0;
    std::unique_lock lock(mutex);
    while (true) {
      work_is_there.wait(lock, [&] { return stops || round != seen; });
      if (stops) return;
      seen = round;
      lock.unlock();
      work();
      lock.lock();
      if (--busy == 0) work_is_done.notify_one();
    }
  }
};

ThreadPool::ThreadPool(size_t threads) : state_(std::make_unique<State>()) {
  const size_t wanted = threads != 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
  state_->helpers = wanted - 1;
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stops = true;
  }
  state_->work_is_there.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
}

size_t ThreadPool::size() const { return state_->helpers + 1; }

void ThreadPool::for_each_index(size_t count, const std::function<void(size_t)>& job) {
  State& state = *state_;
  {
    const std::lock_guard lock(state.mutex);
    state.job = &job;
    state.count = count;
    state.next = 0;
    state.failure = nullptr;
    if (count > 1) {
      state.start_threads(std::min(state.helpers, count - 1));
    }
    state.busy = state.threads.size();
    ++state.round;
  }
  state.work_is_there.notify_all();
  state.work();
  std::unique_lock lock(state.mutex);
  state.work_is_done.wait(lock, [&] { return state.busy == 0; });
  if (state.failure) std::rethrow_exception(state.failure);
}

}  // namespace qgen
