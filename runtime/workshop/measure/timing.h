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
// `shipped` is a context of the same device with the shipped kernels, which make the copy and the clock's load. The
// timed kernels may come from another library.
//
// The clock is raised first. Then every round replays each contestant in some chains, so that disturbances affect all
// of them. A round in which the clock fell is dropped, and the clock is raised again. A chain is a sequence of replays,
// with the barriers that a network needs between layers, and with timestamps only at its ends: twenty replays of a
// short kernel, one of a long one. A sample is the time of a chain divided by its replays. The first chain of a
// contestant in a submission finds an idle device, and is not counted.
//
// Replays of one call find in the cache the data of the previous replay. A layer with few rows takes as long as reading
// its weight from memory, so such replays do not measure its time in a network. With a cold cache, each replay reads
// another copy of the weights. The copies together are twice as large as the last cache. A call without weights has
// copies of its inputs. Textures are not copied.
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

// How many copies of `bytes` are larger than the cache, at most 1024: smaller weights stay in part.
uint32_t copies_beyond(uint64_t cache_bytes, uint64_t bytes);

// The medians, for SelectOptions::times. Of contestants of one problem that time_together() timed.
KernelTimes medians_of(std::span<const Contestant> contestants, const Timings& timings);

// A weight of four bits has two elements a byte, in whichever form.
uint64_t bytes_of(const TensorDesc& operand);

// The operands' bytes, each counted as often as it must at least be moved: once if it is read or written, twice if
// both.
uint64_t bytes_moved(const Call& call);

// A kernel that copies half as many bytes, which it reads and writes: it shows the memory's rate. Of a context of the
// shipped kernels.
Expected<PreparedCall> copy_call(Context& context, uint64_t bytes_moved);
struct CopyRival {
  Context* context;
  PreparedCall call;
  Choice choice;
  Contestant contestant() const { return {context, &call, &choice}; }
};
Expected<CopyRival> copy_moving(Context& context, uint64_t bytes_moved);

}  // namespace qgen::measure
