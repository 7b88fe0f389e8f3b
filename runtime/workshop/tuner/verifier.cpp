// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/tuner/verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/workshop/report/work.h"
#include "runtime/workshop/tuner/relatives.h"

namespace qgen::tuner {
namespace {

constexpr double kSecondsAllowed = 120;
constexpr double kOperationsPerSecond = 1e8;  // of a reference, at least; some do ten times as many
// If only the reference can bound the error of floating-point results, they are compared with one another, within this
// part of the largest.
constexpr double kConsensus = 1.0 / 64;

// About how many steps the reference takes: one for each element, or for each term of a sum of products.
double operations_of(const Call& call) {
  double operations = report::work_of(call.problem).value_or(report::Work{}).operations / 2;
  for (const auto& operand : call.operands) {
    if (operand) operations = std::max(operations, static_cast<double>(element_count(operand->shape)));
  }
  return operations;
}

double largest_of(const HostTensor& tensor) {
  double largest = 0;
  for (int64_t i = 0; i < element_count(tensor.shape); ++i) largest = std::max(largest, std::abs(element(tensor, i)));
  return largest;
}

// The outputs of other kernels, as the expected values.
measure::Expectation expectation_by_consensus(const OperatorInfo& op, const Tensors& outputs) {
  measure::Expectation expected = measure::expectation_of(op, outputs);
  if (!op.tolerance.is_computed) {
    for (auto& [name, tolerance] : expected.tolerances) tolerance = {2 * tolerance.abs, 2 * tolerance.rel};
    return expected;
  }
  for (auto& [name, tolerance] : expected.tolerances) tolerance.abs = kConsensus * largest_of(outputs.at(name));
  return expected;
}

std::set<const OperatorInfo*> families_of(const Choice& choice) {
  std::set<const OperatorInfo*> families;
  for (const Launch& launch : choice.launches) families.insert(launch.op);
  return families;
}

bool have_a_family_in_common(const Choice& a, const Choice& b) {
  const auto of_a = families_of(a);
  return std::ranges::any_of(families_of(b), [&](const OperatorInfo* family) { return of_a.contains(family); });
}

}  // namespace

Verifier::Verifier(Context& context, const runner::Program& program, const PreparedCall& problem,
                   std::span<const Choice> choices, std::function<void(double seconds)> allow,
                   const VerifierOptions& options)
    : context_(context),
      program_(program),
      problem_(problem),
      choices_(choices),
      allow_(std::move(allow)),
      options_(options) {}

// ---- references -----------------------------------------------------------------------------------------------------

std::future<Verifier::Answer> Verifier::answer_later(const OperatorEntry& entry,
                                                     std::shared_ptr<const Request> request) const {
  return std::async(std::launch::async, [&entry, answers = program_.answers, request] {
    return measure::expectation_by_reference(entry, *request, answers);
  });
}

Done Verifier::prepare(const OperatorEntry& entry, const runner::Task& task, const Request& request) {
  allow_(kSecondsAllowed);
  entry_ = &entry;
  request_ = &request;
  const std::shared_ptr<const Request> of_problem(std::shared_ptr<const void>(), &request);  // it is large, and stays
  for (const runner::RequestText& text : relatives_of(task.request)) {
    auto complete_request = runner::read_request(entry, text, context_.profile);
    if (!complete_request) continue;
    auto call = qgen::prepare(context_, entry, *complete_request);
    if (!call || operations_of(call->call) > options_.most_operations) continue;
    relatives_.push_back({*std::move(call), {}});
    relatives_.back().standard.reference = answer_later(entry, std::make_shared<Request>(*std::move(complete_request)));
  }
  if (operations_of(problem_.call) <= options_.most_operations) standard_.reference = answer_later(entry, of_problem);
  return wait_for_references();
}

Done Verifier::wait_for_references() {
  const auto wait = [](Standard& standard) {
    if (standard.reference.valid()) standard.expected = standard.reference.get();
    return standard.is_known();
  };
  const bool is_asked = standard_.reference.valid() || !relatives_.empty();
  bool is_known = wait(standard_);
  for (Case& relative : relatives_) is_known |= wait(relative.standard);
  std::erase_if(relatives_, [](const Case& relative) { return !relative.standard.is_known(); });
  if (is_known || !program_.answers) return std::monostate{};
  if (!is_asked) return refused("its reference would take too long, and qgen-tune finds no smaller problem like it");
  return refused(fmt::format("'{}' has no reference to compare its kernels with", entry_->name));
}

// ---- one candidate --------------------------------------------------------------------------------------------------

const Choice& Verifier::choice_of(const std::string& id) const { return *std::ranges::find(choices_, id, &Choice::id); }

std::optional<Choice> Verifier::choice_on(const Case& relative, const std::string& id) const {
  Selection selection =
      select(relative.call.call.problem, context_.profile, context_.library, {.force = id, .best_only = true});
  if (selection.ranked.empty()) return std::nullopt;
  return std::move(selection.ranked.front());
}

std::vector<Choice> Verifier::on_relatives(std::span<const std::string> ids) const {
  std::vector<Choice> choices;
  for (const Case& relative : relatives_) {
    for (const std::string& id : ids) {
      if (auto choice = choice_on(relative, id)) choices.push_back(*std::move(choice));
    }
  }
  return choices;
}

std::string Verifier::fault_of(measure::Trial& trial, Standard& standard) const {
  if (trial.is_as_known) return "";
  const auto got = elements_of(trial);
  if (!got) return to_text(got.error());
  if (!standard.expected) {
    const auto believed = elements_of(measure::Trial{.written = *standard.right});
    if (!believed) return to_text(believed.error());
    standard.expected = expectation_by_consensus(*problem_.call.problem.op, *believed);
  }
  for (const auto& [name, wanted] : standard.expected->outputs) {
    const auto output = got->find(name);
    if (output == got->end()) continue;
    const auto comparison = measure::compare(output->second, *standard.expected, name);
    if (!comparison.fault.empty()) return fmt::format("{}: {}", name, comparison.fault);
  }
  if (!standard.right) standard.right = std::move(trial.written);
  return "";
}

Verdict Verifier::verdict_on_relatives(const std::string& id, const Others& others) {
  Verdict verdict;
  for (Case& relative : relatives_) {
    const auto choice = choice_on(relative, id);
    if (!choice) continue;
    auto trial = measure::run_trial(context_, relative.call, *choice, relative.standard.known());
    if (!trial && trial.error().kind == Error::Kind::unsupported) continue;
    Verdict here =
        trial ? verdict_by(&relative, relative.standard, id, *trial, others) : Verdict{to_text(trial.error())};
    const std::string where = fmt::format(" (of {})", key_of(relative.call.call.problem));
    if (verdict.suspicion.empty() && !here.suspicion.empty()) verdict.suspicion = here.suspicion + where;
    if (here.fault.empty()) continue;
    verdict.fault = here.fault + where;
    verdict.is_proven = here.is_proven;
    return verdict;
  }
  return verdict;
}

bool Verifier::is_device_lost() const {
  const auto probe = context_.executor.allocate(DType::i32, {4}, Storage::buffer);
  return !probe || !context_.executor.fill(*probe, 0);
}

// One of each variant: those that have no family in common with it first; by cost. Where there is one variant alone,
// its other specializations.
std::vector<const Choice*> Verifier::others_than(const Choice& asked, const Others& others) const {
  const auto variant_of = [](std::string_view id) { return id.substr(0, id.find('/')); };
  std::set<std::string_view> variants = {variant_of(asked.id)};
  std::vector<const Choice*> all;
  for (const Choice& choice : choices_) {
    if (others.without.contains(choice.id) || !variants.insert(variant_of(choice.id)).second) continue;
    all.push_back(&choice);
  }
  for (const Choice& choice : choices_) {
    if (variants.size() == 1 && choice.id != asked.id && !others.without.contains(choice.id)) all.push_back(&choice);
  }
  std::ranges::stable_sort(all, {}, [&](const Choice* choice) { return have_a_family_in_common(asked, *choice); });
  return all;
}

// By the reference, if any choice agrees with it; `relative`: null is the problem itself.
Verdict Verifier::verdict_by(const Case* relative, Standard& standard, const std::string& id, measure::Trial& trial,
                             const Others& others) {
  constexpr size_t kMostAsked = 64;
  const std::string fault = fault_of(trial, standard);
  standard.is_confirmed |= fault.empty();
  if (fault.empty() || standard.is_confirmed) return {fault};
  const Choice& asked = choice_of(id);
  Standard supposed;
  supposed.right = trial.written;
  size_t agreeing = 0, tried = 0;
  bool has_other_template = false;
  for (const Choice* other : others_than(asked, others)) {
    const auto choice = relative ? choice_on(*relative, other->id) : std::optional(*other);
    if (!choice || tried == kMostAsked) continue;
    ++tried;
    others.at(other->id);
    auto given = measure::run_trial(context_, relative ? relative->call : problem_, *choice);
    others.at(id);
    if (!given && is_device_lost()) {
      return {fmt::format("{}; {} ran for comparison, and lost the device", fault, other->id), false};
    }
    if (!given) continue;  // it is reported at its own turn
    standard.is_confirmed = fault_of(*given, standard).empty();
    const bool is_same =
        !standard.is_confirmed && (given->written == trial.written || fault_of(*given, supposed).empty());
    if (!is_same) return {fault};
    ++agreeing;
    has_other_template |= !have_a_family_in_common(asked, *other);
  }
  if (agreeing == 0) return {fault};
  Verdict verdict{.suspicion = fmt::format("{}; {} other {} run for comparison, and all give the same results as {}",
                                           fault, agreeing, agreeing == 1 ? "kernel was" : "kernels were", id)};
  if (has_other_template) {
    standard = std::move(supposed);
    standard.is_confirmed = true;
  } else {
    verdict.fault = fault;
    verdict.is_proven = false;
  }
  return verdict;
}

// On relatives, and on the problem itself, whose outputs nobody has checked yet. Where nothing comes of it `verdict`
// says why.
std::optional<Verifier::Result> Verifier::run(const std::string& id, const Others& others, Verdict& verdict) {
  others.at(id);
  verdict = verdict_on_relatives(id, others);
  if (!verdict.fault.empty()) return std::nullopt;
  const Choice& choice = choice_of(id);
  auto trial = measure::run_trial(context_, problem_, choice, standard_.known());
  if (trial) return Result{&choice, *std::move(trial), {id}};
  verdict.fault = to_text(trial.error());
  // If the device cannot hold this problem, that does not count against the choice on others.
  verdict.is_proven = trial.error().kind != Error::Kind::unsupported;
  return std::nullopt;
}

Verdict Verifier::verify(const std::string& id, const std::set<std::string>& without, Time until, const At& at,
                         const Say& say) {
  const Others others{without, at};
  Verdict on_relatives;
  auto result = run(id, others, on_relatives);
  if (!result) return on_relatives;
  const auto with_suspicion = [&](Verdict verdict) {
    if (verdict.suspicion.empty()) verdict.suspicion = on_relatives.suspicion;
    return verdict;
  };
  if (standard_.is_known()) return with_suspicion(verdict_by(nullptr, standard_, id, result->trial, others));
  const Choice& choice = *result->choice;
  unsettled_.push_back(*std::move(result));
  const bool is_settled =
      believe_two_that_agree() || invite_witnesses(choice, others, say) || let_reference_decide(until);
  return with_suspicion(is_settled ? settle(choice, say) : leave_open(choice, say));
}

// All that were left open are judged too.
Verdict Verifier::settle(const Choice& asked, const Say& say) {
  Verdict of_asked;
  for (Result& result : unsettled_) {
    const std::string fault = fault_of(result.trial, standard_);
    if (result.choice == &asked) of_asked.fault = fault;
    for (const std::string& id : result.alike) {
      if (!fault.empty() && id != asked.id) say(id, {fault});
    }
  }
  unsettled_.clear();
  return of_asked;
}

// Of an operator without references: within the tolerance of its spec.
bool Verifier::is_near(measure::Trial& trial, const measure::Trial& other) const {
  if (program_.answers) return false;
  Standard supposed;
  supposed.right = other.written;
  return fault_of(trial, supposed).empty();
}

// While all give the same they pass by relatives alone. Once they do not, none does, not even those before.
Verdict Verifier::leave_open(const Choice& asked, const Say& say) {
  const auto own = std::ranges::find(unsettled_, &asked, &Result::choice);
  const auto twin = std::ranges::find_if(unsettled_, [&](Result& other) {
    return other.choice != &asked && (other.trial.written == own->trial.written || is_near(own->trial, other.trial));
  });
  if (twin != unsettled_.end()) {  // one is enough to compare with
    twin->alike.push_back(asked.id);
    unsettled_.erase(own);
  }
  if (unsettled_.size() == 1) {
    unsettled_.front().has_passed = true;
    return {.is_by_relatives = true};
  }
  const Verdict unproven{"gives other results than other kernels, none of which is verified", false};
  for (Result& result : unsettled_) {
    if (!std::exchange(result.has_passed, false)) continue;
    for (const std::string& id : result.alike) say(id, unproven);
  }
  return unproven;
}

bool Verifier::all_agree() const {
  return std::ranges::all_of(
      unsettled_, [&](const Result& other) { return other.trial.written == unsettled_.front().trial.written; });
}

// ---- what is believed -----------------------------------------------------------------------------------------------

bool Verifier::believe_two_that_agree() {
  for (Result& one : unsettled_) {
    Standard supposed;
    supposed.right = one.trial.written;
    for (Result& other : unsettled_) {
      if (have_a_family_in_common(*one.choice, *other.choice)) continue;
      const bool is_same = other.trial.written == one.trial.written;
      if (!is_same && !fault_of(other.trial, supposed).empty()) continue;
      standard_ = std::move(supposed);
      return true;
    }
  }
  return false;
}

const Choice* Verifier::next_witness(const Choice& of, const std::set<std::string>& without) {
  for (const Choice& choice : choices_) {
    const bool is_heard = std::ranges::any_of(
        unsettled_, [&](const Result& result) { return families_of(*result.choice) == families_of(choice); });
    if (is_heard || without.contains(choice.id) || have_a_family_in_common(of, choice)) continue;
    if (heard_.insert(choice.id).second) return &choice;
  }
  return nullptr;
}

bool Verifier::invite_witnesses(const Choice& of, const Others& others, const Say& say) {
  constexpr int kMost = 4;
  for (int i = 0; i < kMost; ++i) {
    const Choice* witness = next_witness(of, others.without);
    if (!witness) return false;
    Verdict verdict;
    auto result = run(witness->id, others, verdict);
    others.at(of.id);
    if (!result) {
      say(witness->id, verdict);
      continue;
    }
    unsettled_.push_back(*std::move(result));
    if (believe_two_that_agree()) return true;
  }
  return false;
}

// Where there is something to decide.
bool Verifier::let_reference_decide(Time until) {
  const double operations = operations_of(problem_.call);
  const std::chrono::duration<double> takes(operations / kOperationsPerSecond), left = until - Time::clock::now();
  if (all_agree() || operations > options_.most_operations_to_decide || takes > left) return false;
  allow_(kSecondsAllowed + takes.count());
  standard_.expected = measure::expectation_by_reference(*entry_, *request_, program_.answers);
  return standard_.is_known();
}

void Verifier::verify(std::span<const std::string> ids, const std::set<std::string>& without, Time until, const At& at,
                      const Say& say) {
  for (const std::string& id : ids) say(id, verify(id, without, until, at, say));
}

std::string Verifier::repeat(const std::string& id, uint32_t times, Time until) {
  return measure::repeat(context_, problem_, choice_of(id), times, [&] { return Time::clock::now() < until; });
}

}  // namespace qgen::tuner
