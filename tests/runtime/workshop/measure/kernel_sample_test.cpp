// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/measure/kernel_sample.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "registry.h"
#include "runtime/engine/operators/shipped.h"
#include "runtime/workshop/measure/request_formats.h"
#include "tests/support/described_device.h"

namespace qgen::measure {
namespace {

using ::testing::UnorderedElementsAreArray;

// All choices of some ways to run two operators, one of them with recipes.
class KernelSampleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto library = KernelLibrary::open(generated::library());
    ASSERT_TRUE(library);
    const DeviceProfile device = tests::described_device("nvidia-h200");
    for (const char* op : {"choose_qparams_affine", "softmax"}) {
      for (const int64_t columns : {3, 64, 4000}) {
        const OperatorEntry& entry = *find_operator(op);
        const auto request = complete(entry, {.inputs = {{"input", zeros(DType::f32, {5, columns})}}});
        ASSERT_TRUE(request) << to_text(request.error());
        for (const RequestFormats& way :
             formats_of(entry, *kernels_of(entry, *library), *request, {{"input", 2}, {"output", 2}})) {
          const auto in = complete(entry, in_formats(*request, way, entry, *kernels_of(entry, *library)));
          const auto call = in ? infer_call(entry, *in) : in.error();
          ASSERT_TRUE(call) << to_text(call.error());
          ops_.push_back(entry.op->name);
          ways_.push_back(
              select(call->problem, device, *library, {.all_specializations = true, .all_step_kernels = true}).ranked);
        }
      }
    }
    ASSERT_GT(ways_.size(), 20u);
  }

  // "3 softmax.f32.vec4/workgroup64": the way's number and the kernel, of all that a sample takes.
  std::vector<std::string> taken_by(const SampleOptions& options) const {
    KernelSample sample(options);
    std::vector<std::string> taken;
    for (size_t way = 0; way < ways_.size(); ++way) {
      if (!sample.begin_formats(ops_[way])) continue;
      for (const Choice& choice : sample.of(ways_[way], false)) taken.push_back(std::to_string(way) + " " + choice.id);
    }
    return taken;
  }
  std::set<std::string> traits_met_by(const SampleOptions& options) const {
    KernelSample sample(options);
    std::set<std::string> met;
    for (size_t way = 0; way < ways_.size(); ++way) {
      if (!sample.begin_formats(ops_[way])) continue;
      for (const Choice& choice : sample.of(ways_[way], false)) {
        const auto traits = traits_of(choice);
        met.insert(traits.begin(), traits.end());
      }
    }
    return met;
  }
  std::vector<std::string> all() const {
    std::vector<std::string> all;
    for (size_t way = 0; way < ways_.size(); ++way) {
      for (const Choice& choice : ways_[way]) all.push_back(std::to_string(way) + " " + choice.id);
    }
    return all;
  }

  std::vector<std::string_view> ops_;  // of each way
  std::vector<std::vector<Choice>> ways_;
};

TEST_F(KernelSampleTest, ShareOfOneIsEverything) { EXPECT_EQ(taken_by({.share = 1}), all()); }

TEST_F(KernelSampleTest, MeetsEveryTraitWithoutAShare) {
  const std::set<std::string> every = traits_met_by({.share = 1});
  const std::set<std::string> met = traits_met_by({.share = 0, .seed = 3});
  EXPECT_EQ(met, every);
  EXPECT_LE(taken_by({.share = 0, .seed = 3}).size(), every.size());
  EXPECT_LT(taken_by({.share = 0, .seed = 3}).size(), all().size() / 2);
}

// One after another, whatever each brings, kernels would be more.
TEST_F(KernelSampleTest, TakesFewKernelsForTheTraits) {
  size_t one_by_one = 0;
  std::set<std::string> met;
  for (const std::vector<Choice>& way : ways_) {
    for (const Choice& choice : way) {
      const auto traits = traits_of(choice);
      const size_t before = met.size();
      met.insert(traits.begin(), traits.end());
      one_by_one += met.size() > before;
    }
  }
  EXPECT_LT(taken_by({.share = 0, .seed = 3}).size(), one_by_one);
}

TEST_F(KernelSampleTest, TakesTheBestOfARequestAsItStands) {
  KernelSample sample({.share = 0, .seed = 3});
  for (int round = 0; round < 3; ++round) {  // its traits are met after the first
    ASSERT_TRUE(sample.begin_formats(ops_.front()));
    const auto taken = sample.of(ways_.front(), true);
    ASSERT_FALSE(taken.empty());
    EXPECT_EQ(taken.front().id, ways_.front().front().id);
  }
}

TEST_F(KernelSampleTest, IsDrawnByTheSeedAlone) {
  EXPECT_EQ(taken_by({.share = 0.1, .seed = 5}), taken_by({.share = 0.1, .seed = 5}));
  EXPECT_NE(taken_by({.share = 0.1, .seed = 5}), taken_by({.share = 0.1, .seed = 6}));
}

TEST_F(KernelSampleTest, ShardsTakeEachKernelOnceWhereAllAreTaken) {
  std::vector<std::string> together;
  for (const uint32_t shard : {0u, 1u, 2u}) {
    const auto part = taken_by({.share = 1, .shard = shard, .shards = 3});
    EXPECT_LT(part.size(), all().size());
    together.insert(together.end(), part.begin(), part.end());
  }
  EXPECT_THAT(together, UnorderedElementsAreArray(all()));
}

TEST_F(KernelSampleTest, ShardsMeetEveryTraitBetweenThem) {
  std::set<std::string> together;
  for (const uint32_t shard : {0u, 1u, 2u}) together.merge(traits_met_by({.share = 0, .shard = shard, .shards = 3}));
  EXPECT_EQ(together, traits_met_by({.share = 1}));
}

TEST_F(KernelSampleTest, TakesAllOfSomeFamiliesAndNothingElse) {
  std::vector<std::string> softmax;
  std::ranges::copy_if(all(), std::back_inserter(softmax),
                       [](const std::string& id) { return id.find("softmax") != std::string::npos; });
  EXPECT_EQ(taken_by({.share = 0, .families = {"softmax"}}), softmax);
  std::vector<std::string> together;
  for (const uint32_t shard : {0u, 1u}) {
    const auto part = taken_by({.share = 0, .shard = shard, .shards = 2, .families = {"softmax"}});
    together.insert(together.end(), part.begin(), part.end());
  }
  EXPECT_THAT(together, UnorderedElementsAreArray(softmax));
}

}  // namespace
}  // namespace qgen::measure
