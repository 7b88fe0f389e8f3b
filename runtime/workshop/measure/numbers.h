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

// The context's profile with the measured numbers, and `source` for each ("measured on 2026-11-22"); for rates that
// never agreed, it is followed by: ", whose runs do not agree: measure again".
Expected<DeviceProfile> measured_numbers(Context& shipped, const std::string& source, const OnStep& on_step = {});

// The largest of `measure`'s results. It is repeated until the two largest agree, or a few times; if `may_go_on` says
// no, only once more to compare. 0: the device cannot run it.
struct SettledRate {
  double rate = 0;
  bool is_settled = true;  // two agreed
};
Expected<SettledRate> settled_rate(const std::function<Expected<double>()>& measure,
                                   const std::function<bool()>& may_go_on);

// How `bytes` of memory are read to see which cache holds them. In each step all invocations together read a window of
// it, one vector of sixteen bytes each, and then the window `stride` vectors further on. Nearly all windows are read
// before one is read again, so that all bytes have to be held. The next window is far from those that neighbours read.
// A processor moves on by its own share of it, so it comes back later than its own cache remembers.
struct ReadWalk {
  uint32_t vectors, invocations, stride;
};
ReadWalk read_walk(const DeviceNumbers& device, int64_t bytes);

// From sizes in ascending order, the largest far too large for any cache, and the read rate of each: the largest size
// that is read faster than memory, and the rate at half of it. Smaller sizes may be faster still: they fit caches of
// single compute units. None, if all rates are about equal.
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
