// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/tuner/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/date.h"
#include "runtime/workshop/tuner/final_round.h"
#include "runtime/workshop/tuner/verifier.h"

namespace qgen::tuner {
namespace {

// A driver that dies with every candidate is no driver to tune on.
constexpr size_t kMostDeaths = 64;
constexpr double kOfRepeats = 0.05;  // of the budget, which the winner's repetitions may take
// In a short round, and in a pass of a final round, of each candidate.
constexpr uint32_t kChains = 10, kChainsOfPass = 16;
constexpr double kTurnUs = 100e3, kTurnOfPassUs = 8e3;  // with fewer chains if they would take longer

using Json = nlohmann::ordered_json;

Json request_of(const runner::Task& task) {
  const runner::RequestText& request = task.request;
  return {{"do", "open"},
          {"operator", task.op},
          {"request",
           {{"shapes", request.shapes},
            {"attributes", request.attributes},
            {"storages", request.storages},
            {"layouts", request.layouts}}}};
}

Error told(const Json& answer) {
  const bool is_device = answer.value("is_device_lost", false);
  return {is_device ? Error::Kind::device : Error::Kind::invalid_argument, answer.at("error"), ""};
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

void Tuner::tell(std::string_view stage, size_t done, size_t all, std::string text) const {
  if (!options_.on_event) return;
  TunerEvent event{stage, std::move(text), done, all};
  const auto best = std::ranges::min_element(times_, {}, [](const auto& time) { return short_us(time.second); });
  if (best != times_.end()) {
    event.best = best->first;
    event.best_us = best->second.median;
  }
  options_.on_event(event);
}

std::function<void(const Json& line)> Tuner::told_as(std::string_view stage) const {
  return [this, stage](const Json& line) {
    if (line.contains("of")) tell(stage, line.at("of").at(0), line.at("of").at(1));
  };
}

Error interrupted() {
  return {Error::Kind::system, "interrupted", "the times so far are stored: the same command continues from there"};
}

bool is_untried(const TaskReport& report) {
  return report.found.ranked.empty() && report.found.tried == 0 && report.candidates > 0;
}

std::string why_nothing(const TaskReport& report) {
  if (!report.found.ranked.empty()) return "";
  if (!is_untried(report)) return "no kernel is left";
  return fmt::format(
      "nothing was measured: this problem may take {:.1f} s, and making its data and references took "
      "{:.1f}",
      report.most_s, report.opened_s);
}

double drift_of(std::span<const double> base_us) {
  double least = 0, most = 0;
  for (const double us : base_us) {
    if (us > 0) least = least > 0 ? std::min(least, us) : us;
    most = std::max(most, us);
  }
  return least > 0 ? most / least - 1 : 0;
}

namespace {

// TunedRow's.
double marked_clock(double clock) { return clock < 1 - kDrift ? std::max(std::round(1000 * clock), 1.0) / 1000 : 1; }

}  // namespace

// ---- the worker -----------------------------------------------------------------------------------------------------

Done Tuner::start() {
  auto worker = WorkerProcess::start(options_.worker);
  if (!worker) return worker.error();
  worker_ = *std::move(worker);
  compiled_.clear();
  is_ahead_ = false;
  return std::monostate{};
}

Expected<DeviceRates> Tuner::rates() {
  if (!worker_) {
    if (Done started = start(); !started) return started.error();
  }
  const Reply reply = worker_->ask({{"do", "sentinel"}, {"ids", Json::array()}}, {});
  if (!reply.answer) return Error{Error::Kind::device, fmt::format("the worker measured no rates: {}", reply.end), ""};
  if (reply.answer->contains("error")) return told(*reply.answer);
  return DeviceRates{reply.answer->at("bytes_per_us"), reply.answer->at("operations_per_us"),
                     reply.answer->at("products_per_us")};
}

Expected<Tuner::Opened> Tuner::open(const runner::Task& task) {
  const Reply reply = worker_->ask(request_of(task), {});
  if (!reply.answer) {  // the next problem may do better, with another worker
    worker_.reset();
    if (Done counted = count_death(); !counted) return counted.error();
    if (std::exchange(is_ahead_, false)) {  // it may have died of an earlier compilation
      if (Done started = start(); !started) return started.error();
      return open(task);
    }
    return Error{Error::Kind::unsupported, fmt::format("the worker could not open the problem: {}", reply.end), ""};
  }
  const Json& answer = *reply.answer;
  if (answer.contains("error")) return told(answer);
  const Json& device = answer.at("device");
  Opened opened{.problem = answer.at("problem"),
                .device_name = device.at("name"),
                .profile = device.at("profile"),
                .device = {device.at("device_uuid"), device.at("driver_uuid"), device.at("driver_version")},
                .roof_us = answer.at("roof_us")};
  for (const Json& candidate : answer.at("candidates")) {
    opened.candidates.push_back({candidate.at("id"), candidate.at("cost_us"), candidate.at("is_rarely_best")});
    opened.digests.emplace(candidate.at("id"), candidate.at("digest"));
  }
  return opened;
}

Done Tuner::count_death() {
  if (++deaths_ <= kMostDeaths) return std::monostate{};
  return Error{Error::Kind::device, fmt::format("{} workers died", deaths_), "the driver may be broken"};
}

// Another worker, with the same problem.
Done Tuner::reopen() {
  if (Done counted = count_death(); !counted) return counted;
  if (Done started = start(); !started) return started;
  const auto opened = open(*task_);
  return opened ? Done(std::monostate{}) : Done(opened.error());
}

Expected<Reply> Tuner::ask(const Json& command, const std::function<void(const Json& line)>& on_line) {
  Reply reply = worker_->ask(command, on_line);
  if (reply.answer && reply.answer->contains("error")) return told(*reply.answer);
  if (reply.answer) return reply;
  const bool was_ahead = std::exchange(is_ahead_, false);
  if (Done again = reopen(); !again) return again.error();
  if (!was_ahead) return reply;
  // The current candidate may not be the cause: it is tried once more, alone.
  looks_ahead_ = false;
  return ask(command, on_line);
}

// ---- candidates -----------------------------------------------------------------------------------------------------

Done Tuner::drop(const std::string& id, const std::string& reason, bool is_quarantined) {
  if (!dropped_.emplace(id, reason).second) return std::monostate{};
  times_.erase(id);
  tell("dropped", 0, 0, fmt::format("{}: {}", id, reason));
  if (!is_quarantined) return std::monostate{};
  return store_.quarantine(opened_.device, opened_.profile, {id, opened_.digests.at(id), reason, today()});
}

// Together; where that kills the worker, one by one, so that the one to blame is found.
Done Tuner::compile(const std::vector<std::string>& ids) {
  const auto reply = ask({{"do", "compile"}, {"ids", ids}}, told_as("compile"));
  if (!reply) return reply.error();
  if (reply->answer) {
    compiled_.insert(ids.begin(), ids.end());
    is_ahead_ = false;
    return std::monostate{};
  }
  if (ids.size() == 1) return drop(ids.front(), fmt::format("compiling it: {}", reply->end), true);
  for (const std::string& id : ids) {
    if (Done done = compile({id}); !done) return done;
  }
  return std::monostate{};
}

// Those that are expected next, while the others are verified and timed.
Done Tuner::compile_ahead() {
  std::erase_if(expected_, [&](const std::string& id) { return dropped_.contains(id) || compiled_.contains(id); });
  if (!looks_ahead_ || expected_.empty()) return std::monostate{};
  const auto reply = ask({{"do", "compile ahead"}, {"ids", expected_}}, {});
  if (!reply) return reply.error();
  is_ahead_ = reply->answer != nullptr;
  return std::monostate{};
}

Done Tuner::verify(std::vector<std::string> ids) {
  size_t done = 0;
  const size_t all = ids.size();
  while (!ids.empty()) {
    std::map<std::string, Verdict> verdicts;
    const auto on_line = [&](const Json& line) {
      if (!line.contains("id")) return;
      verdicts[line.at("id")] = {line.at("fault"), line.at("is_proven"), line.at("is_by_relatives")};
      if (const std::string suspicion = line.at("suspicion"); !suspicion.empty()) suspicions_.push_back(suspicion);
      if (std::ranges::find(ids, line.at("id").get<std::string>()) != ids.end()) tell("verify", ++done, all);
    };
    std::vector<std::string> without;
    for (const auto& [id, reason] : dropped_) without.push_back(id);
    const double within_s = share_.most_s - seconds_since(began_);
    const auto reply = ask({{"do", "verify"}, {"ids", ids}, {"without", without}, {"within_s", within_s}}, on_line);
    if (!reply) return reply.error();
    if (!reply->answer && !verdicts.contains(reply->last))
      verdicts[reply->last.empty() ? ids.front() : reply->last].fault = fmt::format("running it: {}", reply->end);
    for (const auto& [id, verdict] : verdicts) {
      if (verdict.fault.empty()) verified_.insert(id);
      else if (Done dropped = drop(id, verdict.fault, verdict.is_proven); !dropped) return dropped;
      if (verdict.is_by_relatives) by_relatives_.insert(id);
      std::erase(ids, id);
    }
    if (reply->answer) break;  // all were said
  }
  return std::monostate{};
}

// Together; where that fails, each alone, by another worker.
Done Tuner::time(const std::vector<std::string>& ids, const Round& round, double until_s, Times& times) {
  const uint32_t chains = round.is_final ? kChainsOfPass : kChains;
  Json command = {{"do", "time"},
                  {"ids", ids},
                  {"replays", (round.is_final ? kMostPasses : 1) * chains},
                  {"chains", chains},
                  {"turn_us", round.is_final ? kTurnOfPassUs : kTurnUs},
                  {"is_cold", is_cold()},
                  {"best_us", round.best_us}};
  if (round.is_final) command["within_s"] = until_s - seconds_since(began_);
  const auto reply = ask(command, told_as("time"));
  if (!reply) return reply.error();
  if (reply->answer && reply->answer->contains("times")) {
    for (const Json& row : reply->answer->at("times")) {
      times[row.at("id")] = {row.at("us").at(0), row.at("us").at(1), row.at("us").at(2), row.at("samples")};
      statistics_[row.at("id")] = row.at("statistics");
      rounds_us_[row.at("id")] = row.at("rounds").get<std::vector<double>>();
    }
    clock_ = reply->answer->at("clock");
    return std::monostate{};
  }
  std::string end = reply->end;
  if (reply->answer) {
    end = reply->answer->at("fault");
    if (Done again = reopen(); !again) return again;
  }
  if (ids.size() == 1) return drop(ids.front(), fmt::format("timing it: {}", end), true);
  for (const std::string& id : ids) {
    if (Done done = time({id}, round, until_s, times); !done) return done;
  }
  return std::monostate{};
}

// Those that took part in its rounds.
void Tuner::settle_final(Times& times) {
  std::vector<Finalist> finalists;
  for (const auto& [id, us] : times) {
    const auto candidate = std::ranges::find(opened_.candidates, id, &Candidate::id);
    if (us.samples == 1 || candidate == opened_.candidates.end()) continue;
    const auto place = static_cast<size_t>(candidate - opened_.candidates.begin());
    finalists.push_back({id, place, us, rounds_us_[id]});
  }
  final_->ties = finalists.empty() ? 0 : settle(finalists).ties;
  for (const Finalist& finalist : finalists) times[finalist.id] = finalist.us;
}

// Between two sentinels. Has no times if it does not count, since an earlier one was on a steadier device.
Done Tuner::time_final(const std::vector<std::string>& ids, const Round& round, double until_s, Times& times) {
  const double began_s = seconds_since(began_);
  if (Done noted = note_base(); !noted) return noted;
  if (Done timed = time(ids, round, until_s, times); !timed) return timed;
  if (Done noted = note_base(); !noted) return noted;
  ++finals_;
  const size_t sentinel = base_us_.size() - 2;
  const double clock = std::min(clock_, clock_between(sentinel, sentinel + 1));
  if (times.empty() || (final_ && clock <= clock_of_final())) {
    times.clear();
    return std::monostate{};
  }
  final_ = Final{ids, seconds_since(began_) - began_s, clock_, sentinel, 0};
  settle_final(times);
  return std::monostate{};
}

// Until one met the device as fast as it was in this problem. A device that was slow before may stay so: then there is
// nothing to gain.
Done Tuner::repeat_final() {
  const auto is_slow = [&] { return marked_clock(clock_between(final_->sentinel, final_->sentinel + 1)) < 1; };
  while (final_ && is_slow() && finals_ < kMostFinals && seconds_since(began_) + final_->seconds < share_.budget_s) {
    const std::vector<std::string> ids = final_->ids;
    const uint32_t before = finals_;
    const auto again = measure(ids, {.is_final = true, .within_s = final_->seconds});
    if (!again) return again.error();
    if (finals_ == before) break;  // none of these kernels can be timed any more
  }
  return std::monostate{};
}

// The slower of two sentinels, as a part of the fastest of this problem. 1: neither is known.
double Tuner::clock_between(size_t since, size_t until) const {
  const double slowest = std::max(base_us_[since], base_us_[until]);
  double best = slowest;
  for (const double base_us : base_us_) best = base_us > 0 ? std::min(best, base_us) : best;
  return slowest > 0 ? best / slowest : 1;
}

double Tuner::clock_of_final() const {
  return std::min(final_->clock, clock_between(final_->sentinel, final_->sentinel + 1));
}

// Sentinels that came later may say that the device was slow.
Done Tuner::mark_slow_rows() {
  std::vector<tuning::TunedRow> slow;
  for (Kept& kept : kept_) {
    const double clock = marked_clock(clock_between(kept.since, std::min(kept.until, base_us_.size() - 1)));
    if (clock >= kept.row.clock) continue;
    kept.row.clock = clock;
    slow.push_back(kept.row);
  }
  return slow.empty() ? Done(std::monostate{}) : store_.mark(opened_.device, slow);
}

// A sentinel: how fast the device is now.
Done Tuner::note_base() {
  const auto reply = ask({{"do", "sentinel"}}, {});
  if (!reply) return reply.error();
  base_us_.push_back(reply->answer ? reply->answer->at("base_us").get<double>() : 0);
  return std::monostate{};
}

// A time that the device's clock does not tell is none, and no fault of the kernel.
Done Tuner::keep(Times& times, bool is_final) {
  std::vector<tuning::TunedRow> rows;
  for (auto time = times.begin(); time != times.end();) {
    const auto& [id, us] = *time;
    tuning::TunedRow row{opened_.problem,
                         id,
                         opened_.digests.at(id),
                         us.median,
                         us.low,
                         us.high,
                         today(),
                         statistics_[id],
                         is_cold(),
                         is_final && us.samples != 1,
                         us.samples,
                         marked_clock(is_final ? clock_of_final() : clock_)};
    const std::string fault = fault_of(row);
    if (fault.empty()) rows.push_back(std::move(row));
    else if (Done dropped = drop(id, fault, false); !dropped) return dropped;
    time = fault.empty() ? std::next(time) : times.erase(time);
  }
  // The sentinel after an ordinary round is still to come.
  const size_t since = is_final ? final_->sentinel : base_us_.size() - 1;
  for (const tuning::TunedRow& row : rows) kept_.push_back({row, since, since + 1});
  return store_.add(opened_.device, opened_.profile, rows);
}

Expected<Batch> Tuner::measure(std::span<const std::string> asked, const Round& round) {
  const double until_s = seconds_since(began_) + round.within_s;
  std::span<const std::string> ids = asked;
  if (options_.is_stopped && *options_.is_stopped) {
    return interrupted();
  }
  const auto chosen = [&](const auto& wanted) {
    std::vector<std::string> some;
    std::ranges::copy_if(ids, std::back_inserter(some),
                         [&](const std::string& id) { return !dropped_.contains(id) && wanted(id); });
    return some;
  };
  const auto to_compile = chosen([&](const std::string& id) { return !compiled_.contains(id); });
  Batch batch;
  if (!to_compile.empty()) {
    const auto began = std::chrono::steady_clock::now();
    if (Done done = compile(to_compile); !done) return done.error();
    batch.compiling_s = seconds_since(began);
  }
  if (Done done = compile_ahead(); !done) return done.error();
  // Compiling may take far longer than it did for the candidates before: then the rest of these has to wait.
  if (seconds_since(began_) > share_.budget_s) ids = ids.first(has_measured_ ? 0 : 1);
  const auto to_verify = chosen([&](const std::string& id) { return !verified_.contains(id); });
  if (!to_verify.empty()) {
    const auto began = std::chrono::steady_clock::now();
    if (Done done = verify(to_verify); !done) return done.error();
    batch.verifying_s = seconds_since(began);
    if (!round.is_final && round.within_s > 0 && seconds_since(began_) > until_s) ids = {};
  }
  Times times;
  const auto to_time = chosen([](const std::string&) { return true; });
  if (!to_time.empty()) {
    Done done = round.is_final ? time_final(to_time, round, until_s, times) : time(to_time, round, until_s, times);
    if (!done) return done.error();
  }
  if (!times.empty()) {
    if (Done kept = keep(times, round.is_final); !kept) return kept.error();
  }
  has_measured_ |= !times.empty();
  for (const auto& [id, us] : times) times_[id] = us;
  for (const std::string& id : asked) {
    const auto time = times.find(id);
    batch.us.push_back(time == times.end() ? std::nullopt : std::optional(time->second));
  }
  return batch;
}

// ---- a problem ------------------------------------------------------------------------------------------------------

Done Tuner::skip_quarantined() {
  if (options_.is_anew) return std::monostate{};
  const auto quarantined = store_.quarantined(opened_.device);
  if (!quarantined) return quarantined.error();
  for (const tuning::Quarantined& bad : *quarantined) {
    const auto digest = opened_.digests.find(bad.kernel);
    if (digest == opened_.digests.end() || digest->second != bad.digest) continue;
    if (Done told = drop(bad.kernel, fmt::format("{} (quarantined {})", bad.reason, bad.date), false); !told)
      return told;
    std::erase_if(opened_.candidates, [&](const Candidate& candidate) { return candidate.id == bad.kernel; });
  }
  return std::monostate{};
}

// The candidates of the search. Those that were rarely the best on such devices are for exhaustive searches, unless
// they were measured before.
std::vector<Candidate> Tuner::searched(std::span<const Measured> known) const {
  std::vector<Candidate> candidates;
  std::ranges::copy_if(opened_.candidates, std::back_inserter(candidates), [&](const Candidate& candidate) {
    return !candidate.is_rarely_best || options_.search.strategy == Strategy::exhaustive ||
           std::ranges::find(known, candidate.id, &Measured::id) != known.end();
  });
  return candidates;
}

// Of this problem's candidates, in the store's order.
Expected<std::vector<Measured>> Tuner::stored_times(TaskReport& report) const {
  const auto stored = store_.read(opened_.device, {.problem = opened_.problem});
  if (!stored) return stored.error();
  std::vector<Measured> known;
  for (const tuning::TunedRow& row : stored->rows) {
    report.has_cold_times |= row.is_cold && !is_cold();
    if (row.is_cold != is_cold()) continue;
    const auto digest = opened_.digests.find(row.kernel);
    if (digest == opened_.digests.end() || digest->second != row.digest || dropped_.contains(row.kernel)) continue;
    const auto candidate = std::ranges::find(opened_.candidates, row.kernel, &Candidate::id);
    if (candidate == opened_.candidates.end()) continue;
    known.push_back({row.kernel, candidate->cost_us, {row.us, row.low_us, row.high_us, row.samples}, row.is_final});
  }
  return known;
}

// The announced choice is read from the store, as programs do, so they choose the same.
Done Tuner::rank_as_stored(TaskReport& report) {
  auto stored = stored_times(report);
  if (!stored) return stored.error();
  for (Measured& measured : *stored) {
    const auto found = std::ranges::find(report.found.ranked, measured.id, &Measured::id);
    if (found != report.found.ranked.end()) measured.round = found->round;
  }
  report.found.ranked = *std::move(stored);
  return std::monostate{};
}

// A kernel that gives other bits in one run of many is found only here: the next best then replaces it.
Done Tuner::repeat_winner(TaskReport& report, double until_s) {
  SearchResult& found = report.found;
  while (!found.ranked.empty() && options_.repeats > 0) {
    const std::string id = found.ranked.front().id;
    std::string fault;
    const double within_s = until_s - seconds_since(began_);
    const auto reply = ask({{"do", "repeat"}, {"ids", {id}}, {"times", options_.repeats}, {"within_s", within_s}},
                           [&](const Json& line) { fault = line.value("fault", fault); });
    if (!reply) return reply.error();
    if (!reply->answer && fault.empty()) fault = fmt::format("repeating it: {}", reply->end);
    if (fault.empty()) return std::monostate{};
    if (Done dropped = drop(id, fault, true); !dropped) return dropped;
    found.ranked.erase(found.ranked.begin());
  }
  return std::monostate{};
}

// Forgets the problem before.
void Tuner::begin(const runner::Task& task, const Share& share) {
  began_ = std::chrono::steady_clock::now();
  task_ = task;
  share_ = share;
  by_relatives_.clear();
  verified_.clear();
  compiled_.clear();
  statistics_.clear();
  rounds_us_.clear();
  base_us_.clear();
  final_.reset();
  finals_ = 0;
  kept_.clear();
  clock_ = 1;
  dropped_.clear();
  suspicions_.clear();
  times_.clear();
  has_measured_ = false;
  expected_.clear();
  looks_ahead_ = true;
}

// By find_best(), of the candidates that the worker opened.
Done Tuner::search(TaskReport& report) {
  const Laboratory laboratory{
      .measure = [&](std::span<const std::string> ids, const Round& round) { return measure(ids, round); },
      .elapsed_s = [&] { return seconds_since(began_); },
      .expect = [&](std::vector<std::string> ids) { expected_ = std::move(ids); }};
  SearchOptions how = options_.search;
  how.share = share_;
  how.roof_us = opened_.roof_us;
  auto known = options_.is_anew ? Expected<std::vector<Measured>>(std::vector<Measured>()) : stored_times(report);
  if (!known) return known.error();
  for (const Measured& measured : *known) times_[measured.id] = measured.us;
  const std::vector<Candidate> candidates = searched(*known);
  report.candidates = candidates.size();
  report.left_out = opened_.candidates.size() - candidates.size();
  auto found = find_best(candidates, *known, laboratory, how);
  if (!found) return found.error();
  report.found = *std::move(found);
  return std::monostate{};
}

// After the last measurement.
void Tuner::complete(TaskReport& report, const std::string& untuned) const {
  report.base_us = report.counted_base_us = base_us_;
  report.finals = finals_;
  if (final_) {
    report.ties = final_->ties;
    report.clock = marked_clock(clock_of_final());
  }
  // If the device drifted, results are weighed by its base times around the final.
  if (final_ && drift_of(base_us_) > kDrift)
    report.counted_base_us = {base_us_[final_->sentinel], base_us_[final_->sentinel + 1]};
  report.roof_us = opened_.roof_us;
  const std::vector<Measured>& ranked = report.found.ranked;
  report.by_relatives = static_cast<size_t>(
      std::ranges::count_if(ranked, [&](const Measured& measured) { return by_relatives_.contains(measured.id); }));
  const auto measured = std::ranges::find(ranked, untuned, &Measured::id);
  const bool is_beside_best =
      measured != ranked.end() && measured->round > 0 && measured->round == ranked.front().round;
  if (is_beside_best) report.untuned = *measured;
  for (const auto& [kernel, reason] : dropped_) report.dropped.push_back({kernel, reason});
  report.suspicions = suspicions_;
  report.seconds = seconds_since(began_);
}

Expected<TaskReport> Tuner::tune(const runner::Task& task, const Share& share) {
  const double budget_s = budget_of(options_.search.strategy, share.budget_s);
  begin(task, {(1 - kOfRepeats) * budget_s, std::max(budget_s, share.most_s), share.pace});
  tell("open", 0, 0, command_of(task));
  if (!worker_) {
    if (Done started = start(); !started) return started.error();
  }
  auto opened = open(task);
  if (!opened) return opened.error();
  opened_ = *std::move(opened);
  TaskReport report{.problem = opened_.problem,
                    .device = opened_.device_name,
                    .device_key = opened_.device,
                    .profile = opened_.profile,
                    .most_s = share_.most_s,
                    .opened_s = seconds_since(began_)};
  const std::string untuned = opened_.candidates.front().id;
  if (Done skipped = skip_quarantined(); !skipped) return skipped.error();
  if (Done noted = note_base(); !noted) return noted.error();
  if (Done found = search(report); !found) return found.error();
  if (Done repeated = repeat_final(); !repeated) return repeated.error();
  if (!final_) {
    if (Done noted = note_base(); !noted) return noted.error();
  }
  if (Done marked = mark_slow_rows(); !marked) return marked.error();
  if (Done ranked = rank_as_stored(report); !ranked) return ranked.error();  // without rejected ones
  if (Done repeated = repeat_winner(report, budget_s); !repeated) return repeated.error();
  complete(report, untuned);
  return report;
}

}  // namespace qgen::tuner
