// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/lifetimes.h"

#include <algorithm>

#include "runtime/engine/dispatch/executor.h"

namespace qgen::graph {

uint32_t root_of(const Schedule& schedule, uint32_t tensor) {
  while (schedule.tensors[tensor].alias_of != PlacedValue::kNone) tensor = schedule.tensors[tensor].alias_of;
  return tensor;
}

std::vector<Lifetime> lifetimes_of(const Schedule& schedule) {
  const auto count = static_cast<uint32_t>(schedule.tensors.size());
  const auto end = static_cast<uint32_t>(schedule.steps.size());
  std::vector<Lifetime> lifetimes(count, {.first = end, .last = 0});
  const auto live_at = [&](uint32_t tensor, uint32_t step) {
    Lifetime& lifetime = lifetimes[root_of(schedule, tensor)];
    lifetime.first = std::min(lifetime.first, step);
    lifetime.last = std::max(lifetime.last, step);
  };
  for (const uint32_t input : schedule.inputs) live_at(input, 0);
  for (const uint32_t output : schedule.outputs) live_at(output, end);
  for (uint32_t i = 0; i < end; ++i) {
    for (const Source& source : schedule.steps[i].operands) {
      if (source.kind == Source::Kind::tensor) live_at(source.index, i);
    }
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (root_of(schedule, i) != i) {
      lifetimes[i] = {};
      continue;
    }
    const TensorDesc& value = schedule.values[schedule.tensors[i].value];
    const bool is_elsewhere = std::ranges::count(schedule.states, i) > 0 || std::ranges::count(schedule.kept, i) > 0;
    lifetimes[i].bytes = is_elsewhere ? 0 : buffer_bytes(value.dtype, value.shape, schedule.tensors[i].layout);
    lifetimes[i].first = std::min(lifetimes[i].first, lifetimes[i].last);
  }
  for (uint32_t i = 0; i < end; ++i) {
    if (schedule.steps[i].scratch) lifetimes.push_back({scratch_bytes(*schedule.steps[i].choice), i, i});
  }
  return lifetimes;
}

}  // namespace qgen::graph
