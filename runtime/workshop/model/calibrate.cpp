// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/model/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace qgen::model {
namespace {

constexpr size_t kBins = 2048;
constexpr size_t kLevels = 128;  // of magnitudes, that 8 bits have

using onnx::ActivationRange;

// The divergence of magnitudes that are rounded to kLevels steps below a threshold, from those that are clipped there:
// "8-bit Inference with TensorRT", S. Migacz, GTC 2017.
double divergence(std::span<const double> magnitudes, size_t threshold) {
  std::vector<double> clipped(magnitudes.begin(), magnitudes.begin() + static_cast<ptrdiff_t>(threshold));
  clipped.back() = std::accumulate(magnitudes.begin() + static_cast<ptrdiff_t>(threshold) - 1, magnitudes.end(), 0.0);
  std::vector<double> rounded(threshold);
  for (size_t level = 0; level < kLevels; ++level) {
    const size_t from = level * threshold / kLevels, to = (level + 1) * threshold / kLevels;
    double sum = 0, used = 0;
    for (size_t i = from; i < to; ++i) {
      sum += magnitudes[i];
      used += magnitudes[i] > 0;
    }
    for (size_t i = from; i < to; ++i) rounded[i] = magnitudes[i] > 0 ? sum / used : 0;
  }
  const double all = std::accumulate(clipped.begin(), clipped.end(), 0.0);
  const double of_rounded = std::accumulate(rounded.begin(), rounded.end(), 0.0);
  if (all <= 0 || of_rounded <= 0) return HUGE_VAL;
  double sum = 0;
  for (size_t i = 0; i < threshold; ++i) {
    if (clipped[i] <= 0) continue;
    const double p = clipped[i] / all, q = std::max(rounded[i] / of_rounded, 1e-12);
    sum += p * std::log(p / q);
  }
  return sum;
}

struct Seen {
  float low = 0, high = 0;
  std::vector<uint64_t> counts = std::vector<uint64_t>(kBins);
  double signal = 0, noise = 0;
};

template <typename Visit>
Done visit(const std::vector<std::vector<std::string>>& groups, size_t samples, const RunSample& run, Visit visit_one) {
  for (const auto& group : groups) {
    for (size_t sample = 0; sample < samples; ++sample) {
      const auto values = run(group, sample);
      if (!values) return values.error();
      for (const auto& [name, tensor] : *values) {
        if (Done done = visit_one(name, tensor.template as<float>()); !done) return done;
      }
    }
  }
  return std::monostate{};
}

}  // namespace

ActivationRange range_of(const std::vector<uint64_t>& counts, float low, float high,
                         const CalibrationOptions& options) {
  const double width = (double{high} - low) / static_cast<double>(counts.size());
  if (options.method == CalibrationMethod::minmax || !(width > 0)) return {std::min(low, 0.0f), std::max(high, 0.0f)};
  if (options.method == CalibrationMethod::percentile) {
    const auto all = static_cast<double>(std::accumulate(counts.begin(), counts.end(), uint64_t{0}));
    const double most = all * (1 - options.percentile / 100) / 2;  // that may be outside at each end
    size_t first = 0, last = counts.size();
    double outside = 0;
    while (first + 1 < last && (outside += static_cast<double>(counts[first])) <= most) ++first;
    outside = 0;
    while (last > first + 1 && (outside += static_cast<double>(counts[last - 1])) <= most) --last;
    return {std::min(static_cast<float>(low + width * static_cast<double>(first)), 0.0f),
            std::max(static_cast<float>(low + width * static_cast<double>(last)), 0.0f)};
  }
  // By magnitude: both ends are cut at one threshold.
  const double most = std::max(std::abs(double{low}), std::abs(double{high}));
  std::vector<double> magnitudes(kBins);
  for (size_t i = 0; i < counts.size(); ++i) {
    const double middle = std::abs(low + width * (static_cast<double>(i) + 0.5));
    magnitudes[std::min(kBins - 1, static_cast<size_t>(middle / most * kBins))] += static_cast<double>(counts[i]);
  }
  size_t best = kBins;
  double least = HUGE_VAL;
  for (size_t threshold = kLevels; threshold <= kBins; threshold += 8) {
    const double lost = divergence(magnitudes, threshold);
    if (lost < least) {
      least = lost;
      best = threshold;
    }
  }
  const auto cut = static_cast<float>(most * static_cast<double>(best) / kBins);
  return {std::max(std::min(low, 0.0f), -cut), std::min(std::max(high, 0.0f), cut)};
}

Expected<Calibrated> calibrate(const std::vector<std::vector<std::string>>& groups, size_t samples,
                               const RunSample& run, const CalibrationOptions& options) {
  std::map<std::string, Seen, std::less<>> seen;
  Done done = visit(groups, samples, run, [&](const std::string& name, std::span<const float> values) -> Done {
    const bool is_new = !seen.contains(name);
    Seen& one = seen[name];
    for (const float value : values) {
      if (!std::isfinite(value)) return refused(fmt::format("activation '{}' is {} for a sample", name, value));
    }
    if (values.empty()) return std::monostate{};
    const auto [least, most] = std::ranges::minmax(values);
    one.low = is_new ? least : std::min(one.low, least);
    one.high = is_new ? most : std::max(one.high, most);
    return std::monostate{};
  });
  if (!done) return done.error();
  if (options.method != CalibrationMethod::minmax) {
    done = visit(groups, samples, run, [&](const std::string& name, std::span<const float> values) -> Done {
      Seen& one = seen[name];
      const double width = double{one.high} - one.low;
      for (const float value : values) {
        const double at = width > 0 ? (double{value} - one.low) / width * kBins : 0;
        ++one.counts[std::min(kBins - 1, static_cast<size_t>(std::max(at, 0.0)))];
      }
      return std::monostate{};
    });
    if (!done) return done.error();
  }
  Calibrated result;
  for (const auto& [name, one] : seen) result.ranges.emplace(name, range_of(one.counts, one.low, one.high, options));
  done = visit(groups, samples, run, [&](const std::string& name, std::span<const float> values) -> Done {
    Seen& one = seen[name];
    const ActivationRange& range = result.ranges.at(name);
    for (const float value : values) {
      const double difference = double{value} - range.rounded(value);
      one.signal += double{value} * value;
      one.noise += difference * difference;
    }
    return std::monostate{};
  });
  if (!done) return done.error();
  for (const auto& [name, one] : seen) result.sqnr_db.emplace(name, onnx::sqnr_db(one.signal, one.noise));
  return result;
}

}  // namespace qgen::model
