// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/model/noise_plot.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/workshop/report/svg.h"

namespace qgen::model {
namespace {

constexpr double kMostDb = 80;
constexpr int kPlotNames = 280, kPlotWidth = 480, kPlotRow = 22, kPlotTop = 40;  // pixels

double x_of(double db) { return kPlotNames + std::clamp(db, 0.0, kMostDb) / kMostDb * kPlotWidth; }

std::string svg_bar(double y, double db, std::string_view color) {
  return fmt::format(R"(<rect x="{}" y="{}" width="{:.1f}" height="8" fill="{}"/>)"
                     "\n",
                     kPlotNames, y, x_of(db) - kPlotNames, color);
}

std::string svg_text(double x, double y, std::string_view anchor, const std::string& words) {
  return fmt::format(R"(<text x="{:.1f}" y="{}" text-anchor="{}">{}</text>)"
                     "\n",
                     x, y, anchor, report::escaped(words));
}

}  // namespace

std::string noise_plot(std::span<const LayerNoise> layers) {
  constexpr std::string_view kInput = "#4477aa", kWeight = "#aabbcc", kLow = "#cc3311";
  const int height = kPlotTop + kPlotRow * static_cast<int>(layers.size()) + 30, bottom = height - 24;
  std::string svg = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="{}" font-family="sans-serif" font-size="11">)"
      "\n"
      R"(<rect width="100%" height="100%" fill="white"/>)"
      "\n",
      kPlotNames + kPlotWidth + 60, height);
  svg +=
      svg_text(kPlotNames, 16, "start",
               "signal to quantization noise, dB; upper bar: the layer's input, lower bar: its weight; red: below 20");
  for (int db = 0; db <= static_cast<int>(kMostDb); db += 20) {
    svg += fmt::format(R"(<line x1="{0:.1f}" y1="{1}" x2="{0:.1f}" y2="{2}" stroke="{3}"/>)"
                       "\n",
                       x_of(db), kPlotTop - 6, bottom, db == static_cast<int>(kLowNoiseRatioDb) ? kLow : "#dddddd");
    svg += svg_text(x_of(db), bottom + 14, "middle", fmt::format("{}", db));
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    const LayerNoise& layer = layers[i];
    const double y = kPlotTop + kPlotRow * static_cast<double>(i);
    constexpr size_t kMostLetters = 44;
    const bool is_long = layer.name.size() > kMostLetters;
    const std::string name = is_long ? "..." + layer.name.substr(layer.name.size() - kMostLetters) : layer.name;
    svg += svg_text(kPlotNames - 6, y + 12, "end", name);
    if (layer.input_db) svg += svg_bar(y, *layer.input_db, *layer.input_db < kLowNoiseRatioDb ? kLow : kInput);
    svg += svg_bar(y + 9, layer.weight_db, layer.weight_db < kLowNoiseRatioDb ? kLow : kWeight);
  }
  return svg + "</svg>\n";
}

}  // namespace qgen::model
