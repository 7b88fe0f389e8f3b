// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The tuner with kernels that are wrong, crash and hang. It runs workers, which open the device: this process must
// not.
#include "seeded.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <utility>

#include "judged.h"
#include "operators.h"
#include "registry.h"
#include "runtime/engine/device/vulkan_api.h"
#include "runtime/engine/profiles/device_file.h"
#include "runtime/engine/selector/select.h"
#include "runtime/engine/tuning/known_times.h"
#include "runtime/workshop/tuner/tuner.h"
#include "runtime/workshop/tuner/worker.h"
#include "tests/support/expected_text.h"
#include "widened.h"

qgen::Expected<qgen::Call> seeded_tests::operators::infer(const SeededInputs<qgen::Described>& inputs) {
  using namespace qgen;
  const TensorDesc& input = inputs.input;
  const seeded_tests::seeded::Problem fields{.numel = static_cast<uint32_t>(element_count(input.shape))};
  return make_call(fields, {.input = input, .output = TensorDesc{DType::i32, input.shape}});
}

qgen::Expected<qgen::Call> seeded_tests::operators::infer(const JudgedInputs<qgen::Described>& inputs) {
  using namespace qgen;
  const TensorDesc& input = inputs.input;
  const seeded_tests::judged::Problem fields{.numel = static_cast<uint32_t>(element_count(input.shape))};
  return make_call(fields, {.input = input, .output = TensorDesc{DType::i32, input.shape}});
}

qgen::Expected<qgen::Call> seeded_tests::operators::infer(const WidenedInputs<qgen::Described>& inputs) {
  using namespace qgen;
  const TensorDesc& input = inputs.input;
  const seeded_tests::widened::Problem fields{.numel = static_cast<uint32_t>(element_count(input.shape))};
  return make_call(fields, {.input = input, .output = TensorDesc{DType::i32, input.shape}});
}

namespace qgen::tuner {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;
using ::testing::UnorderedElementsAreArray;

constexpr int kPatienceMs = 6000;  // for a slow and busy machine: a new worker opens the device before it answers
constexpr int64_t kDeadly = 4097;  // elements whose reference ends the process

// In a worker: the error that references add to the right values.
int32_t reference_error = 0;

std::optional<reference::Answer> widened(const HostTensor& input) {
  const auto bytes = input.as<int8_t>();
  std::vector<int32_t> wide(bytes.begin(), bytes.end());
  for (int32_t& x : wide) x += reference_error;
  reference::Answer made;
  made.outputs.emplace("output", make_tensor(DType::i32, input.shape, std::span<const int32_t>(wide)));
  return made;
}

std::optional<reference::Answer> answer(std::string_view name, const Request& request) {
  if (name == "widened") return widened(request.inputs.at("input"));
  if (name != "seeded" && name != "judged") return std::nullopt;
  if (element_count(request.inputs.at("input").shape) == kDeadly) ::_exit(9);
  HostTensor output = request.inputs.at("input");
  for (int32_t& x : output.as<int32_t>()) x = static_cast<int32_t>(3 * static_cast<uint32_t>(x) + 1) + reference_error;
  reference::Answer made;
  made.outputs.emplace("output", std::move(output));
  return made;
}

const runner::Program kLibrary{.name = "test-tune",
                               .kernels = seeded_tests::library(),
                               .operators = seeded_tests::operators::entries(),
                               .answers = answer};
const runner::Task kTask{"seeded", {.shapes = {"input=8192:i32"}}};

// ---- a driver that loses its device ---------------------------------------------------------------------------------

// In a worker: from then on the driver takes no more work.
bool is_device_lost = false;

PFN_vkGetInstanceProcAddr instance_function = nullptr;
PFN_vkGetDeviceProcAddr device_function = nullptr;
PFN_vkQueueSubmit submit = nullptr;

VkResult submit_or_lose(VkQueue queue, uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
  return is_device_lost ? VK_ERROR_DEVICE_LOST : submit(queue, count, infos, fence);
}

PFN_vkVoidFunction watched_device_function(VkDevice device, const char* name) {
  const PFN_vkVoidFunction function = device_function(device, name);
  if (std::string_view(name) != "vkQueueSubmit") return function;
  submit = reinterpret_cast<PFN_vkQueueSubmit>(function);
  return reinterpret_cast<PFN_vkVoidFunction>(submit_or_lose);
}

PFN_vkVoidFunction watched_instance_function(VkInstance instance, const char* name) {
  const PFN_vkVoidFunction function = instance_function(instance, name);
  if (std::string_view(name) != "vkGetDeviceProcAddr") return function;
  device_function = reinterpret_cast<PFN_vkGetDeviceProcAddr>(function);
  return reinterpret_cast<PFN_vkVoidFunction>(watched_device_function);
}

// Of devices that this process opens.
void watch_submissions() {
  if (!vulkan::load_loader()) return;  // opening a device says why
  instance_function = std::exchange(vulkan::loader().vkGetInstanceProcAddr, watched_instance_function);
}

class FaultsTest : public ::testing::Test {
 protected:
  FaultsTest() {
    std::string name = (std::filesystem::temp_directory_path() / "qgen-tuner-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    store_.emplace(*tuning::Store::open(folder_ / "tuning.sqlite"));
  }
  ~FaultsTest() override { std::filesystem::remove_all(folder_); }

  // The tuner's report, with a hook before each candidate in the worker.
  Expected<TaskReport> tuned(const std::function<void(std::string_view, std::string_view)>& on_candidate = {},
                             Strategy strategy = Strategy::exhaustive, const Share& share = {}) {
    Tuner tuner(*store_, {.worker = {.work =
                                         [on_candidate] {
                                           watch_submissions();
                                           return run_worker(kLibrary,
                                                             {.hang_ms = kPatienceMs, .on_candidate = on_candidate});
                                         },
                                     .patience = std::chrono::milliseconds(kPatienceMs)},
                          .search = {.strategy = strategy},
                          .repeats = 3});
    return tuner.tune(kTask, share);
  }

  // For a problem whose reference would take too long to run first, as with millions of elements.
  Expected<TaskReport> tuned_without_reference(const runner::Task& task, double most_operations_to_decide) {
    const WorkerOptions how{
        .verifier = {.most_operations = 2000, .most_operations_to_decide = most_operations_to_decide}};
    Tuner tuner(*store_, {.worker = {.work = [how] { return run_worker(kLibrary, how); }},
                          .search = {.strategy = Strategy::exhaustive}});
    return tuner.tune(task, {.budget_s = 600});
  }
  // All kernels that programs with this store may choose, by id.
  std::vector<std::string> ranked_by_programs(const std::string& key) {
    const auto library = KernelLibrary::open(kLibrary.kernels);
    const auto device = profiles::read_device(store_->devices()->front().profile, "the store");
    const auto book = tuning::known_times(*library, store_->path());
    const auto problem = problem_of(key, *library);
    if (!device || !book || !problem) return {};
    const auto times = book->of(*problem, *device);
    std::vector<std::string> ids;
    const SelectOptions all{.all_specializations = true, .all_step_kernels = true, .times = times.get()};
    for (const Choice& choice : select(*problem, *device, *library, all).ranked) ids.push_back(choice.id);
    return ids;
  }
  std::vector<std::string> quarantined() {
    std::vector<std::string> kernels;
    const auto devices = store_->devices();
    if (devices->empty()) return kernels;  // nothing was measured, so nothing is known of any device
    const auto bad = store_->quarantined(devices->front().key);
    for (const tuning::Quarantined& one : *bad) kernels.push_back(one.kernel);
    return kernels;
  }

  std::filesystem::path folder_;
  std::optional<tuning::Store> store_;
};

std::vector<std::string> ids_of(const TaskReport& report) {
  std::vector<std::string> ids;
  for (const Measured& measured : report.found.ranked) ids.push_back(measured.id);
  return ids;
}

bool is_right(std::string_view id) { return id.starts_with("seeded.none"); }

TEST_F(FaultsTest, ChoosesNoneOfTwentyWrongKernels) {
  const auto report = tuned();
  ASSERT_TRUE(report) << to_text(report.error());
  EXPECT_EQ(report->candidates, 22u * 3u);
  EXPECT_EQ(report->found.ranked.size(), 2u * 3u);
  for (const Measured& measured : report->found.ranked) EXPECT_TRUE(is_right(measured.id)) << measured.id;
  EXPECT_EQ(report->dropped.size(), 20u * 3u);
  const auto rows = store_->rows(store_->devices()->front().key);
  ASSERT_TRUE(rows);
  for (const auto& row : *rows) {
    EXPECT_TRUE(is_right(row.kernel)) << row.kernel << " has a time";
    EXPECT_TRUE(row.statistics.empty() || row.statistics.starts_with("[{")) << row.statistics;
  }
  // Quarantine lasts: the next run does not try them again, and continues from the known times.
  const auto again = tuned();
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(again->candidates, 2u * 3u);
  EXPECT_EQ(again->found.ranked.size(), 2u * 3u);
  // Programs do not choose them either, not even by an estimate.
  const auto ids = ranked_by_programs(report->problem);
  EXPECT_EQ(ids.size(), 2u * 3u);
  for (const std::string& id : ids) EXPECT_TRUE(is_right(id)) << id;
}

// Crashes while it compiles, loses the device and hangs while it is verified, and again while it is timed.
TEST_F(FaultsTest, LosesOneSampleToEachDeath) {
  const auto report = tuned([](std::string_view stage, std::string_view id) {
    const auto is = [&](std::string_view where, std::string_view which) { return stage == where && id == which; };
    if (is("compile", "seeded.none/workgroup32")) {
      ::signal(SIGSEGV, SIG_DFL);  // a sanitizer would end the process with its own code
      ::raise(SIGSEGV);
    }
    if (is("verify", "seeded.none/workgroup64")) is_device_lost = true;
    if (is("verify", "seeded.none_in_steps/workgroup32")) std::this_thread::sleep_for(std::chrono::hours(1));
    if (is("time", "seeded.none_in_steps/workgroup64")) std::this_thread::sleep_for(std::chrono::hours(1));
    if (is("time", "seeded.none_in_steps/workgroup128")) is_device_lost = true;
  });
  ASSERT_TRUE(report) << to_text(report.error());
  ASSERT_EQ(report->found.ranked.size(), 1u);
  EXPECT_EQ(report->found.ranked.front().id, "seeded.none/workgroup128");
  std::map<std::string, std::string> dropped;
  for (const Dropped& one : report->dropped) dropped[one.kernel] = one.reason;
  EXPECT_THAT(dropped["seeded.none/workgroup32"], HasSubstr("compiling it: it died of signal 11"));
  EXPECT_THAT(dropped["seeded.none/workgroup64"], HasSubstr("VK_ERROR_DEVICE_LOST"));
  EXPECT_THAT(dropped["seeded.none_in_steps/workgroup32"], HasSubstr("running it: it did not answer for 6 s"));
  EXPECT_THAT(dropped["seeded.none_in_steps/workgroup64"], HasSubstr("timing it: it did not answer for 6 s"));
  EXPECT_THAT(dropped["seeded.none_in_steps/workgroup128"],
              AllOf(HasSubstr("timing it: "), HasSubstr("VK_ERROR_DEVICE_LOST")));
  EXPECT_EQ(dropped.size(), 20u * 3u + 5u);
  std::vector<std::string> ids;
  for (const auto& [id, reason] : dropped) ids.push_back(id);
  EXPECT_THAT(quarantined(), UnorderedElementsAreArray(ids));
}

// The judge may be wrong: kernels of two templates that agree are trusted then, and kernels of one are skipped. It is
// reported, and nobody is quarantined for it.
TEST_F(FaultsTest, SuspectsTheReferenceThatNoKernelAgreesWith) {
  const auto tuned_by_a_wrong_one = [&](const runner::Task& task) {
    Tuner tuner(*store_, {.worker = {.work =
                                         [] {
                                           reference_error = 1;
                                           return run_worker(kLibrary, {});
                                         }},
                          .search = {.strategy = Strategy::exhaustive}});
    return tuner.tune(task, {.budget_s = 600});
  };
  const auto of_two = tuned_by_a_wrong_one({"judged", {.shapes = {"input=512:i32"}}});
  ASSERT_TRUE(of_two) << to_text(of_two.error());
  ASSERT_FALSE(of_two->suspicions.empty());
  EXPECT_THAT(of_two->suspicions.front(), HasSubstr("output: element [0] is "));
  EXPECT_THAT(of_two->suspicions.front(), HasSubstr("and all give the same results as"));
  EXPECT_FALSE(of_two->found.ranked.empty());
  EXPECT_THAT(of_two->dropped, IsEmpty());
  EXPECT_THAT(quarantined(), IsEmpty());

  const auto of_one = tuned_by_a_wrong_one({"widened", {.shapes = {"input=512:i8"}}});
  ASSERT_TRUE(of_one) << to_text(of_one.error());
  EXPECT_FALSE(of_one->suspicions.empty());
  EXPECT_THAT(of_one->found.ranked, IsEmpty());
  EXPECT_EQ(of_one->dropped.size(), 2u);
  EXPECT_THAT(quarantined(), IsEmpty());
}

// Programs choose the announced kernel from then on, whatever a round before the final measured.
TEST_F(FaultsTest, ProgramsChooseWhatWasAnnounced) {
  const auto library = KernelLibrary::open(kLibrary.kernels);
  ASSERT_TRUE(library);
  for (const int run : {0, 1, 2}) {
    Tuner tuner(*store_, {.worker = {.work = [] { return run_worker(kLibrary, {}); }}, .is_anew = run == 2});
    const auto report = tuner.tune({"judged", {.shapes = {"input=4096:i32"}}}, {.budget_s = 600});
    ASSERT_TRUE(report) << to_text(report.error());
    ASSERT_FALSE(report->found.ranked.empty());
    EXPECT_TRUE(report->found.ranked.front().is_final);
    ASSERT_TRUE(report->untuned);
    EXPECT_EQ(report->untuned->round, report->found.ranked.front().round);
    const auto stored = store_->devices();
    const auto device = profiles::read_device(stored->front().profile, "the store");
    const auto book = tuning::known_times(*library, store_->path());
    ASSERT_TRUE(book) << to_text(book.error());
    const auto problem = problem_of(report->problem, *library);
    ASSERT_TRUE(problem);
    const auto times = book->of(*problem, *device);
    EXPECT_EQ(times->size(), report->found.ranked.size());
    const Selection selection = select(*problem, *device, *library, {.times = times.get()});
    EXPECT_EQ(selection.ranked.front().id, report->found.ranked.front().id) << run;
    EXPECT_EQ(selection.ranked.front().time_us, report->found.ranked.front().us.median) << run;
  }
}

// Each batch of a stage begins anew and comes to its end.
TEST_F(FaultsTest, TellsHowFarEachStageIs) {
  std::map<std::string_view, std::vector<std::pair<size_t, size_t>>> told;
  Tuner tuner(*store_, {.worker = {.work = [] { return run_worker(kLibrary, {}); }},
                        .search = {.strategy = Strategy::exhaustive},
                        .on_event = [&](const TunerEvent& event) {
                          if (event.all > 0) told[event.stage].emplace_back(event.done, event.all);
                        }});
  ASSERT_TRUE(tuner.tune(kTask, {}));
  for (const std::string_view stage : {"compile", "verify", "time"}) {
    ASSERT_FALSE(told[stage].empty()) << stage;
    size_t last = 0;
    for (const auto& [done, all] : told[stage]) {
      EXPECT_LE(done, all) << stage;
      EXPECT_TRUE(done <= last + 1 || done == all) << stage << " passes over some";  // a final may be decided early
      last = done == all ? 0 : done;
    }
    EXPECT_EQ(last, 0u) << stage << " ends before its end";
  }
}

TEST_F(FaultsTest, TellsTheBestSoFar) {
  std::vector<std::pair<std::string, double>> best;
  const auto tuned_by = [&](const std::function<int()>& work) {
    Tuner tuner(*store_, {.worker = {.work = work},
                          .search = {.strategy = Strategy::exhaustive},
                          .on_event = [&](const TunerEvent& event) { best.emplace_back(event.best, event.best_us); }});
    return tuner.tune(kTask, {});
  };
  const auto report = tuned_by([] { return run_worker(kLibrary, {}); });
  ASSERT_TRUE(report) << to_text(report.error());
  EXPECT_EQ(best.front().first, "") << "nothing is measured yet";
  EXPECT_NE(best.back().first, "");
  for (const auto& [id, us] : best) EXPECT_TRUE(id.empty() || (is_right(id) && us > 0)) << id << ' ' << us;

  // The store's rows are known from the start, and a dropped row is no best any more.
  best.clear();
  // Not the first in the ranking, which was measured for longer.
  const Measured winner =
      *std::ranges::min_element(report->found.ranked, {}, [](const Measured& measured) { return measured.us.low; });
  const auto dies = [&](std::string_view stage, std::string_view id) {
    if (stage == "verify" && id == winner.id) ::_exit(0);
  };
  ASSERT_TRUE(tuned_by([&] { return run_worker(kLibrary, {.on_candidate = dies}); }));
  EXPECT_THAT(best, Contains(std::pair(winner.id, winner.us.median)));
  EXPECT_NE(best.back().first, winner.id);
  EXPECT_NE(best.back().first, "");
}

// A problem's own cache setting comes ahead of the common one.
TEST_F(FaultsTest, TimesWithTheCacheOfTheProblem) {
  struct Said {
    bool is_cold_for_all;
    std::optional<bool> of_problem;
    bool is_cold;
  };
  for (const Said& said : {Said{false, true, true}, Said{true, false, false}, Said{true, std::nullopt, true}}) {
    Tuner tuner(*store_, {.worker = {.work = [] { return run_worker(kLibrary, {}); }},
                          .search = {.strategy = Strategy::exhaustive},
                          .is_cold = said.is_cold_for_all});
    const auto report = tuner.tune({"widened", {.shapes = {"input=2000:i8"}}, said.of_problem}, {});
    ASSERT_TRUE(report) << to_text(report.error());
    const auto rows = store_->rows(store_->devices()->front().key);
    ASSERT_TRUE(rows);
    EXPECT_EQ(rows->size(), 2u);
    EXPECT_THAT(*rows, Each(Field(&tuning::TunedRow::is_cold, said.is_cold)));
    ASSERT_TRUE(store_->forget({}));
  }
}

// Dies while others are verified and timed, whom nobody blames; nor the one that it died of, which runs.
TEST_F(FaultsTest, BlamesNobodyForWhatIsCompiledBeside) {
  const WorkerOptions how{.is_ahead_on_cpu = true, .on_candidate = [](std::string_view stage, std::string_view) {
                            if (stage == "compile ahead") ::_exit(9);
                          }};
  Tuner tuner(*store_, {.worker = {.work = [how] { return run_worker(kLibrary, how); }},
                        .search = {.strategy = Strategy::exhaustive}});
  const auto report = tuner.tune(kTask, {});
  ASSERT_TRUE(report) << to_text(report.error());
  EXPECT_EQ(report->found.ranked.size(), 2u * 3u);
  EXPECT_EQ(report->dropped.size(), 20u * 3u);
  for (const Dropped& dropped : report->dropped) EXPECT_THAT(dropped.reason, Not(HasSubstr("code 9")));
}

// Two kernels of a template that are wrong in the same elements do not judge those that are right.
TEST_F(FaultsTest, BelievesNoTwoOfOneTemplate) {
  const auto report = tuned_without_reference({"judged", {.shapes = {"input=8192:i32"}}}, 0);
  ASSERT_TRUE(report) << to_text(report.error());
  EXPECT_THAT(ids_of(*report), UnorderedElementsAre("judged.none/workgroup32", "judged.none/workgroup64",
                                                    StartsWith("judged.apart(judged_apart")));
  EXPECT_EQ(report->by_relatives, 0u);
  EXPECT_THAT(quarantined(),
              UnorderedElementsAre("judged.wrong_past_4096/workgroup32", "judged.wrong_past_4096/workgroup64"));
}

TEST_F(FaultsTest, AsksTheReferenceWhereTwoDoNotAgree) {
  for (const std::string_view op : {"judged", "seeded"}) {
    const auto report = tuned_without_reference({std::string(op), {.shapes = {"input=8192:i32"}}}, 1e6);
    ASSERT_TRUE(report) << to_text(report.error());
    EXPECT_FALSE(report->found.ranked.empty());
    for (const std::string& id : ids_of(*report)) EXPECT_THAT(id, Not(HasSubstr("wrong_past_4096")));
    EXPECT_THAT(quarantined(), Contains(HasSubstr("wrong_past_4096/workgroup64")));
    EXPECT_THAT(quarantined(), Not(Contains(HasSubstr(".none"))));
  }
}

// If a device cannot hold one problem, that is no fault of kernels, which other problems need.
TEST_F(FaultsTest, QuarantinesNothingForATooLargeOutput) {
  const auto large = tuned_without_reference({"widened", {.shapes = {"input=33562624:i8"}}}, 0);
  if (large) GTEST_SKIP() << "this device binds more than 128 MiB at once";
  EXPECT_THAT(to_text(large.error()), HasSubstr("at once"));
  EXPECT_THAT(quarantined(), IsEmpty());
  const auto small = tuned_without_reference({"widened", {.shapes = {"input=1000:i8"}}}, 0);
  ASSERT_TRUE(small) << to_text(small.error());
  EXPECT_EQ(small->found.ranked.size(), 2u);
}

// Of one template alone nobody knows more than its kernels' results on small problems, unless they contradict.
TEST_F(FaultsTest, SaysWhatOnlyRelativesWereAsked) {
  const auto alike = tuned_without_reference({"seeded", {.shapes = {"input=4096:i32"}}}, 0);
  ASSERT_TRUE(alike) << to_text(alike.error());
  EXPECT_THAT(ids_of(*alike), IsSupersetOf({"seeded.none/workgroup32", "seeded.wrong_past_4096/workgroup32"}));
  EXPECT_EQ(alike->by_relatives, alike->found.ranked.size());

  const auto unlike = tuned_without_reference({"seeded", {.shapes = {"input=8192:i32"}}}, 0);
  ASSERT_TRUE(unlike) << to_text(unlike.error());
  EXPECT_TEXT(why_nothing(*unlike), "no kernel is left");
  EXPECT_THAT(unlike->dropped, Contains(Field(&Dropped::reason, HasSubstr("none of which is verified"))));
  EXPECT_THAT(quarantined(), Not(Contains(AnyOf(HasSubstr(".none"), HasSubstr("wrong_past_4096"))))) << "either";
}

// A problem whose references alone take longer than it may is not one whose kernels are all wrong.
TEST_F(FaultsTest, SaysWhyNothingWasMeasured) {
  const auto hurried = tuned({}, Strategy::automatic, {.budget_s = 1e-6});
  ASSERT_TRUE(hurried) << to_text(hurried.error());
  EXPECT_THAT(why_nothing(*hurried), HasSubstr("nothing was measured: this problem may take 0.0 s, and making"));
  EXPECT_TRUE(hurried->dropped.empty());

  const auto dead = tuned([](std::string_view stage, std::string_view id) {
    if (stage == "verify" && is_right(id)) ::_exit(0);
  });
  ASSERT_TRUE(dead) << to_text(dead.error());
  EXPECT_TEXT(why_nothing(*dead), "no kernel is left");
  const auto again = tuned();
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_TEXT(why_nothing(*again), "no kernel is left");
  ASSERT_EQ(again->dropped.size(), 22u * 3u);
  EXPECT_THAT(again->dropped.front().reason, HasSubstr("(quarantined "));
}

TEST_F(FaultsTest, SaysWhatCannotBeTuned) {
  Tuner tuner(*store_, {.worker = {.work = [] { return run_worker(kLibrary, {}); }}});
  EXPECT_THAT(to_text(tuner.tune({"seeded", {}}, {.budget_s = 10}).error()), HasSubstr("input"));
  EXPECT_THAT(to_text(tuner.tune({"sorted", {}}, {.budget_s = 10}).error()), HasSubstr("sorted"));
  EXPECT_THAT(to_text(tuner.tune({"seeded", {.shapes = {"input=4:f32"}}}, {.budget_s = 10}).error()), HasSubstr("f32"));
  EXPECT_THAT(
      to_text(tuner.tune({"seeded", {.shapes = {fmt::format("input={}:i32", kDeadly)}}}, {.budget_s = 10}).error()),
      HasSubstr("the worker could not open the problem: it ended with code 9"));
  EXPECT_TRUE(tuner.tune(kTask, {.budget_s = 1e-6})) << "one bad problem is no end of the others";
  Tuner dead(*store_, {.worker = {.work = [] { return 7; }}});
  EXPECT_THAT(to_text(dead.tune(kTask, {.budget_s = 10}).error()),
              HasSubstr("the worker could not start: it ended with code 7"));
}

}  // namespace
}  // namespace qgen::tuner
