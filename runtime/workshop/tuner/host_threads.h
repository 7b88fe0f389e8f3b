// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Keeps the threads of a driver that computes on the host on different processors.
//
// llvmpipe has one thread for each processor, and a kernel of several workgroups uses all of them. Beside other programs
// that are busy, Linux wakes these threads on the processor of the thread that wakes them, and leaves them there. Then
// they run one after the other, and no run of such a kernel shows the time that it takes on a quiet machine. Times of
// kernels of one workgroup do show it, so tuning under load would choose these. With one processor for each thread, some
// of the runs are as on a quiet machine.
//
//   const std::set<pid_t> before = threads_of_process();
//   ... open a device ...
//   const std::set<pid_t> threads = threads_since(before);
//   const PinnedApart pinned(threads);  // while kernels are timed
//
// A pinned thread waits for its processor also where another one is free. So nothing else is pinned.
#pragma once

#include <sys/types.h>

#include <set>

namespace qgen::tuner {

// By their Linux numbers, which grow with each thread that starts. Empty: they cannot be read.
std::set<pid_t> threads_of_process();
std::set<pid_t> threads_since(const std::set<pid_t>& before);

// As long as this lives, each thread runs on one of the processors that the calling thread may use: the first on the
// first, and so on, in turn. So the threads of a pool, which were started in a row, have different ones. Afterwards each
// runs on all of these. What cannot be pinned runs as before.
class PinnedApart {
 public:
  explicit PinnedApart(const std::set<pid_t>& threads);
  PinnedApart(const PinnedApart&) = delete;
  PinnedApart& operator=(const PinnedApart&) = delete;
  ~PinnedApart();

 private:
  const std::set<pid_t>& threads_;
};

}  // namespace qgen::tuner
