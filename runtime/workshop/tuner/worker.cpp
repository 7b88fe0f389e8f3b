// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/tuner/worker.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <thread>

#include "common/log.h"
#include "registry.h"
#include "runtime/engine/profiles/device_file.h"
#include "runtime/engine/tuning/store.h"
#include "runtime/workshop/measure/timing.h"
#include "runtime/workshop/runner/opened.h"
#include "runtime/workshop/tuner/final_round.h"
#include "runtime/workshop/tuner/host_threads.h"
#include "runtime/workshop/tuner/roof.h"

namespace qgen::tuner {
namespace {

using Json = nlohmann::ordered_json;
using Ids = std::vector<std::string>;

constexpr int kDeviceLost = 4;  // exit codes, for the parent alone

// Other programs interrupt a host's processor, so there most chains are one replay.
constexpr double kChainUs = 400, kChainOfHostUs = 100;

void say(const Json& answer) { std::cout << answer.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl; }

void say_error(const Error& error) {
  say({{"error", to_text(error)}, {"is_device_lost", error.kind == Error::Kind::device}});
}

// A problem, its candidates, and their verifier.
struct OpenProblem {
  const OperatorEntry* entry;
  runner::Task task;
  Request request;
  PreparedCall call;
  std::vector<Choice> choices;  // by cost; those that were rarely the best on such devices come last
  size_t rarely_best_from = 0;  // the first of these
  std::optional<Verifier> verifier;
};

class Worker {
 public:
  Worker(const runner::Program& program, const WorkerOptions& options) : program_(program), options_(options) {}
  Done open_device();
  Done obey(const Json& command);

 private:
  Done open(const Json& command);
  Done compile(const Ids& ids);
  Done compile_ahead(const Ids& ids);
  Done verify(const Ids& ids, const std::set<std::string>& without, Verifier::Time until);
  Done repeat(const Ids& ids, uint32_t times, Verifier::Time until);
  Done time(const Ids& ids, const measure::TimingOptions& how);
  Done sentinel();

  void at(std::string_view stage, const std::string& id) const;
  void say_verdict(const std::string& id, const Verdict& verdict);
  Expected<std::vector<Choice>> chosen(const Ids& ids) const;
  Expected<std::vector<Choice>> with_relatives(const Ids& ids) const;
  Expected<PreparedCall> prepare(const OperatorEntry& entry, const runner::Task& task, Request& request);
  Done list_choices();
  void say_opened() const;

  const runner::Program& program_;
  const WorkerOptions& options_;
  std::optional<KernelLibrary> library_, shipped_library_;
  std::unique_ptr<runner::Opened> opened_;
  std::set<pid_t> host_threads_;  // of a driver that computes on the host
  Context* context_ = nullptr;    // of opened_
  std::optional<Executor> shipped_executor_;
  std::optional<Context> shipped_;
  measure::SteadyClock clock_;
  std::optional<OpenProblem> problem_;
  std::jthread ahead_;  // which compiles
};

Done Worker::open_device() {
  // Two shipped kernels tell the clock, for any tuned library.
  for (auto [info, library] :
       {std::tuple(&program_.kernels, &library_), std::tuple(&generated::library(), &shipped_library_)}) {
    auto blob = KernelLibrary::open(*info);
    if (!blob) return blob.error();
    *library = *std::move(blob);
  }
  const std::set<pid_t> before = threads_of_process();
  // Earlier measurements do not guide which to measure.
  auto opened = runner::Opened::open(*library_, options_.device,
                                     {.is_guarded = true,
                                      .is_untuned = true,
                                      .has_statistics = true,
                                      .timeout_ms = options_.hang_ms,
                                      .mask = options_.mask});
  if (!opened) return opened.error();
  opened_ = *std::move(opened);
  context_ = &opened_->context();
  if (context_->profile.numbers.is_cpu) host_threads_ = threads_since(before);
  for (const std::string& warning : opened_->warnings()) print_log("{}: warning: {}\n", program_.name, warning);
  auto made = Executor::create(opened_->device(), *shipped_library_, {.timeout_ms = options_.hang_ms});
  if (!made) return made.error();
  shipped_executor_ = *std::move(made);
  shipped_.emplace(Context{.profile = context_->profile, .library = *shipped_library_, .executor = *shipped_executor_});
  auto clock = measure::clock_of(*shipped_);
  if (!clock) return clock.error();
  clock_ = *std::move(clock);
  clock_.wait_for_plateau(std::chrono::milliseconds(static_cast<int64_t>(1000 * options_.cool_s)));
  return std::monostate{};
}

void Worker::at(std::string_view stage, const std::string& id) const {
  say({{"at", id}});
  if (options_.on_candidate) options_.on_candidate(stage, id);
}

// A device that was lost or hangs is no use to the next candidate: the parent starts another worker.
void Worker::say_verdict(const std::string& id, const Verdict& verdict) {
  say({{"id", id},
       {"fault", verdict.fault},
       {"is_proven", verdict.is_proven},
       {"is_by_relatives", verdict.is_by_relatives},
       {"suspicion", verdict.suspicion}});
  if (verdict.fault.empty()) return;
  const auto probe = context_->executor.allocate(DType::i32, {4}, Storage::buffer);
  if (!probe || !context_->executor.fill(*probe, 0)) std::_Exit(kDeviceLost);
}

// ---- the problem ----------------------------------------------------------------------------------------------------

runner::Task task_of(const Json& command) {
  const Json& request = command.at("request");
  return {command.at("operator"),
          {.shapes = request.at("shapes"),
           .attributes = request.at("attributes"),
           .storages = request.at("storages"),
           .layouts = request.at("layouts")}};
}

Expected<PreparedCall> Worker::prepare(const OperatorEntry& entry, const runner::Task& task, Request& request) {
  auto read = runner::read_request(entry, task.request, context_->profile);
  if (!read) return read.error();
  request = *std::move(read);
  return qgen::prepare(*context_, entry, request);
}

Done Worker::open(const Json& command) {
  problem_.reset();
  runner::Task task = task_of(command);
  const OperatorEntry* entry = find_operator(program_.operators, task.op);
  if (!entry) return unknown_operator(program_.operators, task.op);
  Request request;
  auto call = prepare(*entry, task, request);
  if (!call) return call.error();
  problem_.emplace(OpenProblem{entry, std::move(task), std::move(request), *std::move(call), {}, 0, {}});
  if (Done listed = list_choices(); !listed) return listed;
  problem_->verifier.emplace(
      *context_, program_, problem_->call, problem_->choices,
      [](double seconds) {
        say({{"allow", seconds}});
      },
      options_.verifier);
  if (Done ready = problem_->verifier->prepare(*entry, problem_->task, problem_->request); !ready) return ready;
  say_opened();
  return std::monostate{};
}

// The candidates of every search, by cost, followed by candidates of exhaustive searches only.
Done Worker::list_choices() {
  const auto all_of = [&](bool with_rarely_best) {
    return select(problem_->call.call.problem, context_->profile, *library_,
                  {.all_specializations = true, .with_rarely_best = with_rarely_best, .all_step_kernels = true});
  };
  Selection selection = all_of(false);
  if (selection.ranked.empty()) return no_kernel(selection);
  std::vector<Choice>& choices = problem_->choices;
  choices = std::move(selection.ranked);
  problem_->rarely_best_from = choices.size();
  std::set<std::string, std::less<>> ids;
  for (const Choice& choice : choices) ids.insert(choice.id);
  for (Choice& choice : all_of(true).ranked) {
    if (!ids.contains(choice.id)) choices.push_back(std::move(choice));
  }
  return std::monostate{};
}

void Worker::say_opened() const {
  const auto key = tuning::device_key(context_->profile);
  Json candidates = Json::array();
  for (const Choice& choice : problem_->choices) {
    const auto digest = digest_of(*choice.problem->op, choice.id, *library_);
    candidates.push_back({{"id", choice.id},
                          {"digest", digest.value_or(0)},
                          {"cost_us", choice.cost_us},
                          {"is_rarely_best", candidates.size() >= problem_->rarely_best_from}});
  }
  say({{"problem", key_of(problem_->call.call.problem)},
       {"device",
        {{"device_uuid", key.device_uuid},
         {"driver_uuid", key.driver_uuid},
         {"driver_version", key.driver_version},
         {"name", context_->profile.name},
         {"profile", profiles::to_yaml(context_->profile)}}},
       {"roof_us", roof_us(problem_->call.call.problem, context_->profile)},
       {"candidates", std::move(candidates)}});
}

Expected<std::vector<Choice>> Worker::chosen(const Ids& ids) const {
  if (!problem_) return refused("no problem is open");
  std::vector<Choice> choices;
  for (const std::string& id : ids) {
    const auto choice = std::ranges::find(problem_->choices, id, &Choice::id);
    if (choice == problem_->choices.end()) return refused(fmt::format("'{}' is no candidate", id));
    choices.push_back(*choice);
  }
  return choices;
}

// With the tensors for verifying them.
Expected<std::vector<Choice>> Worker::with_relatives(const Ids& ids) const {
  auto choices = chosen(ids);
  if (choices) std::ranges::move(problem_->verifier->on_relatives(ids), std::back_inserter(*choices));
  return choices;
}

// ---- candidates -----------------------------------------------------------------------------------------------------

Done Worker::compile(const Ids& ids) {
  const auto choices = with_relatives(ids);
  if (!choices) return choices.error();
  if (ahead_.joinable()) ahead_.join();
  for (const std::string& id : ids) at("compile", id);
  context_->executor.make_pipelines(*choices, [](size_t made, size_t all) { say({{"of", {made, all}}}); });
  say(Json::object());
  return std::monostate{};
}

// One thread begins the others: executors make pipelines on all cores.
Done Worker::compile_ahead(const Ids& ids) {
  auto choices = with_relatives(ids);
  if (!choices) return choices.error();
  if (ahead_.joinable()) ahead_.join();
  if (!context_->profile.numbers.is_cpu || options_.is_ahead_on_cpu) {
    ahead_ = std::jthread([this, ids, choices = *std::move(choices)] {
      for (const std::string& id : ids) {
        if (options_.on_candidate) options_.on_candidate("compile ahead", id);
      }
      context_->executor.make_pipelines(choices, {});
    });
  }
  say(Json::object());
  return std::monostate{};
}

Done Worker::verify(const Ids& ids, const std::set<std::string>& without, Verifier::Time until) {
  if (const auto known = chosen(ids); !known) return known.error();
  problem_->verifier->verify(
      ids, without, until, [&](const std::string& id) { at("verify", id); },
      [&](const std::string& id, const Verdict& verdict) { say_verdict(id, verdict); });
  say(Json::object());
  return std::monostate{};
}

Done Worker::repeat(const Ids& ids, uint32_t times, Verifier::Time until) {
  if (const auto known = chosen(ids); !known) return known.error();
  for (const std::string& id : ids) {
    at("repeat", id);
    say_verdict(id, {problem_->verifier->repeat(id, times, until)});
  }
  say(Json::object());
  return std::monostate{};
}

Done Worker::time(const Ids& ids, const measure::TimingOptions& how) {
  const auto choices = chosen(ids);
  if (!choices) return choices.error();
  for (const std::string& id : ids) at("time", id);
  std::vector<measure::Contestant> contestants;
  for (const Choice& choice : *choices) contestants.push_back({context_, &problem_->call, &choice});
  measure::TimingOptions options = how;
  options.on_turn = [](size_t done, size_t all) { say({{"of", {done, all}}}); };
  options.on_turn(0, measure::turns_of(options, contestants.size()));
  const PinnedApart pinned(host_threads_);
  const auto times = measure::time_together(clock_, contestants, options);
  if (!times) {
    say({{"fault", times.error().message}});
    return std::monostate{};
  }
  // A race watches a GPU's clock itself.
  const auto level = context_->profile.numbers.is_cpu ? clock_.sentinel() : Expected<measure::ClockLevel>(times->clock);
  if (!level) return level.error();
  Json rows = Json::array();
  for (size_t i = 0; i < ids.size(); ++i) {
    const measure::Spread& us = times->device_us[i];
    const auto said = context_->executor.statistics((*choices)[i]);
    rows.push_back({{"id", ids[i]},
                    {"us", {us.median, us.low, us.high}},
                    {"samples", us.samples},
                    {"rounds", times->rounds_us[i]},
                    {"statistics", said ? to_json(*said) : ""}});  // a driver may say nothing
  }
  say({{"times", std::move(rows)}, {"clock", level->of_best}});
  return std::monostate{};
}

Done Worker::sentinel() {
  const PinnedApart pinned(host_threads_);  // as kernels are timed
  const auto level = clock_.sentinel();
  if (!level) return level.error();
  // Products run as much faster than multiplications as the profile says.
  const DeviceNumbers& numbers = context_->profile.numbers;
  const double fastest =
      std::max({numbers.f32_ops_per_us, numbers.f16_matrix_ops_per_us, numbers.int8_matrix_ops_per_us});
  say({{"base_us", measure::base_us(level->rates)},
       {"bytes_per_us", level->rates.copied_bytes},
       {"operations_per_us", level->rates.operations},
       {"products_per_us", level->rates.operations * fastest / std::max(numbers.f32_ops_per_us, 1.0)},
       {"clock", level->of_best}});
  return std::monostate{};
}

Verifier::Time end_of(const Json& command) {
  using Steady = Verifier::Time::clock;
  const std::chrono::duration<double> within(command.at("within_s").get<double>());
  return Steady::now() + std::chrono::duration_cast<Steady::duration>(within);
}

Done Worker::obey(const Json& command) {
  const std::string what = command.at("do");
  if (what == "open") return open(command);
  if (what == "sentinel") return sentinel();
  const Ids ids = command.at("ids");
  if (what == "compile") return compile(ids);
  if (what == "compile ahead") return compile_ahead(ids);
  if (what == "verify") return verify(ids, command.at("without"), end_of(command));
  if (what == "repeat") return repeat(ids, command.at("times"), end_of(command));
  if (what == "time") {
    measure::TimingOptions how{.replays = command.at("replays"),
                               .chains = command.at("chains"),
                               .chain_us = context_->profile.numbers.is_cpu ? kChainOfHostUs : kChainUs,
                               .is_cold = command.at("is_cold"),
                               .is_quick = true,
                               .turn_us = command.at("turn_us"),
                               .best_us = command.at("best_us")};
    if (command.contains("within_s")) {
      how.next_round = passes([end = end_of(command)] {
        return std::chrono::duration<double>(end - Verifier::Time::clock::now()).count();
      });
    }
    return time(ids, how);
  }
  return refused(fmt::format("'{}' is no command", what));
}

}  // namespace

int run_worker(const runner::Program& program, const WorkerOptions& options) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // whoever reads the answers
  Worker worker(program, options);
  if (Done opened = worker.open_device(); !opened) {
    say_error(opened.error());
    return 3;
  }
  say({{"ready", true}});
  for (std::string line; std::getline(std::cin, line);) {
    const Json command = Json::parse(line, nullptr, false);
    if (command.is_discarded()) return 2;
    if (Done done = worker.obey(command); !done) say_error(done.error());
  }
  return 0;
}

}  // namespace qgen::tuner
