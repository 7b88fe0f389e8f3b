// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Measured times of many problems on several devices, and those that count for one problem on one device:
//
//   TimeBook book(library);                // with the tables that `qgen --tuning` compiled into the library
//   book.add(profile, rows);               // what the store has, or another source
//   const auto times = book.of(problem, profile);
//   select(problem, profile, library, {.times = times.get()});
//
// Sources, the most trusted first: this problem on this device and driver; a near problem there; either on the same
// device model (another driver or another card); either on a device of the same architecture. A time of another problem
// or architecture is scaled by the ratio of the spec's costs. Two problems are near if they differ only in sizes, and
// the factors of all sizes multiply to at most four. Of several near problems the nearest counts.
//
// Rows of kernels that the library does not have, or has with other SPIR-V, do not count. Kernels that are quarantined on
// the device are told with the times.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runtime/engine/device/device_profile.h"
#include "runtime/engine/library/kernel_library.h"
#include "runtime/engine/selector/problem.h"
#include "runtime/engine/selector/times.h"

namespace qgen {

struct TimedKernel {
  std::string_view problem;  // key_of()
  std::string_view kernel;   // Choice::id
  uint64_t digest = 0;       // digest_of() the choice
  double us = 0;
  std::string_view date;   // "2026-11-23"
  bool is_cold = false;    // the cache, of weights
  bool is_final = false;   // KnownTime::is_final
  bool is_marked = false;  // KnownTime::is_marked
};

// A choice that crashed or computed wrongly on a device.
struct QuarantinedKernel {
  std::string kernel;   // Choice::id
  uint64_t digest = 0;  // digest_of() the choice
  std::string reason;   // "wrong results (2026-11-23)"
};

// Times of a device that are read when a problem is first looked up, since a store may have millions.
struct TimesOnDemand {
  // Calls `take` with the measured times of the problem, and with KernelTimes::notes(); or does not call it.
  using Take = std::function<void(std::span<const TimedKernel> rows, std::vector<std::string> notes)>;
  std::function<void(const std::string& key, const Take& take)> of_problem;
  // Calls `take` with the key of each measured problem of the operator.
  std::function<void(std::string_view op, const std::function<void(std::string_view key)>& take)> keys_of;
};

class TimeBook {
 public:
  // `library` must outlive it.
  explicit TimeBook(const KernelLibrary& library);
  // Adds the measured times of a device. Returns the number of rows that count. Texts are copied.
  size_t add(const DeviceProfile& device, std::span<const TimedKernel> rows);
  // The same, read on demand, by one thread at a time.
  void add(const DeviceProfile& device, TimesOnDemand times);
  // The answers for this device have them, as far as the library has these kernels with this SPIR-V.
  void quarantine(const DeviceProfile& device, std::span<const QuarantinedKernel> kernels);
  // Also of a kernel that the library lacks, such as one in the file of a compiled model.
  bool has_quarantined(const DeviceProfile& device, const std::string& kernel, uint64_t digest) const;
  // Never null. May be called from many threads. Answers are kept until add().
  std::shared_ptr<const KernelTimes> of(const Problem& problem, const DeviceProfile& device) const;

  TimeBook(TimeBook&&) noexcept;
  TimeBook& operator=(TimeBook&&) noexcept;
  ~TimeBook();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace qgen
