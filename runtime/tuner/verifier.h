// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Whether a choice may be trusted on a problem, whatever its size:
//
// * on small relatives of the problem (relatives.h) it gives what the reference gives;
// * on the problem itself too, where the reference takes seconds at most; where it would take longer, it gives what
//   other kernels give that passed so far: two that agree are believed, and the rest is held to them;
// * each time outputs are poisoned before, guard words stand behind them, and a second run must give the same bits.
//
//   Verifier verifier(context, program, task, prepared);
//   std::vector<std::string> faults = verifier.verify(ids, on_candidate, on_fault);
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/measure/verify.h"
#include "runtime/runner/program.h"
#include "runtime/runner/task.h"

namespace qgen::tuner {

class Verifier {
 public:
  // `allow` hears for how many seconds the host may now work by itself. All outlive this.
  Verifier(Context& context, const runner::Program& program, const PreparedCall& problem,
           std::function<void(double seconds)> allow);
  // The relatives and references, made. Error: the program has no reference of the operator.
  Done prepare(const OperatorEntry& entry, const runner::Task& task, const Request& request);

  // Says of each candidate what is wrong with it; "": nothing. `at` hears of each before it runs.
  void verify(std::span<const std::string> ids, const std::function<void(const std::string&)>& at,
              const std::function<void(const std::string& id, const std::string& fault)>& say);
  // Whether a candidate gives the same bits every time.
  std::string repeat(const std::string& id, uint32_t times);

 private:
  struct Case {
    PreparedCall call;
    measure::Expectation expected;
  };
  std::string fault_on_relatives(const std::string& id);
  // Of the problem itself; of an id that does not fit an error.
  Expected<Tensors> run(const PreparedCall& call, const std::string& id);
  std::string fault_of(const Tensors& got, const measure::Expectation& expected) const;
  // Believes what two of these agree on, or the only one there is.
  void find_consensus(const std::vector<std::pair<std::string, Tensors>>& results);

  Context& context_;
  const runner::Program& program_;
  const PreparedCall& problem_;
  std::function<void(double)> allow_;
  std::vector<Case> relatives_;
  std::optional<measure::Expectation> expected_;  // of the problem itself
};

}  // namespace qgen::tuner
