// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/tuner/roof.h"

#include <gtest/gtest.h>

#include <map>

#include "registry.h"
#include "runtime/engine/tuning/tuning_file.h"
#include "tests/support/described_device.h"

namespace qgen::tuner {
namespace {

class Roof : public ::testing::Test {
 protected:
  double of(std::string_view key) const {
    const auto problem = problem_of(key, library_);
    EXPECT_TRUE(problem) << key;
    return problem ? roof_us(*problem, device_) : -1;
  }

  const KernelLibrary library_ = *KernelLibrary::open(generated::library());
  DeviceProfile device_ = tests::described_device("nvidia-h200");  // its rates are measured
};

TEST_F(Roof, IsTheLongerOfMovingAndCalculating) {
  const DeviceNumbers& rates = device_.numbers;
  const std::string few =
      "linear_q8csw m=1 n=14336 k=4096 group_size=4096 groups=1 weight_bits=8 activation=none "
      "input=f16:strided weight=i8:weight_q8_rows weight_scales=f32:strided bias=none "
      "output=f16:strided";
  const double bytes = 14336.0 * 4096 + 2 * 4096 + 2 * 14336;
  EXPECT_DOUBLE_EQ(of(few), bytes / rates.cache_bytes_per_us) << "it may lie in the cache";
  std::string many = few;
  many.replace(many.find("m=1 "), 4, "m=4096 ");
  EXPECT_DOUBLE_EQ(of(many), 2.0 * 4096 * 14336 * 4096 / (1.15 * rates.int8_matrix_ops_per_us));
}

TEST_F(Roof, IsNotKnownByEstimates) {
  const std::string key =
      "linear_q8csw m=1 n=1024 k=1024 group_size=1024 groups=1 weight_bits=8 activation=none "
      "input=f32:strided weight=i8:weight_q8_rows weight_scales=f32:strided bias=none "
      "output=f32:strided";
  EXPECT_GT(of(key), 0);
  device_.sources.erase("f32_ops_per_us");
  EXPECT_EQ(of(key), 0);
  device_.sources.clear();
  EXPECT_EQ(of(key), 0);
}

// Of what was measured there nothing is faster, but for what two measurements of one thing differ by.
TEST_F(Roof, IsBelowWhatWasMeasured) {
  const auto table = tuning::load_tuning_file(tests::source_folder() + "/tuning/nvidia-h200.yaml");
  ASSERT_TRUE(table) << to_text(table.error());
  std::map<std::string, double> best;
  for (const tuning::TunedRow& row : table->rows) {
    const auto [known, is_new] = best.try_emplace(row.problem, row.us);
    if (!is_new) known->second = std::min(known->second, row.us);
  }
  size_t known = 0, near = 0;
  for (const auto& [key, us] : best) {
    const auto problem = problem_of(key, library_);
    if (!problem) continue;  // another version of the specs wrote it
    const double roof = roof_us(*problem, device_);
    EXPECT_LE(roof, 1.1 * us) << key;
    known += roof > 0 ? 1 : 0;
    near += us <= 1.1 * roof ? 1 : 0;
  }
  EXPECT_GT(2 * known, best.size());
  EXPECT_GT(near, 0u) << "some searches would end";
  RecordProperty("near", static_cast<int>(near));
}

}  // namespace
}  // namespace qgen::tuner
