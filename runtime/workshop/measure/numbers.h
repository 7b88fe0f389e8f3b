// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Measures the numbers of a device that Vulkan does not report, by small kernels (specs/measure) at a steady clock:
//
//   bandwidth of memory       a large copy
//   the last cache            buffers of growing size, each read many times: what it holds is read faster
//   f32, f16, int8            chains of multiply-adds and of packed dot products in registers
//   cooperative matrices      the same for each shape that the device offers and kernels use
//   launch and barrier        many empty dispatches, each waiting for the last or none, by the host's clock
//
// A number is the best of several measurements, since every disturbance makes one worse. A rate is measured until the
// two best agree; if they never do, its source says so. If the device lacks a feature, the estimate stays. On a GPU
// this takes ten seconds at most.
#pragma once

#include <functional>

#include "runtime/engine/calls/call.h"

namespace qgen::measure {

// Called before each of `total` steps.
using OnStep = std::function<void(size_t done, size_t total)>;

// The context's profile with what was measured, and `source` said of each ("measured on 2026-11-22"); behind it, of
// rates that never agreed: ", whose runs do not agree: measure again".
Expected<DeviceProfile> measured_numbers(Context& shipped, const std::string& source, const OnStep& on_step = {});

// The largest of what `measure` gives, asked until the two largest agree, or a few times; not again where `may_go_on`
// says no, except once to compare. 0: the device cannot run it.
struct SettledRate {
  double rate = 0;
  bool is_settled = true;  // two agreed
};
Expected<SettledRate> settled_rate(const std::function<Expected<double>()>& measure,
                                   const std::function<bool()>& may_go_on);

// How `bytes` of memory are read to see which cache holds them: in each step by all invocations together a window of it,
// one vector of sixteen bytes each, and then what lies `stride` vectors further on. Nearly all windows are read before
// one is read again, so that all bytes have to be held; the next lies far from where neighbours read, and a processor
// moves on by its own share of it, so that it comes back later than a cache of its own remembers.
struct ReadWalk {
  uint32_t vectors, invocations, stride;
};
ReadWalk read_walk(const DeviceNumbers& device, int64_t bytes);

// Of sizes in ascending order, the largest far too large for any cache, and the rate at which each is read: the largest
// that is read faster than memory is, and the rate at half of it. Smaller ones may be faster still: those lie in caches
// of single compute units. None, where all are read about alike.
struct CacheFinding {
  int64_t bytes = 0;
  double bytes_per_us = 0;
};
struct ReadRate {
  int64_t bytes;
  double bytes_per_us;
};
std::optional<CacheFinding> find_cache(std::span<const ReadRate> rates);

}  // namespace qgen::measure
