// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The shortest time that a device's measured rates allow for a problem. A search ends near it.
//
//   roof_us(problem, profile)   // 41.9: 200 MB at 4.8e6 bytes/us; 0: not known
//
// The bytes that the problem moves at least, and its operations (runtime/workshop/report/work.h), each at the device's
// best rate for them; the longer of the two. Data that the last cache may hold moves at the cache's rate. So the roof may
// be lower than what kernels can reach, and never higher.
#pragma once

#include "runtime/engine/device/device_profile.h"
#include "runtime/engine/selector/problem.h"

namespace qgen::tuner {

// 0: the key does not tell the bytes, or a rate that counts is only estimated (`qgen-info --measure` measures it).
double roof_us(const Problem& problem, const DeviceProfile& device);

}  // namespace qgen::tuner
