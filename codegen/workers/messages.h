// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The messages between the processes of a pool, over stream sockets. Private to this room.
//
//   pool    -> zygote   Order        a worker, please
//   zygote  -> pool     Delivery     and with it the worker's socket
//   pool    -> worker   Size, bytes  a request
//   worker  -> pool     Head, bytes  its answer, or why there is none
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "codegen/workers/process_pool.h"

namespace qgen::workers {

// The limits of a worker.
struct Allowance {
  uint32_t cpu_seconds = 0;
  uint32_t memory_mib = 0;
  uint32_t stack_mib = 0;
};

struct Order {
  Allowance allowance;
  char kind[64] = {};  // ends with a zero
};

struct Delivery {
  int32_t error = 0;  // errno, or 0 and a socket
};

using Size = uint64_t;
constexpr Size kMostBytes = Size{1} << 30;  // of a request or an answer

struct Head {
  bool is_answer = false;
  CutOff::Cause cause = CutOff::Cause::crash;  // unless it is one
  int32_t signal = 0;
  Size size = 0;
};

// Whole, or false: the other side is gone.
bool send_all(int socket, const void* bytes, size_t size);
bool receive_all(int socket, void* bytes, size_t size);

// Serves orders until the pool closes its end, then waits for the workers. In a separate process. No allowance orders
// more stack than `stack_mib`.
[[noreturn]] void run_zygote(int orders, const ProcessPool::Function& function, uint32_t stack_mib);

}  // namespace qgen::workers
