// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Writes a floating-point ONNX model as a statically quantized one. It inserts a QuantizeLinear and a DequantizeLinear
// ahead of int8 nodes, and int8 weights with a scale for each output channel. The rest of the file stays unchanged.
//
//   auto model = onnx::FloatModel::load("net.onnx");
//   for (const std::string& name : model->activations()) ranges[name] = ...;   // from runs of model->with_outputs(...)
//   const auto quantized = model->quantized(ranges, {});                       // the bytes of a file
//
// Activations are int8 with one scale and zero point: scale = (high - low) / 255, and 0 is represented exactly. Weights
// are symmetric: scale = max |w| / 127. Biases are int32 with the scale of the sums. This is the form that ONNX Runtime
// calls QDQ: https://onnxruntime.ai/docs/performance/model-optimizations/quantization.html
//
// With weights of 4 bits, a Gemm or MatMul becomes MatMulNBits of com.microsoft: blocks of 32 along K, each with a scale,
// and integers from -8 to 7.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/engine/tensor/tensor.h"

namespace qgen::onnx {

// The ratio of the sum of squares of the values to the sum of squares of their rounding errors, in dB; 200 without
// errors.
double sqnr_db(double signal, double noise);

// Of an activation. It contains 0.
struct ActivationRange {
  float low = 0, high = 0;

  float scale() const;  // 1 if the range is empty
  int32_t zero_point() const;
  // The value that its int8 stands for.
  float rounded(float value) const;
};

struct QuantizeOptions {
  std::set<std::string, std::less<>> kept;  // nodes that stay in floating point
  bool layers_only = false;                 // of Conv, Gemm and MatMul only, not of the nodes in between
  int weight_bits = 8;                      // 4: of Gemm and MatMul, as MatMulNBits; their activations stay float32
};

struct QuantizedLayer {
  std::string node, op, input;  // `input`: the activation; empty: it stays in floating point
  double weight_sqnr_db = 0;    // signal to quantization noise of its weight
};

struct QuantizedModel {
  std::string file;  // its bytes
  std::vector<QuantizedLayer> layers;
  std::vector<std::string> left;  // layers that stay, with the reason
};

class FloatModel {
 public:
  // Also with external data. Errors: no ONNX file; external data that cannot be read; an opset before 10, which has no
  // QuantizeLinear.
  static Expected<FloatModel> load(const std::filesystem::path& file);

  bool has_external_data() const;
  // The bytes of the same model, with all data in it.
  std::string file() const;

  // Values of float32 that quantization needs the ranges of, in the order of nodes. Errors: `kept` names no node; there
  // is nothing to quantize.
  Expected<std::vector<std::string>> activations(const QuantizeOptions& options) const;
  // The bytes of the same model with these values as its outputs, and no others.
  std::string with_outputs(const std::vector<std::string>& values) const;
  // Activations without a range stay in floating point.
  Expected<QuantizedModel> quantized(const std::map<std::string, ActivationRange>& ranges,
                                     const QuantizeOptions& options) const;

  FloatModel(FloatModel&&) noexcept;
  FloatModel& operator=(FloatModel&&) noexcept;
  ~FloatModel();

 private:
  struct State;
  class Quantizer;
  explicit FloatModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace qgen::onnx
