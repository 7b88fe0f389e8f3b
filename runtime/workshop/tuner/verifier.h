// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Decides whether a choice may be trusted on a problem of any size:
//
// * On small relatives of the problem (relatives.h) it must agree with the reference.
// * On the problem itself it must agree with the reference too, if that takes seconds at most. If it would take longer,
//   two choices that agree are trusted, if they share no family (a family is a template, and its kernels may have one
//   fault). So a choice is compared with a witness, the cheapest of other families. If they disagree, the reference
//   decides, if it is expected to end in time. If all choices of a problem have one template, only relatives are
//   checked, and the verdict says so.
// * Without references, kernels are only compared with each other, within the spec's tolerance.
// * Outputs are filled with poison before each run, guard words follow them, and a second run must give the same bits.
//
// A reference may be wrong. If a choice disagrees with it, and no choice has agreed with it yet, others are run, first
// those that share no family. If all of them agree with the choice, the verdict suspects the reference. From then on,
// choices of different templates are trusted if they agree. If all have one template, the choice is dropped, but its
// fault is not proven.
//
//   Verifier verifier(context, program, prepared, choices, options);
//   verifier.prepare(*entry, task, request);
//   verifier.verify(ids, {}, until, on_candidate, on_verdict);
//
// Inputs, references and correct outputs are computed once for all candidates. A candidate whose outputs have these
// bits is compared without a conversion of the layout, and costs two copies from the device.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "runtime/workshop/measure/trial.h"
#include "runtime/workshop/measure/verify.h"
#include "runtime/workshop/runner/program.h"
#include "runtime/workshop/runner/task.h"

namespace qgen::tuner {

struct Verdict {
  std::string fault;  // "": none
  // For a fault: the choice is wrong. It does not merely differ from unproven others, nor is it too large here.
  bool is_proven = true;
  bool is_by_relatives = false;  // only small relatives were checked
  std::string suspicion = {};    // why the reference may be wrong; empty: nothing says so
};

struct VerifierOptions {
  double most_operations = 2e8;  // of a reference
  // Of the reference that decides between choices that do not agree. 0: there is none.
  double most_operations_to_decide = 2e10;
};

class Verifier {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using At = std::function<void(const std::string& id)>;
  using Say = std::function<void(const std::string& id, const Verdict& verdict)>;

  // `choices` by cost. `allow` is called with the number of seconds for which the host may now work alone. Arguments
  // passed by reference outlive this, except the options.
  Verifier(Context& context, const runner::Program& program, const PreparedCall& problem,
           std::span<const Choice> choices, std::function<void(double seconds)> allow,
           const VerifierOptions& options = {});
  // The relatives and references, made, a thread for each. Error: the program has references, but none for the
  // operator.
  Done prepare(const OperatorEntry& entry, const runner::Task& task, const Request& request);

  // The candidates as verify() runs them on relatives, whose pipelines may have other constants than the problem's.
  std::vector<Choice> on_relatives(std::span<const std::string> ids) const;
  // Returns the fault of each candidate. `at` hears of each before it runs. Witnesses are choices too: `at` is called
  // for each of them, `say` if they are wrong. Those that passed only by relatives are reported again if they turn out
  // to be wrong. No witness is of `without`. A reference that would not end by then decides nothing.
  void verify(std::span<const std::string> ids, const std::set<std::string>& without, Time until, const At& at,
              const Say& say);
  // Whether a candidate gives the same bits every time: up to so many, until then.
  std::string repeat(const std::string& id, uint32_t times, Time until);

 private:
  using Answer = std::optional<measure::Expectation>;
  // The expected outputs of a call: from the reference, or from a choice that was compared with it or is trusted. That
  // one's bytes tell of most others that they are right, without a look at elements.
  struct Standard {
    std::future<Answer> reference;  // valid until it was waited for
    Answer expected;
    std::optional<measure::StoredOutputs> right;
    bool is_known() const { return expected || right; }
    bool is_confirmed = false;  // some choice gave it
    const measure::StoredOutputs* known() const { return right ? &*right : nullptr; }
  };
  struct Case {
    PreparedCall call;
    Standard standard;
  };
  struct Result {
    const Choice* choice;
    measure::Trial trial;
    std::vector<std::string> alike;  // it, and others that gave the same bits
    bool has_passed = false;         // by relatives alone
  };

  // The callbacks.
  struct Others {
    const std::set<std::string>& without;
    const At& at;
  };

  std::future<Answer> answer_later(const OperatorEntry& entry, std::shared_ptr<const Request> request) const;
  Done wait_for_references();

  const Choice& choice_of(const std::string& id) const;                                // which there is
  std::optional<Choice> choice_on(const Case& relative, const std::string& id) const;  // nullopt: it does not fit
  std::string fault_of(measure::Trial& trial, Standard& standard) const;
  Verdict verdict_on_relatives(const std::string& id, const Others& others);
  bool is_device_lost() const;
  std::vector<const Choice*> others_than(const Choice& asked, const Others& others) const;
  Verdict verdict_by(const Case* relative, Standard& standard, const std::string& id, measure::Trial& trial,
                     const Others& others);
  std::optional<Result> run(const std::string& id, const Others& others, Verdict& verdict);
  Verdict verify(const std::string& id, const std::set<std::string>& without, Time until, const At& at, const Say& say);

  Verdict settle(const Choice& asked, const Say& say);
  Verdict leave_open(const Choice& asked, const Say& say);
  bool is_near(measure::Trial& trial, const measure::Trial& other) const;
  bool all_agree() const;
  bool believe_two_that_agree();
  const Choice* next_witness(const Choice& of, const std::set<std::string>& without);
  bool invite_witnesses(const Choice& of, const Others& others, const Say& say);
  bool let_reference_decide(Time until);

  Context& context_;
  const runner::Program& program_;
  const PreparedCall& problem_;
  std::span<const Choice> choices_;
  std::function<void(double)> allow_;
  VerifierOptions options_;
  const OperatorEntry* entry_ = nullptr;
  const Request* request_ = nullptr;  // the problem's
  std::vector<Case> relatives_;
  Standard standard_;                         // of the problem itself
  std::vector<Result> unsettled_;             // while that is not known: those that are right on relatives
  std::set<std::string, std::less<>> heard_;  // that were witnesses
};

}  // namespace qgen::tuner
