// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A fixed set of threads that do the same work on each element of a sequence. Results are stored by index, so they do
// not depend on the number of threads.
//
//   ThreadPool pool(options.threads);
//   pool.for_each_index(variants.size(), [&](size_t i) { modules[i] = compile(variants[i]); });
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace qgen {

class ThreadPool {
 public:
  // 0 threads: one for each core. The calling thread works too, so a pool of one starts no thread.
  explicit ThreadPool(size_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // How many threads work, the calling one included.
  size_t size() const;

  // Calls job(0) ... job(count - 1), each once, in no order; returns when all are done. The first exception of a job
  // is thrown again here, after the others have ended. One call at a time.
  void for_each_index(size_t count, const std::function<void(size_t)>& job);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace qgen
