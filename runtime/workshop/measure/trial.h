// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Runs one choice of a call and looks for faults. Outputs are filled with one poison value before the first run, and
// with another before the second. So an element that is not written, or a result that changes from run to run, shows as
// a difference. The guard words after each output are checked too. If the kernel may write in place, a third run does
// so, and must give the same bits. Make the Executor with guard_bytes.
//
//   const auto trial = run_trial(context, prepared, choice);
//   const auto outputs = elements_of(*trial);
//   const auto again = run_trial(context, prepared, another, &trial->written);
//   if (again->is_as_known) ...                               // the same bits: there is nothing else to look at
//
// Outputs are compared in their layout: converting hundreds of megabytes to row-major order takes the host a hundred
// times as long as writing them takes the device.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/engine/calls/registry.h"

namespace qgen::measure {

struct StoredOutput {
  TensorDesc tensor;
  std::vector<std::byte> bytes;  // in a buffer the stored bytes; in a texture its elements
  friend bool operator==(const StoredOutput& a, const StoredOutput& b) { return a.bytes == b.bytes; }
};
using StoredOutputs = std::map<std::string, StoredOutput, std::less<>>;  // by operand

struct Trial {
  StoredOutputs written;     // the call's outputs, and given tensors that it only writes
  bool is_as_known = false;  // they equal the known ones, and `written` is empty
};
// `known`: outputs of the same call, of a choice that was found right; may be null.
Expected<Trial> run_trial(Context& context, const PreparedCall& prepared, const Choice& choice,
                          const StoredOutputs* known = nullptr);
Expected<Tensors> elements_of(const Trial& trial);

// Runs it up to so many times more while it `may_go_on`, and says in which run it gave other bits; "": in none.
std::string repeat(Context& context, const PreparedCall& prepared, const Choice& choice, uint32_t times,
                   const std::function<bool()>& may_go_on);

}  // namespace qgen::measure
