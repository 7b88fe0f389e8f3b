// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/model/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/expected_text.h"
#include "tests/support/tensors.h"

namespace qgen::model {
namespace {

using testing::tensor_of;

// Most elements below 1, and one of 100 in 1,000.
std::vector<uint64_t> with_an_outlier() {
  std::vector<uint64_t> counts(2048);
  for (size_t i = 0; i < 20; ++i) counts[i] = 1000 - 40 * i;
  counts[2047] = 1;
  return counts;
}

TEST(RangeOf, MinmaxIsAllThatWasSeen) {
  const auto range = range_of(with_an_outlier(), 0, 100, {});
  EXPECT_EQ(range.low, 0);
  EXPECT_EQ(range.high, 100);
  const auto negative = range_of({1, 1}, -5, -1, {});
  EXPECT_EQ(negative.low, -5);
  EXPECT_EQ(negative.high, 0) << "0 is within each range";
}

TEST(RangeOf, OthersLeaveOutliersOut) {
  const auto percentile = range_of(with_an_outlier(), 0, 100, {CalibrationMethod::percentile, 99.9});
  EXPECT_LT(percentile.high, 1.1f);
  EXPECT_GT(percentile.high, 0.7f);
  const auto entropy = range_of(with_an_outlier(), 0, 100, {CalibrationMethod::entropy});
  EXPECT_LT(entropy.high, 10);
  EXPECT_GT(entropy.high, 0.9f);
  const auto both = range_of(with_an_outlier(), -100, 0, {CalibrationMethod::entropy});
  EXPECT_LT(both.low, -90) << "most elements are at the lower end";
}

TEST(RangeOf, OfOneValue) {
  for (const auto method : {CalibrationMethod::minmax, CalibrationMethod::percentile, CalibrationMethod::entropy}) {
    const auto range = range_of(std::vector<uint64_t>(2048), 3, 3, {method});
    EXPECT_EQ(range.low, 0);
    EXPECT_EQ(range.high, 3);
  }
}

TEST(Calibrate, RangesCoverAllSamples) {
  const std::vector<HostTensor> samples{tensor_of(DType::f32, {2}, {-1, 0.5}), tensor_of(DType::f32, {2}, {0.25, 3})};
  const RunSample run = [&](const std::vector<std::string>& names, size_t sample) -> Expected<Tensors> {
    Tensors values;
    for (const std::string& name : names) values.emplace(name, samples[sample]);
    return values;
  };
  const auto calibrated = calibrate({{"a"}, {"b"}}, samples.size(), run, {});
  ASSERT_TRUE(calibrated) << to_text(calibrated.error());
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(calibrated->ranges.at(name).low, -1) << name;
    EXPECT_EQ(calibrated->ranges.at(name).high, 3) << name;
    EXPECT_GT(calibrated->sqnr_db.at(name), 40) << name;
  }
}

TEST(Calibrate, RefusesWhatIsNotFinite) {
  const RunSample run = [](const std::vector<std::string>&, size_t) -> Expected<Tensors> {
    return Tensors{{"a", tensor_of(DType::f32, {1}, {HUGE_VAL})}};
  };
  const auto calibrated = calibrate({{"a"}}, 1, run, {});
  ASSERT_FALSE(calibrated);
  EXPECT_TEXT(calibrated.error().message, "activation 'a' is inf for a sample");
}

}  // namespace
}  // namespace qgen::model
