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
//
// The next run may be submitted while one is running, so that the device does not wait for the host. Each of the two
// has its own slot of host memory. The next run may also get an input from an output that only the device knows yet:
//
//   auto trip = RoundTrip::create(recording, {&ids, &positions}, {&token}, RoundTrip::Fed{.output = 0, .input = 0});
//   trip->submit(0);               // with the inputs of slot 0
//   trip->submit(1, true);         // its ids are the tokens of the run in slot 0
//   trip->wait(0);
//   use(trip->output(0, 0));
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/engine/dispatch/executor.h"

namespace qgen {

class RoundTrip {
 public:
  static constexpr size_t kSlots = 2;
  // Indices of an output, and of the input that the next run may have of it. Both must have as many bytes.
  struct Fed {
    size_t output = 0, input = 0;
  };

  // Tensors of one Executor, which outlive it; row-major, in buffers. Errors: other tensors, no tensor, a fed input of
  // another size than the output, out of memory, a device that was lent without a queue.
  static Expected<RoundTrip> create(Recording& recording, const std::vector<const DeviceTensor*>& inputs,
                                    const std::vector<const DeviceTensor*>& outputs, std::optional<Fed> fed = {});
  RoundTrip(RoundTrip&&) noexcept;
  RoundTrip& operator=(RoundTrip&&) noexcept;
  ~RoundTrip();

  // What the next run in this slot writes. It stays from run to run. Not to be written while that slot runs.
  std::span<std::byte> input(size_t index, size_t slot = 0) const;
  // What the last run in this slot has read.
  std::span<const std::byte> output(size_t index, size_t slot = 0) const;
  // In slot 0. Waits for the results. Errors: those of Executor::run().
  Done run();

  // Whether the device can submit without waiting.
  bool can_submit() const;
  // Without waiting for it, after waiting for the run before in this slot. `is_fed`: the input of Fed is the output of
  // the last run in the other slot. Errors: those of Executor::submit().
  Done submit(size_t slot, bool is_fed = false);
  Done wait(size_t slot);

 private:
  struct State;
  explicit RoundTrip(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace qgen
