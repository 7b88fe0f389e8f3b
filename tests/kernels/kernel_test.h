// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The fixture of tests of shipped kernels: a request goes to EVERY kernel that applies, with every specialization and
// every kernel of a recipe's steps, from and to every storage, and must give the reference's bits.
//
//   class AffineTest : public qgen::testing::KernelTest {};
//   TEST_F(AffineTest, Ties) {
//     expect_reference("quantize_affine", {.inputs = {{"input", x}, {"scale", s}}, .attributes = {{"quant_min", -8}}});
//   }
//
// Each run has guard words behind what it writes, writes over poison, and is repeated over another
// (runtime/measure/trial.h). A failure names the kernel and the way in which it failed, and leaves the inputs as a
// conformance case, with the line that runs it again:
//
//   quantize_affine.f32.i8.buffer.buffer.vec4/workgroup64.items1 (plain buffers): output: element [3] is 4, expected 5
//   again: qgen-run --cases /tmp/qgen-failures/AffineTest.Ties --all-kernels --kernel '...'
//
// Sanitizers look at the code that runs the kernels, which is the same for all of a recipe: with them a request goes to
// the best kernel of each variant and of each recipe.
//
// expect_outputs() is for calls that no request can say, such as views with strides: it takes the call and what it
// should give. New operators join by a row in runtime/reference/references.cpp.
#pragma once

#include <fmt/format.h>

#include <filesystem>

#include "common/sanitizers.h"
#include "registry.h"
#include "runtime/measure/verify.h"
#include "runtime/operators/shipped.h"
#include "runtime/reference/references.h"
#include "runtime/runner/case_file.h"
#include "tests/support/device_test.h"

namespace qgen::testing {

// One Executor for the whole program: a pipeline is compiled once.
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
  void TearDown() override { executor_.reset(); }

 private:
  static constexpr uint32_t kGuardBytes = 256;
  // Without the matrices of int8 that llvmpipe puts together of its own, of 8 x 8 x 8: it takes seconds to compile a
  // kernel of those, and each layer makes its own pipelines. conformance/ runs all of them on its cases.
  static DeviceProfile profile_of(const Device& device) {
    DeviceProfile profile = device.profile();
    if (profile.numbers.is_cpu)
      std::erase_if(profile.flexible_cooperative_matrices,
                    [](const CooperativeMatrixShape& shape) { return bytes(shape.a) == 1; });
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
  // Every kernel that applies: with all its specializations or with the one that costs least, and in all storages,
  // layouts and real types that its operands may have or as the request asks.
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
  }

  static Context context() {
    return {.profile = shared_executor_environment.profile(),
            .library = shared_executor_environment.library(),
            .executor = shared_executor_environment.executor()};
  }

  // What every kernel should give is the reference's answer to the request as it comes to the kernel: complete, and on
  // halves where it runs on halves.
  void expect_reference(std::string_view op, const Request& request,
                        const measure::VerifyOptions& options = kEverything) {
    const OperatorEntry* entry = find_operator(op);
    const auto compute = reference::find(op);
    ASSERT_TRUE(entry && compute) << "operator or reference '" << op << "' is missing";
    Context on_device = context();
    const auto judge = [&](const measure::Way&, const Request& complete) {
      return std::vector{*measure::expectation_by_reference(*entry, complete)};
    };
    const measure::Verdict verdict = measure::verify(on_device, *entry, request, judge, sampled(options));
    report(verdict, verdict.findings.empty() ? "" : saved_case(*entry, request, compute));
  }

  // `prepared` on every kernel that applies.
  void expect_outputs(const PreparedCall& prepared, Tensors outputs) {
    Context on_device = context();
    measure::Verdict verdict;
    const measure::Expectation expected = measure::expectation_of(*prepared.call.problem.op, std::move(outputs));
    measure::verify(on_device, prepared, {&expected, 1}, sampled(kEverything), "as given", verdict);
    EXPECT_GT(verdict.runs, 0u) << explain(select(prepared.call.problem, on_device.profile, on_device.library));
    report(verdict, "");
  }

 private:
  static measure::VerifyOptions sampled(measure::VerifyOptions options) {
    if (QGEN_ADDRESS_SANITIZED || QGEN_THREAD_SANITIZED) options.all_specializations = options.all_step_kernels = false;
    return options;
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
