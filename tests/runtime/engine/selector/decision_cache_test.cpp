// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Cached choices equal those of select(), from any thread, and belong to the same problem.
#include "runtime/engine/selector/decision_cache.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <new>
#include <thread>

#include "tests/runtime/engine/library/sample_tables.h"

// Allocations of this thread are counted, in the whole program.
thread_local size_t allocations = 0;

void* operator new(size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
void* operator new(size_t size) {
  if (void* made = operator new(size, std::nothrow)) return made;
  throw std::bad_alloc();
}
// Not inline: g++ would consider free() after new a mistake.
[[gnu::noinline]] void operator delete(void* made) noexcept { std::free(made); }
[[gnu::noinline]] void operator delete(void* made, size_t) noexcept { std::free(made); }

namespace qgen {
namespace {

Problem rows_of(uint32_t count, uint32_t width, float factor = 0.5f) {
  const OperandDesc buffer{.dtype = DType::f32, .shape = std::vector<int64_t>{count, width}};
  const test::scale_rows::Problem fields{count, width, factor};
  return make_problem(test::scale_rows::kOperator, std::as_bytes(std::span(&fields, 1)), {buffer, buffer, buffer});
}

class DecisionCacheTest : public ::testing::Test {
 protected:
  DecisionCacheTest() {
    device_.max_workgroup_size = {1024, 1024, 64};
    device_.numbers.max_workgroup_invocations = 1024;
  }

  DeviceProfile device_;
  const KernelLibrary library_ = *KernelLibrary::open(test::sample_library());
};

TEST_F(DecisionCacheTest, ChoosesAsSelectDoes) {
  DecisionCache decisions(device_, library_);
  for (const uint32_t width : {1023u, 1024u}) {
    const Problem problem = rows_of(4, width);
    const auto choice = decisions.best(problem);
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->id, select(problem, device_, library_).ranked.front().id);
    EXPECT_EQ(decisions.best(problem), choice);  // the same object
  }
}

TEST_F(DecisionCacheTest, AllocatesNothingOnceAProblemIsKnown) {
  const TimeBook times(library_);
  for (const TimeBook* known : {static_cast<const TimeBook*>(nullptr), &times}) {
    DecisionCache decisions(device_, library_, known);
    const Problem problem = rows_of(4, 1024);
    const size_t before = allocations;
    const auto choice = decisions.best(problem);
    const size_t after_first = allocations;
    EXPECT_GT(after_first, before);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(decisions.best(problem), choice);
    EXPECT_EQ(allocations, after_first);
  }
}

// Scales are data of the launch, and record() compares operands with the shapes.
TEST_F(DecisionCacheTest, TellsProblemsApartByDataAndShape) {
  DecisionCache decisions(device_, library_);
  const Problem problem = rows_of(4, 1024);
  const auto choice = decisions.best(problem);
  const auto scaled = decisions.best(rows_of(4, 1024, 0.25f));
  EXPECT_NE(choice, scaled);
  EXPECT_EQ(choice->id, scaled->id);
  EXPECT_NE(choice->launches.front().problem, scaled->launches.front().problem);
  Problem reshaped = problem;
  reshaped.operands.front().shape = std::vector<int64_t>{1024, 4};
  EXPECT_NE(decisions.best(reshaped), choice);
}

TEST_F(DecisionCacheTest, HasNoneWhereNothingFits) {
  DecisionCache decisions(device_, library_);
  Problem problem = rows_of(4, 1024);
  problem.operands.front().dtype = DType::i32;
  EXPECT_FALSE(decisions.best(problem));
  EXPECT_FALSE(decisions.best(Problem()));
}

TEST_F(DecisionCacheTest, ForgetsAllPastItsBound) {
  DecisionCache decisions(device_, library_, nullptr, 2);
  const auto first = decisions.best(rows_of(1, 1024));
  decisions.best(rows_of(2, 1024));
  decisions.best(rows_of(3, 1024));
  const auto again = decisions.best(rows_of(1, 1024));
  EXPECT_NE(first, again);  // made again; the first is its holder's still
  EXPECT_EQ(first->id, again->id);
}

TEST_F(DecisionCacheTest, IsSafeFromManyThreads) {
  DecisionCache decisions(device_, library_, nullptr, 8);
  std::array<size_t, 4> found{};
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < found.size(); ++i) {
      threads.emplace_back([&, i] {
        for (uint32_t n = 0; n < 200; ++n) found[i] += decisions.best(rows_of(1 + n % 11, 1024)) != nullptr;
      });
    }
  }
  for (const size_t count : found) EXPECT_EQ(count, 200u);
}

}  // namespace
}  // namespace qgen
