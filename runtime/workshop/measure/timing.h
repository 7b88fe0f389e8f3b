// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Times kernels on the device by its timestamps, all of them under the same conditions.
//
//   SteadyClock clock = *clock_of(shipped);
//   const CopyRival copy = *copy_moving(shipped, bytes_moved(call));
//   const Contestant all[] = {{&context, &call, &first}, {&context, &call, &second}, copy.contestant()};
//   const auto times = time_together(clock, all, {});
//   times->device_us[0].median
//
// `shipped` is a context of the same device with the shipped kernels, of which copies and the clock are made; the
// kernels that are timed may be of another library.
//
// The clock is raised first. Then every round replays each contestant in some chains, so that whatever changes
// meanwhile changes for all; a round in which the clock fell is thrown away and it is raised again. A chain is replays
// one after the other, with the barriers that layers of a network need between them and timestamps at its ends alone:
// twenty of a short kernel, one of a long one. A sample is a replay's share of it. Of a contestant's chains in a
// submission the first, which finds an idle device, is not counted.
//
// Replays of one call find in the cache what the replay before has read, so of a layer of few rows, whose time is that
// of its weight's way from memory, they measure another thing than a network does. With a cold cache, each replay reads
// another copy of the weights, and the copies together are larger than the last cache: twice as large. A call without
// weights has copies of its inputs. Textures are not copied.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/engine/calls/registry.h"
#include "runtime/workshop/measure/race.h"

namespace qgen::measure {

struct Contestant {
  Context* context;  // all of one device
  const PreparedCall* call;
  const Choice* choice;
};

Expected<Timings> time_together(SteadyClock& clock, std::span<const Contestant> contestants,
                                const TimingOptions& options);

// So many copies of what takes `bytes` are larger than the cache, as far as 1024 are: smaller weights stay in part.
uint32_t copies_beyond(uint64_t cache_bytes, uint64_t bytes);

// The medians, for SelectOptions::times. Of contestants of one problem that time_together() timed.
KernelTimes medians_of(std::span<const Contestant> contestants, const Timings& timings);

// What the operands hold, each counted as often as it must at least be moved: once if it is read or written, twice if
// both.
uint64_t bytes_moved(const Call& call);

// A kernel that copies half as many bytes, which it reads and writes: what memory gives. Of a context of the shipped
// kernels.
Expected<PreparedCall> copy_call(Context& context, uint64_t bytes_moved);
struct CopyRival {
  Context* context;
  PreparedCall call;
  Choice choice;
  Contestant contestant() const { return {context, &call, &choice}; }
};
Expected<CopyRival> copy_moving(Context& context, uint64_t bytes_moved);

}  // namespace qgen::measure
