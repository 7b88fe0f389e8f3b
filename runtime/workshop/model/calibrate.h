// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The ranges of activations, found by running a floating-point model on samples of its inputs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/models/graph/graph.h"
#include "runtime/models/onnx/quantize_model.h"

namespace qgen::model {

enum class CalibrationMethod : uint8_t {
  minmax,      // all that was seen
  percentile,  // all but a share at each end
  entropy,     // the threshold at which the distribution loses least (Kullback-Leibler divergence)
};

struct CalibrationOptions {
  CalibrationMethod method = CalibrationMethod::minmax;
  double percentile = 99.99;  // of elements that are within the range
};

struct Calibrated {
  std::map<std::string, onnx::ActivationRange> ranges;
  std::map<std::string, double> sqnr_db;  // signal to quantization noise of each activation, over all samples
};

// The values of the named activations for a sample.
using RunSample = std::function<Expected<Tensors>(const std::vector<std::string>& names, size_t sample)>;

// Runs each sample two or three times for each group of activations. Errors: the errors of `run`; an activation is not
// finite.
Expected<Calibrated> calibrate(const std::vector<std::vector<std::string>>& groups, size_t samples,
                               const RunSample& run, const CalibrationOptions& options);

// The range of a histogram of `counts` over [low, high] that the method chooses. Widths of bins are equal.
onnx::ActivationRange range_of(const std::vector<uint64_t>& counts, float low, float high,
                               const CalibrationOptions& options);

}  // namespace qgen::model
