// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A function of bytes to bytes that is called in processes of its own, each call under limits: what would crash or
// stop this process ends one of those, which is replaced, and the caller is told why.
//
//   ProcessPool pool({.work = compile_text, .prepare = load_tables}, workers, {});  // while there is one thread
//   auto answer = pool.call(text, "450");                                           // from any thread
//   if (!answer) complain(answer.error().cause);
//
// A verdict does not depend on how many workers there are, or what they did before: a call that fails in a worker that
// is not fresh, or that had to share its memory with the others, is made once more in a fresh one with all that Limits
// allow. Only time is believed at once, because it is the process's own.
//
// Workers die with this process, however it ends.
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
  uint32_t memory_mib = 768;      // beyond what a worker begins with; ignored under sanitizers, which reserve terabytes
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
    // What calls of a kind have in common, done once in the process that workers are copies of.
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
