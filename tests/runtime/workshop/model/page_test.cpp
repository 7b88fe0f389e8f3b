// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The page of a profiled model: what its pictures draw, on a described device with made-up times.
#include "runtime/workshop/model/page.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "operators.h"
#include "registry.h"
#include "runtime/models/graph/constants.h"
#include "runtime/models/graph/lifetimes.h"
#include "tests/support/described_device.h"
#include "tests/support/networks.h"

namespace qgen::model {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Attributes = std::map<std::string, std::string>;

// The elements of a name and a class, with their attributes.
std::vector<Attributes> elements(const std::string& page, const std::string& name, const std::string& kind) {
  std::vector<Attributes> found;
  const std::regex element("<" + name + "( [^>]*)>"), attribute(" ([a-z-]+)=\"([^\"]*)\"");
  for (std::sregex_iterator at(page.begin(), page.end(), element), end; at != end; ++at) {
    const std::string text = (*at)[1];
    Attributes attributes;
    for (std::sregex_iterator one(text.begin(), text.end(), attribute); one != end; ++one) {
      attributes[(*one)[1]] = (*one)[2];
    }
    const std::string words = " " + attributes["class"] + " ";
    if (words.find(" " + kind + " ") != std::string::npos) found.push_back(std::move(attributes));
  }
  return found;
}

double number(const Attributes& of, const std::string& name) { return std::stod(of.at(name)); }

class PageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto inferred = graph::infer(graph, generated::operators::entries(), {});
    ASSERT_TRUE(inferred) << to_text(inferred.error());
    const auto constants = graph::Constants::create(graph, *inferred);
    ASSERT_TRUE(constants) << to_text(constants.error());
    auto made = graph::make_schedule(graph, *inferred, constants->weight_descs(), chooser);
    ASSERT_TRUE(made) << to_text(made.error());
    schedule = *std::move(made);
    std::vector<double> times;  // each step takes its number
    for (size_t i = 0; i < schedule.steps.size(); ++i) times.push_back(static_cast<double>(i + 1));
    layers = layers_of(schedule, {times});
  }
  std::string page() const {
    return page_of({.model = "net.onnx",
                    .device = device,
                    .graph = graph,
                    .schedule = schedule,
                    .layers = layers,
                    .headline_us = 42,
                    .replays = 1,
                    .weight_bytes = 2048});
  }

  const DeviceProfile device = tests::described_device("nvidia-h200");
  const KernelLibrary library = *KernelLibrary::open(generated::library());
  const graph::Chooser chooser{device, library, generated::operators::entries()};
  graph::Graph graph = testing::residual_network(2);
  graph::Schedule schedule;
  std::vector<Layer> layers;
};

TEST_F(PageTest, HasABarForEachLayerAsLongAsItsTime) {
  const std::string text = page();
  std::vector<Attributes> bars = elements(text, "rect", "layer");
  const std::vector<Attributes> conversions = elements(text, "rect", "conversion");
  EXPECT_EQ(conversions.size(), schedule.decision.copies.size());
  bars.insert(bars.end(), conversions.begin(), conversions.end());
  ASSERT_EQ(bars.size(), layers.size());
  std::ranges::sort(bars, {}, [](const Attributes& bar) { return number(bar, "y"); });
  const double longest = number(bars.back(), "width");
  for (size_t i = 0; i < bars.size(); ++i) {
    EXPECT_NEAR(number(bars[i], "width") / longest, layers[i].us.median / layers.back().us.median, 1e-3) << i;
  }
}

TEST_F(PageTest, HasLayersWithAWeightInTheRooflineAndAllOverTheirBytes) {
  const std::string text = page();
  const auto products =
      static_cast<size_t>(std::ranges::count_if(layers, [](const Layer& layer) { return layer.operations > 0; }));
  size_t points = elements(text, "circle", "layer").size() + elements(text, "circle", "conversion").size();
  points -= 2;  // of the legends
  if (!schedule.decision.copies.empty()) points -= 1;
  EXPECT_EQ(points, products + layers.size());
  EXPECT_THAT(text, HasSubstr(fmt::format(">{}</text>", layers.size()))) << "the slowest has its number";
  EXPECT_THAT(text, HasSubstr(">int8 matrices, "));
  EXPECT_THAT(text, HasSubstr(">memory, "));
}

TEST_F(PageTest, DrawsTheArenaAsItIsPlanned) {
  const std::string text = page();
  const auto lifetimes = graph::lifetimes_of(schedule);
  const auto placed = std::ranges::count_if(lifetimes, [](const graph::Lifetime& one) { return one.bytes > 0; });
  const std::vector<Attributes> tensors = elements(text, "rect", "tensor");
  ASSERT_EQ(static_cast<std::ptrdiff_t>(tensors.size()), placed);
  // Two tensors never share bytes at one time: their rectangles do not overlap.
  constexpr double kRounding = 0.2;
  for (size_t i = 0; i < tensors.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      const auto meet = [&](const char* from, const char* size) {
        const double a = number(tensors[i], from), b = number(tensors[k], from);
        return a + kRounding < b + number(tensors[k], size) && b + kRounding < a + number(tensors[i], size);
      };
      EXPECT_FALSE(meet("x", "width") && meet("y", "height")) << i << " and " << k;
    }
  }
  EXPECT_THAT(text, HasSubstr("live tensors at each layer"));
}

TEST_F(PageTest, NeedsNoNetworkAndEscapesNames) {
  layers.front().name = "<script>alert(\"x\")</script>";
  const std::string text = page();
  for (const char* foreign : {"<script", "http:", "https:", "src=", "@import", "url("})
    EXPECT_THAT(text, Not(HasSubstr(foreign)));
  EXPECT_THAT(text, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(text, HasSubstr("<h1>net.onnx on NVIDIA H200</h1>"));
  EXPECT_TRUE(text.ends_with("</html>\n"));
}

}  // namespace
}  // namespace qgen::model
