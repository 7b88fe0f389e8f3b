// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Data for which fusing a product and a sum changes the integer result (tests/support/contraction.h), on every kernel.
// Each test first compares its formula with the reference, and counts the outputs that fusing would change.
#include "tests/support/contraction.h"

#include <algorithm>
#include <cmath>

#include "runtime/engine/calls/attributes.h"
#include "runtime/workshop/reference/affine.h"
#include "runtime/workshop/reference/linear.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using testing::contracted;
using testing::differences;
using testing::MultiplyAdd;
using testing::Random;
using testing::rounded_twice;
using testing::stepped;
using testing::tensor_of;

constexpr reference::IntegerBounds kInt8{-128, 127};

HostTensor reference_of(std::string_view op, const Request& request) {
  const auto completed = complete(*find_operator(op), request);
  EXPECT_TRUE(completed) << (completed ? "" : to_text(completed.error()));
  return reference::find(op)(*completed).at("output");
}

float real_attribute(const Request& request, const std::string& name) {
  return static_cast<float>(std::get<double>(request.attributes.at(name)));
}
int32_t integer_attribute(const Request& request, const std::string& name) {
  return static_cast<int32_t>(std::get<int64_t>(request.attributes.at(name)));
}

class ContractionTest : public testing::KernelTest {
 protected:
  // `formula` computes the output, contracted or not: it gives the reference without, and at least that share of
  // other elements with.
  template <typename Formula>
  void expect_telling(std::string_view op, const Request& request, double share, const Formula& formula) {
    const HostTensor expected = reference_of(op, request);
    EXPECT_EQ(differences(formula(rounded_twice), expected), 0) << op;
    EXPECT_GE(static_cast<double>(differences(formula(contracted), expected)),
              share * static_cast<double>(element_count(expected.shape)))
        << op;
  }
};

// ---- sums of a layer, times a scale, and a bias ---------------------------------------------------------------------

// A linear layer or a convolution without its bias, and its exact sums in the shape of its output. There, the channel
// of an element changes every `run` elements.
struct Layer {
  std::string_view op;
  Request request;
  HostTensor sums;
  int64_t run = 1;

  int64_t channels() const { return element_count(request.inputs.at("weight_scales").shape); }
  int64_t channel_of(int64_t index) const { return index / run % channels(); }
  float scale_of(int64_t channel) const {
    return real_attribute(request, "input_scale") *
           static_cast<float>(element(request.inputs.at("weight_scales"), channel));
  }
};

// Scales of 1 first, which leave the sums as they are, then others.
void add_ones(Request& request, int64_t channels) {
  request.inputs["weight_scales"] = tensor_of(DType::f32, {channels}, {1});
  request.attributes["input_scale"] = 1.0;
  request.attributes["input_zero_point"] = int64_t{-7};
}
void set_numbers(Request& request, std::string_view activation) {
  request.attributes["input_scale"] = 0.02;
  request.attributes["activation"] = std::string(activation);
}

// Rows that are all the same: so are a column's sums, and one bias serves them all.
Layer linear_layer(const Shape& input, int64_t n, std::string_view activation = "none") {
  Layer layer{.op = "q8ta_linear", .request = {}, .sums = {}};
  Random random(static_cast<uint32_t>(element_count(input) + n));
  const HostTensor row = random.integers(DType::i8, {input.back()}, -128, 127);
  HostTensor& x = layer.request.inputs["input"] = zeros(DType::i8, input);
  for (int64_t i = 0; i < element_count(input); ++i) set_element(x, i, element(row, i % input.back()));
  layer.request.inputs["weight"] = random.integers(DType::i8, {n, input.back()}, -128, 127);
  add_ones(layer.request, n);
  layer.sums = reference_of("q8ta_linear_dequantize", layer.request);
  set_numbers(layer.request, activation);
  return layer;
}

// Channels that are the same everywhere, without padding: so are a channel's sums.
Layer conv_layer(const Shape& input, const Shape& weight, int64_t stride = 1, int64_t groups = 1,
                 std::string_view activation = "none") {
  Layer layer{.op = "q8ta_conv2d", .request = {}, .sums = {}};
  Random random(static_cast<uint32_t>(element_count(input) + element_count(weight)));
  const HostTensor pixel = random.integers(DType::i8, {input[1]}, -128, 127);
  HostTensor& x = layer.request.inputs["input"] = zeros(DType::i8, input);
  const int64_t plane = input[2] * input[3];
  for (int64_t i = 0; i < element_count(input); ++i) set_element(x, i, element(pixel, i / plane % input[1]));
  layer.request.inputs["weight"] = random.integers(DType::i8, weight, -128, 127);
  layer.request.attributes["stride"] = std::vector<int64_t>{stride};
  layer.request.attributes["groups"] = groups;
  add_ones(layer.request, weight[0]);
  layer.sums = reference_of("q8ta_conv2d_dequantize", layer.request);
  set_numbers(layer.request, activation);
  layer.run = layer.sums.shape[2] * layer.sums.shape[3];
  return layer;
}

// The same, transposed: windows that do not overlap, of taps that are all the same.
Layer transposed_layer(const Shape& input, const Shape& weight) {
  Layer layer = conv_layer(input, {weight[1], input[1], 1, 1});
  layer.op = "q8ta_conv2d_transposed";
  const HostTensor taps = layer.request.inputs.at("weight");
  HostTensor& all = layer.request.inputs["weight"] = zeros(DType::i8, weight);
  const int64_t window = weight[2] * weight[3];
  for (int64_t i = 0; i < element_count(weight); ++i) {
    const int64_t from = i / window / weight[1], to = i / window % weight[1];
    set_element(all, i, element(taps, to * input[1] + from));
  }
  layer.request.attributes["stride"] = std::vector<int64_t>{weight[2], weight[3]};
  const HostTensor small = layer.sums;
  layer.sums = zeros(DType::f32, {input[0], weight[1], input[2] * weight[2], input[3] * weight[3]});
  layer.run *= window;
  for (int64_t i = 0; i < element_count(layer.sums.shape); ++i) set_element(layer.sums, i, element(small, i / window));
  return layer;
}

// An output that is quantized from a sum.
int32_t output_of(const Request& request, float sum, float scale, float bias, MultiplyAdd multiply_add) {
  const HostTensor y = tensor_of(DType::f32, {1}, {static_cast<double>(multiply_add(sum, scale, bias))});
  const auto activation = word_attribute<reference::Activation>(request, "activation", generated::words::kActivation);
  const float real = reference::output_of(0, 0, tensor_of(DType::f32, {1}, {1}), &y,  // y alone, since 0 is added to it
                                          {.activation = activation});
  return reference::quantize(real, real_attribute(request, "output_scale"),
                             integer_attribute(request, "output_zero_point"), kInt8);
}

struct ScaleAndBias {
  double weight_scale, bias;
};

// Inputs that bring a sum next to a half, of 76 to 120 quantization steps, where activations only round, on the side
// that contraction changes.
ScaleAndBias telling_numbers(const Request& request, float sum, Random& random) {
  constexpr int kTries = 10000;
  const auto quantum = static_cast<double>(real_attribute(request, "output_scale"));
  for (int i = 0; i < kTries; ++i) {
    const auto weight_scale = static_cast<float>(random.real(0.001, 0.004));
    const float scale = real_attribute(request, "input_scale") * weight_scale;
    const double half = (static_cast<double>(random.integer(76, 119)) + 0.5) * quantum;
    const auto bias = static_cast<float>(half - static_cast<double>(sum) * static_cast<double>(scale));
    if (output_of(request, sum, scale, bias, rounded_twice) != output_of(request, sum, scale, bias, contracted))
      return {static_cast<double>(weight_scale), static_cast<double>(bias)};
  }
  return {1, 0};
}

void add_telling_numbers(Layer& layer) {
  layer.request.attributes["output_scale"] = 0.049;
  layer.request.attributes["output_zero_point"] = int64_t{5};
  Random random(11);
  HostTensor& weight_scales = layer.request.inputs["weight_scales"];
  HostTensor& biases = layer.request.inputs["bias"] = zeros(DType::f32, weight_scales.shape);
  for (int64_t channel = 0; channel < layer.channels(); ++channel) {
    const auto sum = static_cast<float>(element(layer.sums, channel * layer.run));
    const auto [weight_scale, bias] = telling_numbers(layer.request, sum, random);
    set_element(weight_scales, channel, weight_scale);
    set_element(biases, channel, bias);
  }
}

HostTensor outputs_of(const Layer& layer, MultiplyAdd multiply_add) {
  HostTensor outputs = zeros(DType::i8, layer.sums.shape);
  for (int64_t i = 0; i < element_count(outputs.shape); ++i) {
    const int64_t channel = layer.channel_of(i);
    set_element(outputs, i,
                output_of(layer.request, static_cast<float>(element(layer.sums, i)), layer.scale_of(channel),
                          static_cast<float>(element(layer.request.inputs.at("bias"), channel)), multiply_add));
  }
  return outputs;
}

// ---- sums of two products -------------------------------------------------------------------------------------------

// Either of them may be the unrounded one.
enum class Unrounded { first, second };

// Bytes with one scale and zero point.
struct Bytes {
  const HostTensor& q;
  float scale;
  int32_t zero_point;
  float integer(int64_t i) const { return static_cast<float>(element(q, i)) - static_cast<float>(zero_point); }
};

// RN(a) + RN(b), quantized.
HostTensor sums_of(const Bytes& a, const Bytes& b, const Request& request, Unrounded unrounded,
                   MultiplyAdd multiply_add) {
  HostTensor outputs = zeros(DType::i8, a.q.shape);
  for (int64_t i = 0; i < element_count(outputs.shape); ++i) {
    const bool is_first = unrounded == Unrounded::first;
    const Bytes &product = is_first ? a : b, &other = is_first ? b : a;
    const float rounded = other.integer(i) * other.scale;
    const float real = multiply_add(product.integer(i), product.scale, rounded);
    set_element(outputs, i,
                reference::quantize(real, real_attribute(request, "output_scale"),
                                    integer_attribute(request, "output_zero_point"), kInt8));
  }
  return outputs;
}

// For terms that nearly cancel, with scales of `scale` and two floats above: the larger products lose up to ten
// quantization steps by rounding.
double scale_of_rests(double scale) { return std::ldexp(scale, -21); }

// A residual that leaves the small parts of the layer's result.
void add_cancelling_residual(Layer& layer) {
  const HostTensor results = reference_of(layer.op, layer.request);
  Attributes& attributes = layer.request.attributes;
  const auto scale = std::get<double>(attributes.at("output_scale"));
  const auto zero_point = std::get<int64_t>(attributes.at("output_zero_point"));
  constexpr int64_t kResidualZeroPoint = 11;
  HostTensor& residual = layer.request.inputs["residual"] = zeros(DType::i8, results.shape);
  for (int64_t i = 0; i < element_count(results.shape); ++i) {
    set_element(residual, i, static_cast<double>(kResidualZeroPoint + zero_point) - element(results, i));
  }
  attributes["result_scale"] = scale;
  attributes["result_zero_point"] = zero_point;
  attributes["residual_scale"] = static_cast<double>(stepped(static_cast<float>(scale), 2));
  attributes["residual_zero_point"] = kResidualZeroPoint;
  attributes["output_scale"] = scale_of_rests(scale);
  attributes["output_zero_point"] = int64_t{-9};
}

// ---- layers ---------------------------------------------------------------------------------------------------------

class LayerContractionTest : public ContractionTest {
 protected:
  void expect_right(Layer layer, const measure::VerifyOptions& options) {
    SCOPED_TRACE(fmt::format("{} {} by {}", layer.op, to_text(layer.request.inputs.at("input").shape),
                             to_text(layer.request.inputs.at("weight").shape)));
    add_telling_numbers(layer);
    expect_telling(layer.op, layer.request, 0.95,
                   [&](MultiplyAdd multiply_add) { return outputs_of(layer, multiply_add); });
    expect_reference(layer.op, layer.request, options);

    const HostTensor results = reference_of(layer.op, layer.request);
    add_cancelling_residual(layer);
    const Request& request = layer.request;
    const Bytes result{results, real_attribute(request, "result_scale"),
                       integer_attribute(request, "result_zero_point")};
    const Bytes residual{request.inputs.at("residual"), real_attribute(request, "residual_scale"),
                         integer_attribute(request, "residual_zero_point")};
    for (const Unrounded unrounded : {Unrounded::first, Unrounded::second}) {
      expect_telling(layer.op, request, 0.8, [&](MultiplyAdd multiply_add) {
        return sums_of(result, residual, request, unrounded, multiply_add);
      });
    }
    expect_reference(layer.op, request, options);
  }

  // Without the last rounding, in f16: the bias cancels all but the last bit of a product, so that the rounding error
  // is not too small for f16.
  void expect_right_in_halves(Layer layer, const std::string& op, const measure::VerifyOptions& options) {
    layer.request.attributes["output_dtype"] = std::string("f16");
    layer.request.inputs["weight_scales"] = Random(5).reals(DType::f32, {layer.channels()}, 1, 4);
    HostTensor& bias = layer.request.inputs["bias"] = zeros(DType::f32, {layer.channels()});
    for (int64_t channel = 0; channel < layer.channels(); ++channel) {
      const float product = static_cast<float>(element(layer.sums, channel * layer.run)) * layer.scale_of(channel);
      set_element(bias, channel, static_cast<double>(stepped(-product, channel % 3 - 1)));
    }
    expect_telling(op, layer.request, 0.8, [&](MultiplyAdd multiply_add) {
      HostTensor outputs = zeros(DType::f16, layer.sums.shape);
      for (int64_t i = 0; i < element_count(outputs.shape); ++i) {
        const int64_t channel = layer.channel_of(i);
        set_element(
            outputs, i,
            static_cast<double>(multiply_add(static_cast<float>(element(layer.sums, i)), layer.scale_of(channel),
                                             static_cast<float>(element(bias, channel)))));
      }
      return outputs;
    });
    expect_reference(op, layer.request, options);
  }
};

// Few rows and many; columns in fours, sixteens and neither; sums that are exact floats, that fit an int, and that are
// joined from slices.
TEST_F(LayerContractionTest, Linear) {
  expect_right(linear_layer({1, 36}, 21), kEveryVariant);
  expect_right(linear_layer({5, 36}, 32, "relu"), kEveryVariant);
  expect_right(linear_layer({6, 1300}, 7, "relu6"), kEveryVariant);
  expect_right(linear_layer({6, 1040}, 48, "hardswish"), kEveryVariantAsAsked);
  expect_right(linear_layer({37, 80}, 36), kEverythingAsAsked);
}

// And sums that do not fit an int.
TEST_F(LayerContractionTest, LinearOfALongK) { expect_right(linear_layer({3, 66000}, 20), kEveryVariantAsAsked); }

TEST_F(LayerContractionTest, LinearToHalves) {
  expect_right_in_halves(linear_layer({5, 36}, 32), "q8ta_linear_dequantize", kEveryVariant);
  expect_right_in_halves(linear_layer({6, 1300}, 21), "q8ta_linear_dequantize", kEveryVariantAsAsked);
}

TEST_F(LayerContractionTest, Conv) {
  expect_right(conv_layer({1, 3, 9, 9}, {10, 3, 3, 3}, 2), kEveryVariant);
  expect_right(conv_layer({2, 16, 5, 6}, {32, 16, 3, 3}), kEveryVariant);
  expect_right(conv_layer({1, 16, 3, 5}, {24, 16, 1, 1}, 1, 1, "relu"), kEveryVariant);
  expect_right(conv_layer({1, 32, 5, 5}, {32, 16, 3, 3}, 1, 2), kEveryVariantAsAsked);
  expect_right(conv_layer({2, 8, 9, 10}, {8, 1, 3, 3}, 1, 8, "relu6"), kEveryVariant);
  expect_right(conv_layer({1, 128, 4, 5}, {7, 128, 3, 3}), kEveryVariantAsAsked);  // k in slices
  expect_right(conv_layer({1, 16, 9, 9}, {36, 16, 3, 3}), kEverythingAsAsked);
}

TEST_F(LayerContractionTest, ConvTransposed) {
  expect_right(transposed_layer({1, 16, 4, 5}, {16, 8, 2, 2}), kEveryVariant);
  expect_right(transposed_layer({2, 5, 3, 3}, {5, 32, 3, 2}), kEveryVariantAsAsked);
}

TEST_F(LayerContractionTest, ConvToHalves) {
  expect_right_in_halves(conv_layer({2, 16, 5, 6}, {32, 16, 3, 3}), "q8ta_conv2d_dequantize", kEveryVariant);
  expect_right_in_halves(conv_layer({1, 8, 5, 5}, {8, 1, 3, 3}, 1, 8), "q8ta_conv2d_dequantize", kEveryVariant);
}

// ---- sums of two operands -------------------------------------------------------------------------------------------

TEST_F(ContractionTest, SumsOfBytes) {
  for (const int sign : {1, -1}) {
    const std::string_view op = sign > 0 ? "q8ta_add" : "q8ta_sub";
    Request request;
    const HostTensor& input = request.inputs["input"] = Random(17).integers(DType::i8, {2, 5, 6, 37}, -127, 127);
    HostTensor& other = request.inputs["other"] = zeros(DType::i8, input.shape);
    for (int64_t i = 0; i < element_count(input.shape); ++i) set_element(other, i, -sign * element(input, i));
    const float other_scale = stepped(0.049f, 2);
    request.attributes = {{"input_scale", 0.049},
                          {"input_zero_point", int64_t{3}},
                          {"other_scale", static_cast<double>(other_scale)},
                          {"other_zero_point", int64_t{-3 * sign}},
                          {"output_scale", scale_of_rests(0.049)},
                          {"output_zero_point", int64_t{4}}};
    const Bytes a{input, 0.049f, 3}, b{other, static_cast<float>(sign) * other_scale, -3 * sign};
    for (const Unrounded unrounded : {Unrounded::first, Unrounded::second}) {
      expect_telling(op, request, 0.8,
                     [&](MultiplyAdd multiply_add) { return sums_of(a, b, request, unrounded, multiply_add); });
    }
    expect_reference(op, request, kEverything);
  }
}

// x + RN(alpha * y), whose terms nearly cancel.
TEST_F(ContractionTest, FusedSumsOfReals) {
  constexpr float kAlpha = -0.85f, kScale = 0x1.9p-28f;
  const Shape shape{3, 411};
  Request request;
  const HostTensor& y = request.inputs["other"] = Random(3).reals(DType::f32, shape, 1, 2);
  HostTensor& x = request.inputs["input"] = zeros(DType::f32, shape);
  for (int64_t i = 0; i < element_count(shape); ++i) {
    const float product = kAlpha * static_cast<float>(element(y, i));
    set_element(x, i, static_cast<double>(stepped(-product, i % 5 - 2)));
  }
  request.attributes["alpha"] = static_cast<double>(kAlpha);
  request.inputs["output_scale"] = tensor_of(DType::f32, {}, {static_cast<double>(kScale)});
  expect_telling("fused_add", request, 0.8, [&](MultiplyAdd multiply_add) {
    HostTensor sums = zeros(DType::i8, shape);
    for (int64_t i = 0; i < element_count(shape); ++i) {
      const float sum = multiply_add(kAlpha, static_cast<float>(element(y, i)), static_cast<float>(element(x, i)));
      set_element(sums, i, reference::quantize(sum, kScale, 0, kInt8));
    }
    return sums;
  });
  expect_reference("fused_add", request, kEverything);
}

// The same of integers, where x is a product too.
TEST_F(ContractionTest, FusedSumsOfIntegers) {
  constexpr float kScale = 0.049f, kOtherScale = 0.07f, kAlpha = -kScale / kOtherScale;
  const auto output_scale = static_cast<float>(scale_of_rests(static_cast<double>(kScale)));
  const Shape shape{3, 411};
  for (const DType dtype : {DType::i8, DType::i16, DType::i32}) {
    SCOPED_TRACE(name(dtype));
    Request request;
    const HostTensor& q = request.inputs["input"] = Random(3).integers(dtype, shape, -127, 127);
    request.inputs["other"] = q;
    request.inputs["input_scale"] = tensor_of(DType::f32, {}, {static_cast<double>(kScale)});
    request.inputs["other_scale"] = tensor_of(DType::f32, {}, {static_cast<double>(kOtherScale)});
    request.inputs["output_scale"] = tensor_of(DType::f32, {}, {static_cast<double>(output_scale)});
    request.attributes["alpha"] = static_cast<double>(kAlpha);
    for (const Unrounded unrounded : {Unrounded::first, Unrounded::second}) {
      expect_telling("fused_add", request, 0.7, [&](MultiplyAdd multiply_add) {
        HostTensor sums = zeros(DType::i8, shape);
        for (int64_t i = 0; i < element_count(shape); ++i) {
          const auto integer = static_cast<float>(element(q, i));
          const float x = integer * kScale, y = integer * kOtherScale, scaled = kAlpha * y;
          const float sum =
              unrounded == Unrounded::first ? multiply_add(integer, kScale, scaled) : multiply_add(kAlpha, y, x);
          set_element(sums, i, reference::quantize(sum, output_scale, 0, kInt8));
        }
        return sums;
      });
    }
    expect_reference("fused_add", request, kEverythingAsAsked);
  }
}

// ---- products that are rounded to integers --------------------------------------------------------------------------

// A product and the sum that rounds it (templates/lib/float32.glsl).
class RoundingContractionTest : public ContractionTest {
 protected:
  // Values from memory, or dequantized integers, in the order of the outputs; if there are fewer, they repeat from the
  // first.
  void expect_rounded_twice(std::string_view op, const Request& request, std::span<const double> values,
                            float output_scale, const measure::VerifyOptions& options) {
    const HostTensor expected = reference_of(op, request);
    int64_t telling = 0;
    for (int64_t i = 0; i < element_count(expected.shape); ++i) {
      const double exact = values[static_cast<size_t>(i) % values.size()] * static_cast<double>(1 / output_scale);
      telling += element(expected, i) != std::nearbyint(exact) ? 1 : 0;
    }
    EXPECT_EQ(telling, element_count(expected.shape)) << op;
    expect_reference(op, request, options);
  }
};

HostTensor one_of(float value) { return tensor_of(DType::f32, {}, {static_cast<double>(value)}); }

TEST_F(RoundingContractionTest, OfReals) {
  constexpr float kScale = 0.037f;
  const std::vector<double> reals = testing::floats_next_to_halves(1 / kScale, 120);
  ASSERT_GE(reals.size(), 100u);
  const HostTensor input = tensor_of(DType::f32, {3, 5, 83}, reals);
  for (const char* dtype : {"int8", "int16"}) {
    const Request request{.inputs = {{"input", input}, {"scale", one_of(kScale)}},
                          .attributes = {{"output_dtype", std::string(dtype)}}};
    expect_rounded_twice("quantize_affine", request, reals, kScale, kEverything);
  }
  expect_rounded_twice("fused_clip", {.inputs = {{"input", input}, {"output_scale", one_of(kScale)}}}, reals, kScale,
                       kEverything);
  expect_rounded_twice("q8ta_quantize",
                       {.inputs = {{"input", input}}, .attributes = {{"output_scale", static_cast<double>(kScale)}}},
                       reals, kScale, kEveryVariant);
}

// Of four bits.
TEST_F(RoundingContractionTest, OfAWeight) {
  constexpr float kScale = 0.37f;
  const std::vector<double> reals = testing::floats_next_to_halves(1 / kScale, 7);
  ASSERT_GE(reals.size(), 5u);
  const Request request{.inputs = {{"input", tensor_of(DType::f32, {13, 96}, reals)},
                                   {"weight_scales", tensor_of(DType::f32, {13, 12}, {static_cast<double>(kScale)})}}};
  expect_rounded_twice("quantize_q4gsw", request, reals, kScale, kEverything);
}

// Small integers: a scale of 1.2 brings some multiples of 3 next to halves.
TEST_F(RoundingContractionTest, OfHalves) {
  constexpr float kScale = 1.2f;
  std::vector<float> integers;
  for (int integer = -120; integer <= 120; ++integer) integers.push_back(static_cast<float>(integer));
  const std::vector<double> reals = testing::next_to_halves(integers, 1 / kScale);
  ASSERT_GE(reals.size(), 10u);
  const HostTensor input = tensor_of(DType::f16, {3, 5, 83}, reals);
  expect_rounded_twice("quantize_affine", {.inputs = {{"input", input}, {"scale", one_of(kScale)}}}, reals, kScale,
                       kEverything);
  expect_rounded_twice("fused_clip", {.inputs = {{"input", input}, {"output_scale", one_of(kScale)}}}, reals, kScale,
                       kEverything);
}

// Integers of a scale to integers of twice that: odd ones end next to halves, on both sides.
class RequantizingContractionTest : public RoundingContractionTest {
 protected:
  static constexpr float kInputScale = 0.07f, kScale = 0.14f;
  std::vector<double> integers_, reals_;

  void SetUp() override {
    RoundingContractionTest::SetUp();
    for (int integer = -127; integer <= 127; ++integer) {
      const float real = static_cast<float>(integer) * kInputScale;
      if (!testing::is_next_to_a_half(real, 1 / kScale)) continue;
      integers_.push_back(integer);
      reals_.push_back(static_cast<double>(real));
    }
    ASSERT_GE(integers_.size(), 50u);
  }
};

TEST_F(RequantizingContractionTest, Requantize) {
  for (const DType dtype : {DType::i8, DType::i16, DType::i32}) {
    const Request request{.inputs = {{"input", tensor_of(dtype, {3, 5, 83}, integers_)},
                                     {"input_scale", one_of(kInputScale)},
                                     {"output_scale", one_of(kScale)}}};
    expect_rounded_twice("requantize", request, reals_, kScale, kEverything);
  }
}

TEST_F(RequantizingContractionTest, Concat) {
  const HostTensor input = tensor_of(DType::i8, {4 * std::ssize(integers_)}, integers_);
  const Request request{.inputs = {{"input_1", input}, {"input_2", input}},
                        .attributes = {{"axis", int64_t{0}},
                                       {"input_1_scale", static_cast<double>(kInputScale)},
                                       {"input_2_scale", static_cast<double>(kInputScale)},
                                       {"output_scale", static_cast<double>(kScale)}}};
  expect_rounded_twice("q8ta_concat", request, reals_, kScale, kEveryVariant);
}

// Sums over k with a single term other than 0, a column for each integer.
TEST_F(RequantizingContractionTest, Bmm) {
  const int64_t columns = std::ssize(integers_);
  HostTensor other = zeros(DType::i8, {36, columns});
  for (int64_t column = 0; column < columns; ++column)
    set_element(other, (column % 36) * columns + column, integers_[static_cast<size_t>(column)]);
  Request request{.inputs = {{"input", tensor_of(DType::i8, {5, 36}, {1})},
                             {"input_scale", one_of(kInputScale)},
                             {"other", other},
                             {"other_scale", one_of(1)},
                             {"output_scale", one_of(kScale)}}};
  for (const char* op : {"bmm", "fused_bmm"}) expect_rounded_twice(op, request, reals_, kScale, kEverythingAsAsked);
  // Floating-point sums are the same, with one term.
  request.inputs.erase("input_scale");
  request.inputs["input"] = tensor_of(DType::f32, {5, 36}, {1});
  request.inputs["other_scale"] = one_of(kInputScale);
  expect_rounded_twice("fused_bmm", request, reals_, kScale, kEverythingAsAsked);
}

}  // namespace
}  // namespace qgen
