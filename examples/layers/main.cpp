// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Two linear layers in int8, as an inference engine runs them. Weights are quantized and packed once, activations stay
// in int8 between the layers, and each call runs the best kernel for its number of rows. The result is compared with
// the same layers in float.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "operators.h"
#include "registry.h"

using namespace qgen;
using namespace qgen::generated::operators;

template <typename T>
T or_exit(Expected<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "%s\n", to_text(result.error()).c_str());
  std::exit(1);
}

HostTensor normal(Shape shape, float deviation) {
  static std::mt19937 random(7);
  HostTensor made = zeros(DType::f32, std::move(shape));
  for (float& value : made.as<float>()) value = std::normal_distribution<float>(0, deviation)(random);
  return made;
}

// y = activation(x * w^T + bias) in floats: x [M, K], w [N, K], bias [N].
HostTensor linear(const HostTensor& x, const HostTensor& w, const HostTensor& bias, bool has_relu) {
  const int64_t m = x.shape[0], n = w.shape[0], k = w.shape[1];
  HostTensor y = zeros(DType::f32, {m, n});
  for (int64_t i = 0; i < m * n; ++i) {
    double sum = element(bias, i % n);
    for (int64_t j = 0; j < k; ++j) sum += element(x, i / n * k + j) * element(w, i % n * k + j);
    set_element(y, i, has_relu ? std::max(sum, 0.0) : sum);
  }
  return y;
}

// The values that an int8 tensor stands for: (q - zero_point) * scale.
struct Quantization {
  float scale;
  int64_t zero_point;
};

// The scale and zero point that map the range of the values, extended to zero, to -128 to 127.
Quantization range_of(const HostTensor& values) {
  const auto [least, most] = std::ranges::minmax(values.as<float>());
  const float low = std::min(least, 0.0f), high = std::max(most, 0.0f);
  const float scale = (high - low) / 255;
  return {.scale = scale, .zero_point = std::lround(-128 - low / scale)};
}

struct Layer {
  Weight weight;        // [N, K] of i8
  DeviceTensor scales;  // f32 [N]
  DeviceTensor bias;    // f32 [N]
  Quantization output;
  Activation activation;
};

// Each row has one scale, so that its largest weight is 127. `outputs`: the layer's outputs in float, for calibration.
Layer make_layer(Executor& executor, const HostTensor& w, const HostTensor& bias, const HostTensor& outputs,
                 Activation activation) {
  const int64_t n = w.shape[0], k = w.shape[1];
  HostTensor codes = zeros(DType::i8, {n, k});
  HostTensor scales = zeros(DType::f32, {n});
  for (int64_t row = 0; row < n; ++row) {
    const auto values = w.as<float>().subspan(static_cast<size_t>(row * k), static_cast<size_t>(k));
    const float largest = std::abs(*std::ranges::max_element(values, {}, [](float v) { return std::abs(v); }));
    set_element(scales, row, largest / 127);
    for (int64_t j = 0; j < k; ++j)
      set_element(codes, row * k + j, std::nearbyint(element(w, row * k + j) / element(scales, row)));
  }
  return {or_exit(Weight::create(codes, {})), or_exit(executor.upload(scales, Storage::buffer)),
          or_exit(executor.upload(bias, Storage::buffer)), range_of(outputs), activation};
}

HostTensor infer(Context& context, const HostTensor& x, const Quantization& input, std::vector<Layer>& layers) {
  const DeviceTensor reals = or_exit(context.executor.upload(x, Storage::buffer));
  DeviceTensor codes = or_exit(q8ta_quantize(context, {.input = reals},
                                             {.output_scale = input.scale, .output_zero_point = input.zero_point},
                                             {.output = Representation{.layout = Layout::packed_4w}}));
  Quantization range = input;
  for (Layer& layer : layers) {
    codes = or_exit(q8ta_linear(
        context, {.input = codes, .weight = layer.weight, .weight_scales = layer.scales, .bias = &layer.bias},
        {.input_scale = range.scale,
         .input_zero_point = range.zero_point,
         .output_scale = layer.output.scale,
         .output_zero_point = layer.output.zero_point,
         .activation = layer.activation}));
    range = layer.output;
  }
  const DeviceTensor answer = or_exit(
      q8ta_dequantize(context, {.input = codes}, {.input_scale = range.scale, .input_zero_point = range.zero_point}));
  return or_exit(context.executor.download(answer));
}

int main() {
  const KernelLibrary library = or_exit(KernelLibrary::open(generated::library()));
  const Device device = or_exit(Device::open());
  Executor executor = or_exit(Executor::create(device, library, {}));
  Context context{device.profile(), library, executor};
  context.on_selection = [](const Selection& selection) {
    if (!selection.ranked.empty()) std::printf("  %s\n", selection.ranked.front().id.c_str());
  };

  const HostTensor w1 = normal({256, 128}, 0.1f), b1 = normal({256}, 0.1f);
  const HostTensor w2 = normal({10, 256}, 0.1f), b2 = normal({10}, 0.1f);
  const HostTensor x = normal({64, 128}, 1), hidden = linear(x, w1, b1, true), y = linear(hidden, w2, b2, false);
  std::vector<Layer> layers;
  layers.push_back(make_layer(executor, w1, b1, hidden, Activation::relu));
  layers.push_back(make_layer(executor, w2, b2, y, Activation::none));

  double worst = 0;
  for (const int64_t rows : {64, 1}) {
    std::printf("%d rows:\n", static_cast<int>(rows));
    HostTensor some = zeros(DType::f32, {rows, 128});
    std::ranges::copy(x.as<float>().first(some.as<float>().size()), some.as<float>().begin());
    const HostTensor answer = infer(context, some, range_of(x), layers);
    double squares = 0, energy = 0;
    for (int64_t i = 0; i < element_count(answer.shape); ++i) {
      squares += std::pow(element(answer, i) - element(y, i), 2);
      energy += std::pow(element(y, i), 2);
    }
    worst = std::max(worst, std::sqrt(squares / energy));
    std::printf("  %.2f %% from floats\n", 100 * std::sqrt(squares / energy));
  }
  return worst < 0.05 ? 0 : 1;
}
