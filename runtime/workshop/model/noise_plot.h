// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A picture of the noise that quantization adds to each layer: horizontal bars, the longer the better.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace qgen::model {

// The signal-to-quantization-noise ratios of a layer, in dB.
struct LayerNoise {
  std::string name;
  std::optional<double> input_db;  // nullopt: its input stays in floating point
  double weight_db = 0;
};

// Below it a layer may be worth keeping in floating point.
constexpr double kLowNoiseRatioDb = 20;

// An SVG file. Ratios of more than 80 dB have the length of 80 dB. Layers below kLowNoiseRatioDb are red.
std::string noise_plot(std::span<const LayerNoise> layers);

}  // namespace qgen::model
