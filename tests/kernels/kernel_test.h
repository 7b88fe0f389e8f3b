// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The fixture of tests of shipped kernels. A request goes to EVERY kernel that applies, with every specialization and
// every kernel of a recipe's steps, from and to every storage, and must give the reference's bits.
//
//   class AffineTest : public qgen::testing::KernelTest {};
//   TEST_F(AffineTest, Ties) {
//     expect_reference("quantize_affine", {.inputs = {{"input", x}, {"scale", s}}, .attributes = {{"quant_min", -8}}});
//   }
//
// Each run has guard words after its outputs, writes over poison, and is repeated over another one
// (runtime/workshop/measure/trial.h). A failure names the kernel and the kind of failure, and leaves the inputs as a
// conformance case, with the command that runs it again:
//
//   quantize_affine.f32.i8.buffer.buffer.vec4/workgroup64.items1 (plain buffers): output: element [3] is 4, expected 5
//   again: qgen-run --cases /tmp/qgen-failures/AffineTest.Ties --all-kernels --kernel '...'
//
// A run looks at a sample of them (runtime/workshop/measure/kernel_sample.h), which the environment says:
//
//   QGEN_TEST_SHARE   of the kernels that bring no new trait, 0 to 1: 1 is all kernels; unset: 0.0005
//   QGEN_TEST_SEED    what the sample is drawn by; unset: 0
//   QGEN_TEST_SHARD   "2/8": the second of eight processes that divide the sample; unset: "1/1"
//   QGEN_TEST_FAMILIES   all kernels of these families, with commas between them, and no others
//   QGEN_TEST_ROBUST     "both": compares results with and without robust access instead (robust_access.h)
//
// Sanitizers look at the code that runs the kernels, which is the same for all of a recipe. With them a request goes to
// the best kernel, and with a share of 1 to the best of each variant and of each recipe.
//
// expect_outputs() is for calls that no request can express, such as views with strides: it gets the call and its
// expected outputs. New operators join by a row in runtime/workshop/reference/references.cpp.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <sstream>

#include "common/log.h"
#include "common/number.h"
#include "common/sanitizers.h"
#include "registry.h"
#include "runtime/engine/operators/shipped.h"
#include "runtime/engine/selector/force.h"
#include "runtime/workshop/measure/verify.h"
#include "runtime/workshop/reference/references.h"
#include "runtime/workshop/runner/case_file.h"
#include "tests/kernels/robust_access.h"
#include "tests/support/device_test.h"

namespace qgen {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace qgen

namespace qgen::testing {

// The sample that the environment selects. An unreadable value ends the program, since otherwise a different sample
// would pass for the requested one.
inline measure::SampleOptions sample_options() {
  const auto text_of = [](const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return std::string(value && *value ? value : otherwise);
  };
  const auto number_of = [](const char* name, const std::string& text, const auto& range) {
    const auto number = range.read(text);
    if (number) return *number;
    print_log("{}: '{}' is not {}\n", name, text, range.to_text());
    std::exit(2);
  };
  const std::string share = text_of("QGEN_TEST_SHARE", "0.0005"), seed = text_of("QGEN_TEST_SEED", "0");
  const std::string shard = text_of("QGEN_TEST_SHARD", "1/1"), families = text_of("QGEN_TEST_FAMILIES", "");
  const size_t slash = std::min(shard.find('/'), shard.size());
  measure::SampleOptions options;
  options.share = number_of("QGEN_TEST_SHARE", share, NumberRange<double>{0, 1});
  options.seed = number_of("QGEN_TEST_SEED", seed, NumberRange<uint64_t>{0, UINT64_MAX});
  options.shards =
      number_of("QGEN_TEST_SHARD", shard.substr(std::min(slash + 1, shard.size())), NumberRange<uint32_t>{1, 10000});
  options.shard = number_of("QGEN_TEST_SHARD", shard.substr(0, slash), NumberRange<uint32_t>{1, options.shards}) - 1;
  std::istringstream of_families(families);
  for (std::string family; std::getline(of_families, family, ',');) options.families.insert(family);
  return options;
}

// The sampled part of a test's kernels, and the sample. It is drawn for the whole program.
struct SampledRuns {
  measure::KernelSample sample{sample_options()};
  size_t taken = 0, left_out = 0;  // of the test that runs
  size_t all_taken = 0, all_left_out = 0;

  ~SampledRuns() {
    const measure::SampleOptions& options = sample.options();
    fmt::print(
        "sample: {} of {} runs of kernels, {} traits; QGEN_TEST_SHARE={} QGEN_TEST_SEED={} QGEN_TEST_SHARD={}/{}\n",
        all_taken, all_taken + all_left_out, sample.traits(), options.share, options.seed, options.shard + 1,
        options.shards);
  }
};
inline SampledRuns& sampled_runs() {
  static SampledRuns runs;
  return runs;
}

// One Executor for each test: llvmpipe's compiled code is freed at the test's end, or a run of all would take
// gigabytes. Mesa's cache on disk has it for the next test.
class SharedExecutor : public ::testing::Environment {
 public:
  const Expected<Executor>& get(const Device& device) {
    if (!library_) library_.emplace(KernelLibrary::open(generated::library()));
    if (!executor_) executor_.emplace(make(device));
    profile_ = profile_of(device);
    return *executor_;
  }
  const DeviceProfile& profile() const { return profile_; }
  Executor& executor() { return **executor_; }
  const KernelLibrary& library() const { return **library_; }
  void forget() { executor_.reset(); }
  void TearDown() override { forget(); }

 private:
  static constexpr uint32_t kGuardBytes = 256;
  // Without llvmpipe's emulated int8 matrices of 8 x 8 x 8: a kernel with them takes seconds to compile, and each layer
  // makes its own pipelines. conformance/ runs all of them on its cases. llvmpipe takes multiples of f16 matrices of
  // 8 x 8 x 8. A sample has only 16 x 8 x 16 of them, because a kernel with 16 x 16 x 16 took 218 s to compile.
  static DeviceProfile profile_of(const Device& device) {
    DeviceProfile profile = device.profile();
    if (!profile.numbers.is_cpu) return profile;
    auto& flexible = profile.flexible_cooperative_matrices;
    std::erase_if(flexible, [](const CooperativeMatrixShape& shape) { return bytes(shape.a) == 1; });
    if (sampled_runs().sample.options().share == 1) return profile;
    for (CooperativeMatrixShape shape : flexible) {
      shape.m = shape.k = 16;
      profile.cooperative_matrices.push_back(shape);
    }
    flexible.clear();
    return profile;
  }
  Expected<Executor> make(const Device& device) const {
    if (!*library_) return library_->error();
    return Executor::create(device, **library_, {.guard_bytes = kGuardBytes});
  }

  std::optional<Expected<KernelLibrary>> library_;
  std::optional<Expected<Executor>> executor_;
  DeviceProfile profile_;
};
// GoogleTest owns it, and tears it down before the device, which was registered first.
inline SharedExecutor& shared_executor_environment =
    static_cast<SharedExecutor&>(*::testing::AddGlobalTestEnvironment(new SharedExecutor));

class KernelTest : public DeviceTest {
 protected:
  // Every kernel that applies: with all its specializations or with the cheapest one, and in all storages, layouts and
  // floating-point types that its operands may have or that the request sets.
  static inline const measure::VerifyOptions kEverything{.all_kernels = true};
  static inline const measure::VerifyOptions kEveryVariant{.all_kernels = true, .all_specializations = false};
  static inline const measure::VerifyOptions kEverythingAsAsked{.all_kernels = true, .in_all_ways = false};
  static inline const measure::VerifyOptions kEveryVariantAsAsked{
      .all_kernels = true, .all_specializations = false, .in_all_ways = false};

  void SetUp() override {
    DeviceTest::SetUp();
    if (HasFatalFailure()) return;
    const auto& made = shared_executor_environment.get(device());
    ASSERT_TRUE(made) << to_text(made.error());
    sampled_runs().taken = sampled_runs().left_out = 0;
  }

  void TearDown() override {
    DeviceTest::TearDown();
    shared_executor_environment.forget();
    const SampledRuns& runs = sampled_runs();
    if (runs.taken == 0 && runs.left_out > 0) GTEST_SKIP() << "all of its kernels are left to other shards or samples";
  }

  static Context context() {
    return {.profile = shared_executor_environment.profile(),
            .library = shared_executor_environment.library(),
            .executor = shared_executor_environment.executor()};
  }

  // The expected result of every kernel is the reference's answer to the request in the kernel's form: complete, and in
  // f16 if it runs in f16.
  void expect_reference(std::string_view op, const Request& request,
                        const measure::VerifyOptions& options = kEverything) {
    const OperatorEntry* entry = find_operator(op);
    const auto compute = reference::find(op);
    ASSERT_TRUE(entry && compute) << "operator or reference '" << op << "' is missing";
    Context on_device = context();
    if (RobustAccess::is_wanted()) {
      const uint64_t seed = sampled_runs().sample.options().seed;
      EXPECT_EQ(robust_access_environment.compare(on_device, *entry, request, seed), "");
      return;
    }
    const auto judge = [&](const measure::RequestFormats&, const Request& complete) {
      return std::vector{*measure::expectation_by_reference(*entry, complete)};
    };
    const measure::Verdict verdict = measure::verify(on_device, *entry, request, judge, sampled(options));
    count(verdict);
    report(verdict, verdict.findings.empty() ? "" : saved_case(*entry, request, compute));
  }

  // These bits, of every kernel that applies.
  void expect_bits(std::string_view op, const Request& request, const Tensors& outputs,
                   const measure::VerifyOptions& options = kEverythingAsAsked) {
    if (RobustAccess::is_wanted()) return;
    const OperatorEntry* entry = find_operator(op);
    ASSERT_TRUE(entry) << "operator '" << op << "' is missing";
    Context on_device = context();
    const auto judge = [&](const measure::RequestFormats&, const Request&) {
      return std::vector{measure::Expectation{outputs, {}, {}}};
    };
    const measure::Verdict verdict = measure::verify(on_device, *entry, request, judge, sampled(options));
    count(verdict);
    report(verdict, "");
  }

  // As expect_reference(), of one kernel, as its id says with a specialization. A mask may take the narrow storage that it needs: then
  // for the module of the same template that accesses words.
  void expect_reference_of(std::string_view kernel, const Request& request) {
    const std::string_view op = kernel.substr(0, kernel.find('.'));
    const std::string id = on_this_device(kernel, *context().library.find(op));
    ASSERT_NE(id, "") << "the device lacks what " << kernel << " needs, and no module that accesses words replaces it";
    expect_reference(op, request, {.all_kernels = true, .in_all_ways = false, .kernel = id});
  }

  // Whether a test makes the i-th of its requests that differ in sizes alone. Each of them compiles kernels anew, so a
  // sample has every `period`-th of them: the seed says which.
  static bool has_turn(size_t i, size_t period) {
    const measure::SampleOptions& sample = sampled_runs().sample.options();
    return sample.share >= 1 || !sample.families.empty() || (i + sample.seed) % period == 0;
  }

  // `prepared` on every kernel that applies.
  void expect_outputs(const PreparedCall& prepared, Tensors outputs) {
    if (RobustAccess::is_wanted()) return;
    Context on_device = context();
    measure::Verdict verdict;
    const measure::Expectation expected = measure::expectation_of(*prepared.call.problem.op, std::move(outputs));
    measure::verify(on_device, prepared, {&expected, 1}, sampled(kEverything), "as given", verdict);
    count(verdict);
    EXPECT_GT(verdict.runs + verdict.left_out, 0u)
        << explain(select(prepared.call.problem, on_device.profile, on_device.library));
    report(verdict, "");
  }

 private:
  static measure::VerifyOptions sampled(measure::VerifyOptions options) {
    const bool is_sanitized = QGEN_SANITIZED;
    if (is_sanitized) options.all_specializations = options.all_step_kernels = false;
    if (is_sanitized && sampled_runs().sample.options().share < 1) options.all_kernels = false;
    options.sample = &sampled_runs().sample;
    return options;
  }
  static void count(const measure::Verdict& verdict) {
    SampledRuns& runs = sampled_runs();
    runs.taken += verdict.runs, runs.all_taken += verdict.runs;
    runs.left_out += verdict.left_out, runs.all_left_out += verdict.left_out;
  }

  // The id itself, or that of its module that accesses words; empty: the device has neither.
  static std::string on_this_device(std::string_view kernel, const OperatorInfo& op) {
    const size_t end = std::min(kernel.find('/'), kernel.size());
    const std::string native(kernel);
    const std::string by_words = native.substr(0, end) + ".by_words" + native.substr(end);
    for (const std::string& id : {native, by_words}) {
      const selector::FoundKernel found = selector::find_kernel(op, id);
      if (found.kernel && !context().profile.missing(op.interface_of(*found.kernel).needs)) return id;
    }
    return "";
  }

  static void report(const measure::Verdict& verdict, const std::string& saved) {
    constexpr size_t kShown = 5;
    for (size_t i = 0; i < std::min(kShown, verdict.findings.size()); ++i) {
      const measure::Finding& finding = verdict.findings[i];
      const std::string again =
          saved.empty() ? ""
                        : "\nagain: qgen-run --cases " + saved + " --all-kernels --kernel '" + finding.kernel + "'";
      ADD_FAILURE() << finding.kernel << " (" << finding.way << "): " << finding.fault << again;
    }
    if (verdict.findings.size() > kShown) ADD_FAILURE() << "and " << verdict.findings.size() - kShown << " more";
  }

  static std::string saved_case(const OperatorEntry& entry, const Request& request, reference::Operator compute) {
    const auto completed = complete(entry, request);
    if (!completed) return "";
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    static int count = 0;
    const auto folder = std::filesystem::temp_directory_path() / "qgen-failures" /
                        fmt::format("{}.{}.{}", test->test_suite_name(), test->name(), ++count);
    const Done saved = runner::save_case(
        folder, {.name = "", .op = std::string(entry.name), .request = request, .expected = compute(*completed)});
    return saved ? folder.string() : "";
  }
};

}  // namespace qgen::testing
