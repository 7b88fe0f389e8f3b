// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/model/noise_plot.h"

#include <fmt/format.h>

#include <algorithm>

namespace qgen::model {
namespace {

constexpr double kMostDb = 80;
constexpr int kNames = 280, kWidth = 480, kRow = 22, kTop = 40;  // pixels

double x_of(double db) { return kNames + std::clamp(db, 0.0, kMostDb) / kMostDb * kWidth; }

std::string svg_escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&') result += "&amp;";
    else if (c == '<') result += "&lt;";
    else if (c == '>') result += "&gt;";
    else if (static_cast<unsigned char>(c) < ' ') result += '?';
    else result += c;
  }
  return result;
}

std::string svg_bar(double y, double db, std::string_view color) {
  return fmt::format(R"(<rect x="{}" y="{}" width="{:.1f}" height="8" fill="{}"/>)"
                     "\n",
                     kNames, y, x_of(db) - kNames, color);
}

std::string svg_text(double x, double y, std::string_view anchor, const std::string& words) {
  return fmt::format(R"(<text x="{:.1f}" y="{}" text-anchor="{}">{}</text>)"
                     "\n",
                     x, y, anchor, svg_escaped(words));
}

}  // namespace

std::string noise_plot(std::span<const LayerNoise> layers) {
  constexpr std::string_view kInput = "#4477aa", kWeight = "#aabbcc", kLow = "#cc3311";
  const int height = kTop + kRow * static_cast<int>(layers.size()) + 30, bottom = height - 24;
  std::string svg = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="{}" font-family="sans-serif" font-size="11">)"
      "\n"
      R"(<rect width="100%" height="100%" fill="white"/>)"
      "\n",
      kNames + kWidth + 60, height);
  svg +=
      svg_text(kNames, 16, "start",
               "signal to quantization noise, dB; upper bar: the layer's input, lower bar: its weight; red: below 20");
  for (int db = 0; db <= static_cast<int>(kMostDb); db += 20) {
    svg += fmt::format(R"(<line x1="{0:.1f}" y1="{1}" x2="{0:.1f}" y2="{2}" stroke="{3}"/>)"
                       "\n",
                       x_of(db), kTop - 6, bottom, db == static_cast<int>(kLowNoiseRatioDb) ? kLow : "#dddddd");
    svg += svg_text(x_of(db), bottom + 14, "middle", fmt::format("{}", db));
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    const LayerNoise& layer = layers[i];
    const double y = kTop + kRow * static_cast<double>(i);
    constexpr size_t kMostLetters = 44;
    const bool is_long = layer.name.size() > kMostLetters;
    const std::string name = is_long ? "..." + layer.name.substr(layer.name.size() - kMostLetters) : layer.name;
    svg += svg_text(kNames - 6, y + 12, "end", name);
    if (layer.input_db) svg += svg_bar(y, *layer.input_db, *layer.input_db < kLowNoiseRatioDb ? kLow : kInput);
    svg += svg_bar(y + 9, layer.weight_db, layer.weight_db < kLowNoiseRatioDb ? kLow : kWeight);
  }
  return svg + "</svg>\n";
}

}  // namespace qgen::model
