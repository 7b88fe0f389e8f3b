// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/model/noise_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qgen::model {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A bar of 20 dB is a quarter of 480 pixels long, and one of 80 dB and more has all of them.
TEST(NoisePlot, HasABarForEachRatio) {
  const LayerNoise layers[] = {{"conv <1>", 20, 200}, {"gemm", {}, 12.5}};
  const std::string svg = noise_plot(layers);
  EXPECT_THAT(svg, HasSubstr(">conv &lt;1&gt;</text>"));
  EXPECT_THAT(svg, HasSubstr(R"(<rect x="280" y="40" width="120.0" height="8" fill="#4477aa"/>)"));
  EXPECT_THAT(svg, HasSubstr(R"(<rect x="280" y="49" width="480.0" height="8" fill="#aabbcc"/>)"));
  // Without a bar for an input in floating point; red below 20 dB.
  EXPECT_THAT(svg, Not(HasSubstr(R"(y="62" width)")));
  EXPECT_THAT(svg, HasSubstr(R"(<rect x="280" y="71" width="75.0" height="8" fill="#cc3311"/>)"));
}

TEST(NoisePlot, CutsLongNamesAtTheirBeginning) {
  const LayerNoise layers[] = {{std::string(60, 'a') + "z", 30, 30}};
  EXPECT_THAT(noise_plot(layers), HasSubstr(">..." + std::string(43, 'a') + "z</text>"));
}

}  // namespace
}  // namespace qgen::model
