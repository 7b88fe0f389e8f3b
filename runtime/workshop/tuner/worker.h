// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The process in which kernels are compiled, verified and timed. If one hangs, crashes or loses the device, this
// process ends and not the tuning. It obeys lines of JSON on standard input and answers with lines on standard output;
// the other end is supervisor.h:
//
//   {"do": "open", "operator": "q8ta_linear", "request": {...}}
//   -> {"problem": "q8ta_linear m=...", "device": {...},
//       "candidates": [{"id": ..., "digest": ..., "cost_us": ...}, ...]}
//   {"do": "compile", "ids": [...]}         -> {"of": [made, all]} ... {}
//   {"do": "compile ahead", "ids": [...]}   -> {} at once; where the device is no CPU, they are compiled meanwhile
//   {"do": "verify", "ids": [...], "without": [...], "within_s": 12.5}
//   -> {"at": id} {"id": ..., "fault": "", "is_proven": true, "is_by_relatives": false, "suspicion": ""} ... {}
//   {"do": "time", "ids": [...], "replays": 10, "chains": 10, "turn_us": 1e5, "is_cold": false, "best_us": 9}
//   {"do": "time", ..., "within_s": 2.5}  of a final round, which ends when it is decided
//   -> {"times": [{"id": ..., "us": [median, low, high], "samples": 33}, ...]}, or {"fault": ...} where a candidate has none
//   {"do": "repeat", "ids": [...], "times": 20, "within_s": 0.5}  -> as verify: whether results change from run to run
//
// It names each candidate first ("at"), so that the parent knows the cause of a death. Ahead of long work on the host,
// it says for how many seconds it may be silent ("allow"). An answer with "error" ends a command.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "runtime/engine/profiles/mask_text.h"
#include "runtime/workshop/runner/program.h"
#include "runtime/workshop/tuner/verifier.h"

namespace qgen::tuner {

struct WorkerOptions {
  std::string device;  // as Device::open() takes it
  profiles::MaskText mask = {};
  uint64_t hang_ms = 10'000;  // a submission that takes longer is a hang
  double cool_s = 0;          // that a race waits at most for a device that has to cool
  VerifierOptions verifier;
  bool is_ahead_on_cpu = false;  // compiles ahead even if it slows the timed kernels: for tests
  // Called before a candidate is compiled, verified or timed: where tests crash and hang. May be empty.
  std::function<void(std::string_view stage, std::string_view id)> on_candidate;
};

// Until standard input ends. The exit code of the process.
int run_worker(const runner::Program& program, const WorkerOptions& options);

}  // namespace qgen::tuner
