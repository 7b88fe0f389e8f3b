// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Times that were measured, of many problems on some devices, and which of them count for one problem on one device:
//
//   TimeBook book(library);                // with the tables that `qgen --tuning` compiled into the library
//   book.add(profile, rows);               // what the store has, or another source
//   const auto times = book.of(problem, profile);
//   select(problem, profile, library, {.times = times.get()});
//
// Layers, the most trusted first: this problem on this device and driver; a problem like it there; either on this model
// of device (another driver, another board); either on a device of its architecture. A time of another problem or
// architecture is scaled by the ratio of the spec's costs. Two problems are alike if they differ in sizes alone, all
// together by a factor of four at most; of several the nearest counts.
//
// Rows of kernels that the library does not have, or has with other SPIR-V, do not count.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runtime/device/device_profile.h"
#include "runtime/library/kernel_library.h"
#include "runtime/selector/problem.h"
#include "runtime/selector/times.h"

namespace qgen {

struct TimedKernel {
  std::string_view problem;  // key_of()
  std::string_view kernel;   // Choice::id
  uint64_t digest = 0;       // digest_of() the choice
  double us = 0;
  std::string_view date;  // "2026-11-23"
  bool is_cold = false;   // the cache, of weights
};

class TimeBook {
 public:
  // `library` must outlive it.
  explicit TimeBook(const KernelLibrary& library);
  // What was measured on a device. The number of rows that count; texts are copied.
  size_t add(const DeviceProfile& device, std::span<const TimedKernel> rows);
  // Never null. Safe from many threads; what was asked before is kept until add().
  std::shared_ptr<const KernelTimes> of(const Problem& problem, const DeviceProfile& device) const;

  TimeBook(TimeBook&&) noexcept;
  TimeBook& operator=(TimeBook&&) noexcept;
  ~TimeBook();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace qgen
