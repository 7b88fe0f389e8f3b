// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A recording whose inputs and outputs are in memory of the host. They are copied in, run and copied out in one
// submission, whose command buffers are recorded once. For small tensors: three submissions cost more time than the
// copies.
//
//   auto trip = RoundTrip::create(recording, {&ids}, {&token});
//   std::memcpy(trip->input(0).data(), ...);
//   if (Done ran = trip->run(); !ran) return ran;
//   use(trip->output(0));
#pragma once

#include <span>
#include <vector>

#include "runtime/engine/dispatch/executor.h"

namespace qgen {

class RoundTrip {
 public:
  // Tensors of one Executor, which outlive it; row-major, in buffers. Errors: other tensors, no tensor, out of memory,
  // a device that was lent without a queue.
  static Expected<RoundTrip> create(Recording& recording, const std::vector<const DeviceTensor*>& inputs,
                                    const std::vector<const DeviceTensor*>& outputs);
  RoundTrip(RoundTrip&&) noexcept;
  RoundTrip& operator=(RoundTrip&&) noexcept;
  ~RoundTrip();

  // What run() writes. It stays from run to run.
  std::span<std::byte> input(size_t index) const;
  // What the last run() has read.
  std::span<const std::byte> output(size_t index) const;
  // Waits for the results. Errors: those of Executor::run().
  Done run();

 private:
  struct State;
  explicit RoundTrip(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace qgen
