// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Calls a function from bytes to bytes in separate processes, each call under limits. A fault that would crash or stop
// this process ends only a worker. The pool replaces the worker and returns the cause.
//
//   ProcessPool pool({.work = compile_text, .prepare = load_tables}, workers, {});  // while there is one thread
//   auto answer = pool.call(text, "450");                                           // from any thread
//   if (!answer) complain(answer.error().cause);
//
// The result does not depend on the number of workers, or on their earlier work. If a call fails in a worker that is
// not fresh, or that shares its memory limit, it is repeated in a fresh worker with all of Limits. Only a failure by
// time is final at once, because the limit is on the process's time.
//
// Workers end with this process, in whatever way it ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/outcome.h"

namespace qgen::workers {

// Of one call.
struct Limits {
  uint32_t cpu_seconds = 2;       // of the process, so that a busy machine refuses nothing
  uint32_t memory_mib = 768;      // beyond a worker's initial memory; ignored under sanitizers, which reserve terabytes
  uint32_t stack_mib = 64;        // of that memory
  uint32_t shared_mib = 3 * 512;  // of all workers together
};

// Why a call gave no answer.
struct CutOff {
  enum class Cause : uint32_t {
    cpu_time,   // it took longer than Limits::cpu_seconds
    real_time,  // it neither ended nor computed
    memory,
    stack,
    crash,
    killed,  // by somebody else: the kernel, where memory is short
  };
  Cause cause = Cause::crash;
  int signal = 0;           // of a crash, where there was one
  double real_seconds = 0;  // that the call took, all attempts together
};

class ProcessPool {
 public:
  struct Function {
    // Its exceptions, but std::bad_alloc, count as crashes.
    std::string (*work)(std::string_view request);
    // The preparation for all calls of a kind, done once in the process from which workers are copied.
    void (*prepare)(std::string_view kind);
  };

  // Forks, so it is made before other threads are. No worker starts before the first call.
  ProcessPool(Function function, size_t most_workers, const Limits& limits);
  ~ProcessPool();
  ProcessPool(const ProcessPool&) = delete;
  ProcessPool& operator=(const ProcessPool&) = delete;

  // `kind` is short and means nothing but what `prepare` makes of it. Throws std::system_error where the machine has no
  // process left to give.
  Outcome<std::string, CutOff> call(std::string_view request, std::string_view kind);

  const Limits& limits() const { return limits_; }

 private:
  class State;
  const Limits limits_;
  std::unique_ptr<State> state_;
};

}  // namespace qgen::workers
