// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What bounds the runs of a language model: what they read and calculate, and how long the device needs for it at least.
//
//   Work work = work_of(model.graph(), prepared.schedule(), cached_tokens);
//   work += ...                                       // of another run
//   const Bounds bounds = bounds_of(work, profile, us);
//   text_of(bounds)       // "  memory: 60.3 KiB of weights and ..., 61 % of a copy (20 GB/s, estimated)\n" and arithmetic
//   bounds.nearest()      // "memory"
//
// The numbers of the device are those by which costs of kernels are estimated: measured, of a data sheet, or estimated.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "runtime/models/graph/schedule.h"

namespace qgen::model {

// What multiplies in a kernel. Each has a rate among the numbers of a device.
enum class Unit : uint8_t { f32, int8_dot_products, f16_matrices, int8_matrices };
constexpr size_t kUnits = 4;

struct Work {
  double weight_bytes = 0;  // of weights and other constants. Of a table, such as an embedding, the rows that are read
  double cache_bytes = 0;   // of the cached tokens that attention reads
  std::array<double, kUnits> operations = {};  // of products, a multiplication and an addition as two; by Unit

  double bytes() const { return weight_bytes + cache_bytes; }
  double all_operations() const;
  Unit main_unit() const;  // that of the most operations
  Work& operator+=(const Work& other);
};

// Of one run, whose attention reads so many cached tokens of each sequence. Each byte counts once in each launch that
// needs it.
Work work_of(const graph::Graph& graph, const graph::Schedule& schedule, std::span<const double> cached_tokens);

struct Rate {
  double per_us = 0;      // achieved: bytes or operations
  double of_device = 0;   // the device's
  double share = 0;       // the time that the device needs at least, as a part of the time that it took
  std::string_view name;  // "a copy"; "f16 matrices": of the unit with the most operations
  std::string source;     // of the device's rate: "measured on 2026-11-22", "estimated"
};

struct Bounds {
  Work work;
  Rate memory, arithmetic;
  std::string_view nearest() const { return memory.share >= arithmetic.share ? "memory" : "arithmetic"; }
};

// `us`: the time of the work.
Bounds bounds_of(const Work& work, const DeviceProfile& device, double us);

// Two lines, of memory and of arithmetic.
std::string text_of(const Bounds& bounds);
nlohmann::ordered_json json_of(const Bounds& bounds);

}  // namespace qgen::model
