// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Compares the results of kernels on two devices: one with robustBufferAccess, and one without. A kernel that reads or
// writes outside its buffers gives other bits without it, on a driver that makes a difference.
//
//   QGEN_TEST_ROBUST=both build/release/tests/test_kernels
//
// Tests of kernels then compare instead of verifying (kernel_test.h). Of each operator, the requests number 1, 4, 16, 64
// and so on are compared, since tests make thousands of small ones: on the best kernel, and on another that
// QGEN_TEST_SEED selects.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/log.h"
#include "runtime/engine/selector/select.h"
#include "runtime/workshop/measure/trial.h"
#include "tests/support/device_test.h"

namespace qgen::testing {

class RobustAccess : public ::testing::Environment {
 public:
  // Whether the environment wants this comparison. Another value than "both" ends the program.
  static bool is_wanted() {
    const char* value = std::getenv("QGEN_TEST_ROBUST");
    if (!value || !*value) return false;
    if (std::string_view(value) == "both") return true;
    print_log("QGEN_TEST_ROBUST: '{}' is not 'both'\n", value);
    std::exit(2);
  }

  // `robust` is on the device of the tests. Returns the fault; empty: equal bits, or not a request to compare.
  std::string compare(Context& robust, const OperatorEntry& entry, const Request& request, uint64_t seed) {
    const uint64_t number = ++requests_[std::string(entry.name)];
    if (!std::has_single_bit(number) || std::countr_zero(number) % 2 != 0) return "";
    const auto& plain = plain_device();
    if (!plain) return to_text(plain.error());
    if (plain->has_robust_buffer_access()) return "the device without robust access has it";
    auto executor = Executor::create(*plain, robust.library, {.guard_bytes = 256});
    if (!executor) return to_text(executor.error());
    Context without{.profile = robust.profile, .library = robust.library, .executor = *executor};
    return compare(robust, without, entry, request, seed + number);
  }

  void TearDown() override {
    if (is_wanted()) {
      fmt::print("robust access: {} comparisons of {} kernels, {} operators\n", comparisons_, kernels_.size(),
                 operators_.size());
      EXPECT_GT(comparisons_, 0U);
    }
    plain_.reset();
  }

 private:
  const Expected<Device>& plain_device() {
    if (!plain_) {
      auto mask = profiles::read_mask({});
      plain_.emplace(mask ? Device::open({}, {.validation = validation_is_wanted(), .mask = *std::move(mask)})
                          : Expected<Device>(mask.error()));
    }
    return *plain_;
  }

  std::string compare(Context& robust, Context& plain, const OperatorEntry& entry, const Request& request,
                      uint64_t seed) {
    const auto whole = complete(entry, request);
    if (!whole) return to_text(whole.error());
    const auto with = prepare(robust, entry, *whole), without = prepare(plain, entry, *whole);
    if (!with || !without) return to_text(with ? without.error() : with.error());
    for (const Choice& choice : some_of(select(with->call.problem, robust.profile, robust.library).ranked, seed)) {
      const auto expected = measure::run_trial(robust, *with, choice);
      if (!expected) return fmt::format("{}: {}", choice.id, to_text(expected.error()));
      const auto given = measure::run_trial(plain, *without, choice);
      if (!given) return fmt::format("{}, without robust access: {}", choice.id, to_text(given.error()));
      if (given->written != expected->written) return choice.id + ": other bits without robust access";
      ++comparisons_;
      kernels_.insert(choice.id.substr(0, choice.id.find_first_of("/(")));
      operators_.emplace(entry.name);
    }
    return "";
  }

  static std::vector<Choice> some_of(std::vector<Choice> ranked, uint64_t seed) {
    if (ranked.size() < 3) return ranked;
    std::swap(ranked[1], ranked[1 + seed * 0x9E3779B97F4A7C15U % (ranked.size() - 1)]);
    ranked.resize(2);
    return ranked;
  }

  std::optional<Expected<Device>> plain_;
  std::map<std::string, uint64_t, std::less<>> requests_;  // that tests made, by operator
  size_t comparisons_ = 0;
  std::set<std::string, std::less<>> kernels_, operators_;
};
// GoogleTest owns it, and tears it down before the device.
inline RobustAccess& robust_access_environment =
    static_cast<RobustAccess&>(*::testing::AddGlobalTestEnvironment(new RobustAccess));

}  // namespace qgen::testing
