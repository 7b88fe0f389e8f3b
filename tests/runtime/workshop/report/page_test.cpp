// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Pages of facts that are written by hand; no library and no device.
#include "runtime/workshop/report/page.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/workshop/report/heat_map.h"
#include "runtime/workshop/report/rooflines.h"
#include "runtime/workshop/report/svg.h"

namespace qgen::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

KernelFact kernel(std::string id, double us, double estimated_us = 0) {
  return {{"", std::move(id), 1, us, us, us, "2026-11-23", ""}, estimated_us};
}

ProblemFact problem(std::string key, std::vector<KernelFact> kernels) {
  return {.key = std::move(key), .kernels = std::move(kernels)};
}

Facts facts_with(std::vector<ProblemFact> problems) {
  name_problems(problems);
  return {{.name = "A"}, std::move(problems)};
}

TEST(Page, OfNothing) {
  const std::string page = page_of(facts_with({}));
  EXPECT_THAT(page, HasSubstr("<h1>qgen on A</h1>"));
  EXPECT_THAT(page, HasSubstr("0 times of 0 problems of 0 operators"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
}

TEST(Page, OfOneRow) {
  const std::string page = page_of(facts_with({problem("sum n=2", {kernel("sum.a", 5)})}));
  EXPECT_THAT(page, HasSubstr("1 times of 1 problems of 1 operators, measured 2026-11-23."));
  EXPECT_THAT(page, HasSubstr("<summary>n=2</summary>"));
  EXPECT_THAT(page, HasSubstr("do not give bytes or operations")) << "its work is not known";
  EXPECT_THAT(page, HasSubstr("none of the measured kernels"));
  EXPECT_THAT(page, Not(HasSubstr("kernels of one problem, time"))) << "one kernel is no space";
}

TEST(Page, SaysWhatWasGained) {
  ProblemFact fast = problem("sum n=2", {kernel("sum.a", 5, 6), kernel("sum.b", 10, 4)});
  fast.untuned = 1;
  ProblemFact same = problem("sum n=3", {kernel("sum.a", 5, 6)});
  same.untuned = 0;
  const Facts facts = facts_with({fast, same, problem("sum n=4", {kernel("sum.a", 5)})});
  const GainSummary gains = summary_of(facts.problems);
  EXPECT_EQ(gains.problems, 2u);
  EXPECT_EQ(gains.within_tenth, 1u);
  EXPECT_NEAR(gains.geometric_mean, 1.41421, 1e-5);
  EXPECT_EQ(gains.worst, 2);
  const std::string page = page_of(facts);
  EXPECT_THAT(page, HasSubstr("within 10 % of the best for <b>1 of 2</b> problems"));
  EXPECT_THAT(page, HasSubstr("sum.b: measured 10 us, estimated 4"));
}

TEST(Page, EscapesWhateverComesFromFiles) {
  const std::string hostile = "<script>alert(\"x\")</script>&'\x1b\xff";
  ProblemFact one = problem("sum" + hostile + " n=" + hostile, {kernel("sum." + hostile, 5, 6)});
  one.kernels[0].row.statistics = hostile;
  one.kernels[0].row.date = hostile;
  one.work = Work{1e6, 1e6};
  Facts facts = facts_with({one});
  facts.device.name = facts.device.driver_info = hostile;
  facts.device.sources["bytes_per_us"] = hostile;
  const std::string page = page_of(facts);
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("alert(\"")));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
  EXPECT_EQ(escaped("<a b=\"c\" d='e'>&"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
}

// Keys with the same first words, and a driver's text about two launches.
TEST(Page, CanBeRead) {
  const std::string same = "rows=1 columns=1234567 sides=1,2,3,4 strides=1,2,3,4,5,6";
  std::vector<ProblemFact> problems = {problem("sum n=2", {kernel("sum.a.b/c", 5)}),
                                       problem("sum " + same + " taps=3 step=1 x=f16", {kernel("sum.a", 5)}),
                                       problem("sum " + same + " taps=3 step=2 x=f16", {kernel("sum.a", 5)}),
                                       problem("sum " + same + " taps=3 step=2 x=f32", {kernel("sum.a", 5)}),
                                       problem("top " + same + " taps=3 step=2 x=f32", {kernel("top.a", 5)})};
  problems[0].kernels[0].row.statistics = R"([{"Registers": 40, "Spills": 0}, {"Occupancy": 0.5}])";
  problems[1].kernels[0].row.statistics = "none";
  const Facts facts = facts_with(std::move(problems));
  const auto name = [&](size_t i) { return std::string_view(facts.problems[i].name); };
  const std::string first = same + " ...";
  EXPECT_EQ(name(0), "n=2");
  EXPECT_EQ(name(1), first + " step=1");
  EXPECT_EQ(name(2), first + " step=2 x=f16");
  EXPECT_EQ(name(3), first + " step=2 x=f32");
  EXPECT_EQ(name(4), first);
  const std::string page = page_of(facts);
  EXPECT_THAT(page, HasSubstr("<code>sum.<wbr/>a.<wbr/>b/<wbr/>c</code>"));
  EXPECT_THAT(
      page,
      HasSubstr(
          "<td><div><span>Registers 40</span>, <span>Spills 0</span></div><div><span>Occupancy 0.5</span></div></td>"));
  EXPECT_THAT(page, HasSubstr("<td>none</td>"));
}

// Ten thousand kernels, of few problems and of as many.
TEST(Page, StaysSmall) {
  const std::string words(600, 'w');
  for (const size_t problems : {10u, 10000u}) {
    Facts facts = facts_with({});
    for (size_t i = 0; i < problems; ++i) {
      ProblemFact one = problem(fmt::format("sum n={} {}", i, words), {});
      one.work = Work{1e6 + static_cast<double>(i), 1e6};
      for (size_t k = 0; k < 10000 / problems; ++k) {
        one.kernels.push_back(kernel(fmt::format("sum.vec4/m{}.step{}.{}", k % 50, k / 50, words), 5, 6));
      }
      facts.problems.push_back(std::move(one));
    }
    name_problems(facts.problems);
    const std::string page = page_of(facts);
    EXPECT_LT(page.size(), size_t{2} << 20) << problems;
    EXPECT_THAT(page, HasSubstr("10000 kernels are drawn"));
  }
}

TEST(Numbers, HaveTheDigitsThatAreRead) {
  EXPECT_EQ(rate_text(4092), "4092.0");
  EXPECT_EQ(rate_text(0.0321), "0.0321");
}

TEST(LogChart, IsDrawnWithAxesAndALegend) {
  LogChart chart("a < b", "bytes", "us");
  EXPECT_EQ(chart.text(), "");
  chart.add_point(0, 5, "best", "no place on the axis");
  EXPECT_TRUE(chart.is_empty());
  chart.add_point(1e6, 100, "best", "p");
  chart.add_rate(1e4, "memory");
  chart.add_rate(1e12, "far");
  const std::string svg = chart.text();
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  EXPECT_THAT(svg, HasSubstr("cx=\"64.0\" cy=\"74.0\" r=\"3.5\"><title>p</title>"));
  EXPECT_THAT(svg, HasSubstr("d=\"M64.0 74.0L404.0 28.0\"><title>memory</title>")) << "from the point upwards";
  EXPECT_THAT(svg, HasSubstr(">far (outside)</text>"));
  EXPECT_THAT(svg, HasSubstr(">1M</text>"));
  EXPECT_THAT(svg, HasSubstr(">1k</text>"));
}

// Marks beside one point do not cover each other; a level is a horizontal line.
TEST(LogChart, HasMarksAndLevels) {
  LogChart chart("roofline", "operations for each byte", "GOP/s");
  chart.add_point(10, 100, "layer", "a", "1");
  chart.add_point(10, 100, "layer", "b", "2");
  chart.add_level(1000, "f32");
  const std::string svg = chart.text();
  EXPECT_THAT(svg, HasSubstr("<text class=\"mark\" x=\"69.0\" y=\"253.0\">1</text>"));
  EXPECT_THAT(svg, HasSubstr("<text class=\"mark\" x=\"69.0\" y=\"271.0\">2</text>"));
  EXPECT_THAT(svg, HasSubstr("d=\"M64.0 28.0L404.0 28.0\"><title>f32</title>"));
}

TEST(HeatMap, HasTheTwoWordsThatTakeTheMostValues) {
  const std::string map =
      heat_map_of(problem("mm m=4", {kernel("mm.f16/m4n2.step64.team1", 10), kernel("mm.f16/m4n2.step128.team1", 15),
                                     kernel("mm.f32/m2n2.step64.team1", 20)}));
  EXPECT_THAT(map, HasSubstr("<figcaption>mm</figcaption>"));
  EXPECT_THAT(map, HasSubstr(">m, n</text>"));
  EXPECT_THAT(map, HasSubstr(">step</text>"));
  EXPECT_THAT(map, HasSubstr(">1.00</text>"));
  EXPECT_THAT(map, HasSubstr(">1.50</text>"));
  EXPECT_THAT(map, HasSubstr(">2.00</text>"));
  EXPECT_THAT(map, HasSubstr(">step128</text>"));
}

// A label as long as this has its end alone, and the whole of it to look at.
TEST(HeatMap, HasColumnsAsWideAsTheirLabels) {
  const std::string label = "workgroup" + std::string(30, '1');
  const std::string map = heat_map_of(
      problem("mm m=4", {kernel("mm.a/m1." + label, 10), kernel("mm.a/m2." + label, 11), kernel("mm.a/m4.team2", 12)}));
  EXPECT_THAT(map, HasSubstr("<title>" + label + "</title>.." + std::string(22, '1') + "</text>"));
  EXPECT_THAT(map, HasSubstr("width=\"178\" height=\"20\""));
}

TEST(HeatMap, OfARecipeIsThatOfTheStepWithTheMostKernels) {
  const std::string map = heat_map_of(problem(
      "mm m=4", {kernel("mm.two(cut/w64, inner.f16/m4, end)", 10), kernel("mm.two(cut/w64, inner.f16/m8, end)", 11)}));
  EXPECT_THAT(map, HasSubstr("<figcaption>inner</figcaption>"));
  EXPECT_THAT(map, HasSubstr(">1.10</text>"));
  EXPECT_EQ(heat_map_of(problem("mm m=4", {kernel("mm.a", 10)})), "");
}

}  // namespace
}  // namespace qgen::report
