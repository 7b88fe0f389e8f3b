// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// linear_q8csw, linear_q4gsw, linear_dq8ca_q8csw, linear_dq8ca_q4gsw, rms_norm_linear_q4gsw and rms_norm_gated_q4gsw,
// each on every kernel, within the bounds of docs/linear_weights.md; and the defects of other implementations that they
// must not have.
#include <cmath>

#include "operators.h"
#include "runtime/engine/tensor/quant_params.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/expected_text.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using namespace generated::operators;
using testing::Random;
using testing::tensor_of;

constexpr std::string_view kOperators[] = {"linear_q8csw", "linear_q4gsw", "linear_dq8ca_q8csw", "linear_dq8ca_q4gsw"};
bool has_four_bits(std::string_view op) { return op.ends_with("q4gsw"); }

struct Layer {
  Shape rows;  // of the input, without K
  int64_t n, k;
  int64_t group_size = 0;  // of four bits; 0: none
  bool has_bias = true;
  std::string activation = "none";
};

std::string described(const Layer& layer) {
  return fmt::format("{} rows, N {}, K {}, groups of {}{}, activation {}", to_text(layer.rows), layer.n, layer.k,
                     layer.group_size, layer.has_bias ? "" : ", no bias", layer.activation);
}

Request request_of(std::string_view op, const Layer& layer, uint32_t seed) {
  Random random(seed);
  Shape input = layer.rows;
  input.push_back(layer.k);
  const bool has_groups = has_four_bits(op) && layer.group_size != 0;
  Request request;
  request.inputs["input"] = random.reals(DType::f32, input, -2, 3);
  request.inputs["weight"] = has_four_bits(op) ? random.integers(DType::i8, {layer.n, layer.k}, -8, 7)
                                               : random.integers(DType::i8, {layer.n, layer.k}, -128, 127);
  request.inputs["weight_scales"] =
      random.reals(DType::f32, has_groups ? Shape{layer.n, layer.k / layer.group_size} : Shape{layer.n}, 0.005, 0.015);
  if (layer.has_bias) request.inputs["bias"] = random.reals(DType::f32, {layer.n}, -1, 1);
  request.attributes["activation"] = layer.activation;
  if (has_groups) request.attributes["group_size"] = layer.group_size;
  return request;
}

class WeightLinearTest : public testing::KernelTest {
 protected:
  void expect_all_four(const Layer& layer, const measure::VerifyOptions& options) {
    uint32_t seed = 1;
    for (const std::string_view op : kOperators) {
      SCOPED_TRACE(fmt::format("{}: {}", op, described(layer)));
      expect_reference(op, request_of(op, layer, ++seed), options);
    }
  }
};

TEST_F(WeightLinearTest, EverySpecialization) {
  expect_all_four({{3}, 70, 96, 32}, kEverything);
  expect_all_four({{1}, 33, 640, 128, false, "relu"}, kEverything);  // split along k too
}

TEST_F(WeightLinearTest, Shapes) {
  const Layer kLayers[] = {
      // Rows around the sizes of tiles and teams.
      {{1}, 64, 64, 32},
      {{2}, 64, 64, 32},
      {{4}, 32, 64, 16},
      {{5}, 20, 128, 64},
      {{63}, 12, 64, 32},
      {{64}, 64, 32, 32},
      {{65}, 65, 64, 32},
      // One column; K of a word, and of no whole word.
      {{3}, 1, 64, 32},
      {{2}, 9, 4},
      {{2}, 9, 13},
      {{3}, 10, 1},
      {{5}, 3, 34, 17},
      // K past the size that a workgroup stages at once.
      {{2}, 3, 4128, 32},
      {{1}, 2, 16448, 64},
      // Vectors, batches, sides of one and of none.
      {{}, 7, 32, 16},
      {{2, 1, 3, 2}, 5, 32, 8},
      {{1, 1}, 1, 1},
      {{0}, 4, 8},
      {{3}, 0, 8},
      {{2, 0}, 4, 8},
      {{3}, 4, 0},
      // Runs of several spans that end within a step of k, and several that begin in one; one column, rows past a tile.
      {{17}, 33, 288, 96},
      {{18}, 1, 224, 32},
      {{33}, 18, 320, 64},
      {{35}, 7, 200},
      // Whole chunks and runs of a step of k, also in slices; sizes that are constants of a pipeline.
      {{18}, 40, 1024, 256},
      {{9}, 24, 512, 128},
      {{17}, 33, 256, 64},
      {{5}, 20, 384, 32},
      {{19}, 256, 512},
      // Neither bias nor neat sizes.
      {{33}, 31, 160, 32, false, "relu"},
  };
  for (const Layer& layer : kLayers) expect_all_four(layer, kEveryVariant);
}

// A side of the weight and every group size that divides K, not only powers of two.
TEST_F(WeightLinearTest, EveryGroupSize) {
  for (const int64_t group_size : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 96}) {
    const Layer layer{{3}, 18, 96, group_size};
    SCOPED_TRACE(described(layer));
    expect_reference("linear_q4gsw", request_of("linear_q4gsw", layer, 5), kEveryVariantAsAsked);
    expect_reference("linear_dq8ca_q4gsw", request_of("linear_dq8ca_q4gsw", layer, 6), kEveryVariantAsAsked);
  }
}

TEST_F(WeightLinearTest, EveryActivation) {
  for (const char* activation : {"relu", "relu6", "hardswish"}) {
    expect_all_four({{5}, 21, 64, 32, true, activation}, kEveryVariant);
  }
}

// The least weight of all, whose negative is none, against the ends of the activations' range.
TEST_F(WeightLinearTest, ExtremeWeights) {
  for (const std::string_view op : kOperators) {
    const double least = has_four_bits(op) ? -8 : -128;
    Request request = request_of(op, {{2}, 17, 192, 64}, 7);
    request.inputs["weight"] = tensor_of(DType::i8, {17, 192}, {least});
    request.inputs["input"] = tensor_of(DType::f32, {2, 192}, {-1.0});
    expect_reference(op, request, kEveryVariantAsAsked);
    request.inputs["input"] = tensor_of(DType::f32, {2, 192}, {1.0});
    expect_reference(op, request, kEveryVariantAsAsked);
  }
}

// Sums of 131,072 products of the largest bytes pass 2^31: they are added up in parts.
TEST_F(WeightLinearTest, SumsPastThirtyTwoBits) {
  const int64_t k = 131072;
  for (const double sign : {1.0, -1.0}) {
    Request request = request_of("linear_dq8ca_q8csw", {{2}, 2, k}, 8);
    request.inputs["weight"] = tensor_of(DType::i8, {2, k}, {-128});
    request.inputs["input"] = tensor_of(DType::f32, {2, k}, {sign});
    expect_reference("linear_dq8ca_q8csw", request, kEveryVariantAsAsked);
  }
}

TEST_F(WeightLinearTest, LongRows) { expect_all_four({{2}, 2, 131072, 4096}, kEveryVariantAsAsked); }

TEST_F(WeightLinearTest, ActivationMappings) {
  for (const std::string_view mapping : {"asymmetric", "symmetric", "symmetric_no_clipping_err"}) {
    for (const IntegerRange range : {IntegerRange{-128, 127}, IntegerRange{-8, 7}, IntegerRange{-127, 127}}) {
      SCOPED_TRACE(fmt::format("{} to {} .. {}", mapping, range.min, range.max));
      Request request = request_of("linear_dq8ca_q4gsw", {{5}, 18, 64, 32}, 9);
      request.attributes["activation_mapping"] = std::string(mapping);
      request.attributes["quant_min"] = range.min;
      request.attributes["quant_max"] = range.max;
      expect_reference("linear_dq8ca_q4gsw", request, kEveryVariantAsAsked);
    }
  }
}

// Rows of zeros, of one sign, of the largest and smallest numbers; NaN and infinity spoil their own row and no other.
TEST_F(WeightLinearTest, ExtremeActivations) {
  const double inf = kInfinity, nan = kNan;
  HostTensor input = zeros(DType::f32, {7, 64});
  for (int64_t k = 0; k < 64; ++k) {
    set_element(input, 64 + k, 1 + static_cast<double>(k));
    set_element(input, 128 + k, -1 - static_cast<double>(k));
    set_element(input, 192 + k, k % 2 == 0 ? 1e30 : -1e30);
    set_element(input, 256 + k, k % 2 == 0 ? 1e-30 : -1e-30);
    set_element(input, 320 + k, k == 9 ? nan : 1.0);
    set_element(input, 384 + k, k == 9 ? inf : 1.0);
  }
  for (const std::string_view op : kOperators) {
    Request request = request_of(op, {{7}, 18, 64, 32}, 10);
    request.inputs["input"] = input;
    request.inputs["weight"] =
        Random(11).integers(DType::i8, {18, 64}, 1, 7);  // infinity times 0 has no defined result here
    expect_reference(op, request, kEveryVariantAsAsked);
  }
}

// Halves below 2^-14, which conversions and matrices of halves may not take for zeros.
TEST_F(WeightLinearTest, SubnormalHalves) {
  for (const int64_t rows : {1, 33}) {
    HostTensor input = Random(12).integers(DType::f16, {rows, 64}, -1023, 1023);
    for (int64_t i = 0; i < element_count(input.shape); ++i) set_element(input, i, element(input, i) * 0x1p-24);
    for (const std::string_view op : kOperators) {
      SCOPED_TRACE(fmt::format("{} of {} rows", op, rows));
      Request request = request_of(op, {{rows}, 24, 64, 32, false}, 11);
      request.inputs["input"] = input;
      expect_reference(op, request, kEveryVariantAsAsked);
    }
  }
}

// ---- a normalized sum before the product ----------------------------------------------------------------------------

Request normalized_request(const Shape& rows, int64_t n, int64_t k, int64_t group_size, uint32_t seed) {
  Request request = request_of("linear_q4gsw", {rows, n, k, group_size, seed % 2 == 0}, seed);
  request.attributes["epsilon"] = seed % 2 == 0 ? 1e-5 : 0.5;
  request.inputs.erase("input");
  Shape shape = rows;
  shape.push_back(k);
  Random random(seed + 100);
  request.inputs["hidden"] = random.reals(DType::f16, shape, -3, 5);
  request.inputs["skip"] = random.reals(DType::f16, shape, -2, 1);
  if (seed % 3 != 0) request.inputs["norm_weight"] = random.reals(DType::f16, {k}, -2, 2);
  return request;
}

TEST_F(WeightLinearTest, NormalizedSums) {
  struct Sides {
    Shape rows;
    int64_t n, k, group_size;
  };
  const Sides kSides[] = {
      {{1}, 1, 128, 0},
      {{1}, 33, 640, 128},
      {{1, 1}, 70, 1152, 384},
      // The longest rows of one launch, and longer ones.
      {{1}, 5, 8192, 128},
      {{1}, 5, 8320, 128},
      // Several rows, batches, K of no whole block, and sides of none.
      {{3}, 18, 96, 32},
      {{2, 17}, 18, 96, 32},
      {{}, 18, 96, 32},
      {{0}, 18, 96, 32},
      {{1}, 18, 13, 0},
      {{1}, 0, 128, 0},
      {{1}, 4, 0, 0},
  };
  uint32_t seed = 1;
  for (const auto& [rows, n, k, group_size] : kSides)
    expect_reference("rms_norm_linear_q4gsw", normalized_request(rows, n, k, group_size, ++seed), kEveryVariantAsAsked);
  expect_reference("rms_norm_linear_q4gsw", normalized_request({1}, 300, 256, 128, ++seed), kEverythingAsAsked);
}

// Rows of zeros, whose result is the bias; rows whose squares are tiny compared with epsilon; subnormal and large ones.
TEST_F(WeightLinearTest, NormalizedSumsOfSpecialRows) {
  for (const double greatest : {0.0, 1e-7, 1e-3, 3e4}) {
    Request request = normalized_request({1}, 40, 256, 128, 2);
    for (const char* operand : {"hidden", "skip"})
      request.inputs[operand] = Random(3).reals(DType::f16, {1, 256}, -greatest, greatest);
    expect_reference("rms_norm_linear_q4gsw", request, kEveryVariantAsAsked);
  }
}

// ---- and the gate after it -----------------------------------------------------------------------------------------

TEST_F(WeightLinearTest, GatedProducts) {
  struct Sides {
    Shape rows;
    int64_t n, k, group_size;
  };
  const Sides kSides[] = {
      // Halves of one output, and of an odd number of them: one or several tiles, of which the last is not whole.
      {{1}, 2, 128, 0},
      {{1}, 34, 640, 128},
      {{1, 1}, 70, 1152, 384},
      // The longest rows of one launch, and longer ones.
      {{1}, 6, 8192, 128},
      {{1}, 6, 8320, 128},
      // Several rows, batches, K of no whole block, and sides of none.
      {{3}, 18, 96, 32},
      {{2, 17}, 18, 96, 32},
      {{}, 18, 96, 32},
      {{0}, 18, 96, 32},
      {{1}, 18, 13, 0},
      {{1}, 0, 128, 0},
      {{1}, 4, 0, 0},
      // Slices of k, and tiles of many rows.
      {{70}, 36, 512, 128},
  };
  uint32_t seed = 1;
  for (const auto& [rows, n, k, group_size] : kSides)
    expect_reference("rms_norm_gated_q4gsw", normalized_request(rows, n, k, group_size, ++seed), kEveryVariantAsAsked);
  expect_reference("rms_norm_gated_q4gsw", normalized_request({1}, 600, 256, 128, ++seed), kEverythingAsAsked);
  Request request = normalized_request({1}, 48, 256, 128, ++seed);
  request.attributes["activation"] = "relu";
  expect_reference("rms_norm_gated_q4gsw", request, kEveryVariantAsAsked);
}

// The sums of a row of 1 and -1 are exact. So each kernel has the bits of two operators one after the other: the factors
// of the gate are rounded to f16. The second scale gives factors that are infinite in f16.
TEST_F(WeightLinearTest, GatedProductsRoundTheirFactors) {
  Context on_device = context();
  for (const double scale : {0x1p-4, 0x1p8}) {
    Request request = normalized_request({1}, 70, 256, 128, 1);
    request.inputs.erase("norm_weight");
    request.attributes["epsilon"] = 1e-30;
    request.inputs["hidden"] = Random(4).integers(DType::f16, {1, 256}, 0, 1);
    for (int64_t k = 0; k < 256; ++k) {
      HostTensor& hidden = request.inputs["hidden"];
      set_element(hidden, k, 2 * element(hidden, k) - 1);
    }
    request.inputs["skip"] = zeros(DType::f16, {1, 256});
    request.inputs["weight_scales"] = tensor_of(DType::f32, {70, 2}, {scale});
    if (scale < 1) {
      HostTensor bias = Random(5).integers(DType::f32, {70}, -32768, 32768);
      for (int64_t n = 0; n < 70; ++n) set_element(bias, n, element(bias, n) * 0x1p-12);
      request.inputs["bias"] = bias;
    }
    const auto completed = complete(*find_operator("rms_norm_linear_q4gsw"), request);
    ASSERT_TRUE(completed) << to_text(completed.error());
    Tensors expected = reference::find("rms_norm_linear_q4gsw")(*completed);
    const auto product = on_device.executor.upload(expected.at("output"), Storage::buffer);
    ASSERT_TRUE(product) << to_text(product.error());
    const auto gated = silu_mul(on_device, {.input = *product});
    ASSERT_TRUE(gated) << to_text(gated.error());
    expected.at("output") = *on_device.executor.download(*gated);
    expect_bits("rms_norm_gated_q4gsw", request, expected);
  }
}

TEST_F(WeightLinearTest, GatesNeedAnEvenNumberOfColumns) {
  const auto call_of = [](int64_t n) {
    const TensorDesc row{DType::f16, {1, 64}}, scales{DType::f32, {n}};
    const TensorDesc weight{DType::i8, {n, 64}, Storage::buffer, Layout::weight_q4_rows};
    return rms_norm_gated_q4gsw_call({.hidden = row, .weight = weight, .weight_scales = scales, .skip = row});
  };
  const auto odd = call_of(7), even = call_of(8);
  ASSERT_FALSE(odd);
  EXPECT_TEXT(to_text(odd.error()), "weight is [7, 64], and must have an even number of rows");
  ASSERT_TRUE(even) << to_text(even.error());
}

// ---- defects, by their numbers in the register of the system that qgen replaces ------------------------------------

// Sums of activations over a group were added twice where a worker went round its loop: groups past 128, or from 64 to
// 128.
TEST_F(WeightLinearTest, A4_LongGroupsAreSummedOnce) {
  for (const int64_t group_size : {80, 96, 160, 256, 480}) {
    const Layer layer{{6}, 16, 2 * group_size, group_size};
    SCOPED_TRACE(described(layer));
    expect_reference("linear_dq8ca_q4gsw", request_of("linear_dq8ca_q4gsw", layer, 12), kEveryVariantAsAsked);
  }
}

// Sums of weights were padded to eight rows and read as if to four.
TEST_F(WeightLinearTest, A5_RowsThatAreFourPastAMultipleOfEight) {
  for (const int64_t n : {4, 12, 20}) {
    expect_reference("linear_dq8ca_q4gsw", request_of("linear_dq8ca_q4gsw", {{5}, n, 128, 32}, 13),
                     kEveryVariantAsAsked);
  }
}

// A source row was read by words of eight, though only a multiple of four was required.
TEST_F(WeightLinearTest, A9_RowsThatEndInsideAWord) {
  for (const int64_t k : {4, 12, 20, 36}) expect_all_four({{3}, 10, k, 4}, kEveryVariantAsAsked);
}

// One row of activations was not quantized: it gave other numbers alone than among others. Here it gives the same
// integers, so the only difference is the order of a few additions.
TEST_F(WeightLinearTest, A23_OneRowIsQuantizedAsManyAre) {
  const Request many = request_of("linear_dq8ca_q4gsw", {{6}, 24, 256, 64}, 14);
  Request one = many;
  one.inputs["input"] = zeros(DType::f32, {1, 256});
  for (int64_t k = 0; k < 256; ++k) set_element(one.inputs["input"], k, element(many.inputs.at("input"), k));
  const auto on_many = reference::find("linear_dq8ca_q4gsw")(*complete(*find_operator("linear_dq8ca_q4gsw"), many));
  const auto on_one = reference::find("linear_dq8ca_q4gsw")(*complete(*find_operator("linear_dq8ca_q4gsw"), one));
  for (int64_t n = 0; n < 24; ++n) {
    EXPECT_EQ(element(on_one.at("output"), n), element(on_many.at("output"), n));
  }
  expect_reference("linear_dq8ca_q4gsw", many, kEveryVariantAsAsked);
  expect_reference("linear_dq8ca_q4gsw", one, kEveryVariantAsAsked);
}

// Weights of four bits were used without their stored offset of 8, and bytes without their sign; there were no kernels
// for f16.
TEST_F(WeightLinearTest, A15_WeightsHaveTheirSignOnHalvesToo) {
  for (const std::string_view op : kOperators) {
    Request request = request_of(op, {{3}, 10, 64, 32}, 15);
    const double least = has_four_bits(op) ? -8 : -128;
    request.inputs["weight"] = Random(15).integers(DType::i8, {10, 64}, static_cast<int64_t>(least), -1);
    expect_reference(op, request, kEveryVariant);
  }
}

// A zero point of the weight was loaded and never used. Here there is none to give.
TEST_F(WeightLinearTest, A7_WeightsHaveNoZeroPoint) {
  for (const std::string_view op : kOperators) {
    Request request = request_of(op, {{3}, 10, 64, 32}, 16);
    request.inputs["weight_zero_point"] = zeros(DType::i32, {10});
    const auto completed = complete(*find_operator(op), request);
    ASSERT_FALSE(completed);
    EXPECT_EQ(completed.error().message, fmt::format("'{}' has no input 'weight_zero_point'", op));
  }
}

// The choice for the first shape stayed when shapes changed. Here each call chooses, and shares the weight.
TEST_F(WeightLinearTest, A3_RowsMayChangeFromCallToCall) {
  Context on_device = context();
  Executor& executor = on_device.executor;
  Request request = request_of("linear_dq8ca_q4gsw", {{1}, 24, 64, 32}, 17);
  auto weight = Weight::create(request.inputs.at("weight"), {});
  ASSERT_TRUE(weight) << to_text(weight.error());
  const DeviceTensor scales = *executor.upload(request.inputs.at("weight_scales"), Storage::buffer);
  const DeviceTensor bias = *executor.upload(request.inputs.at("bias"), Storage::buffer);
  for (const int64_t rows : {1, 70, 3, 1}) {
    request.inputs["input"] = Random(static_cast<uint32_t>(rows)).reals(DType::f32, {rows, 64}, -2, 3);
    const DeviceTensor x = *executor.upload(request.inputs.at("input"), Storage::buffer);
    const auto made =
        linear_dq8ca_q4gsw(on_device, {.input = x, .weight = *weight, .weight_scales = scales, .bias = &bias});
    ASSERT_TRUE(made) << to_text(made.error());
    const OperatorEntry& entry = *find_operator("linear_dq8ca_q4gsw");
    const auto expected = measure::expectation_by_reference(entry, *complete(entry, request));
    EXPECT_EQ(measure::compare(*executor.download(*made), *expected, "output").fault, "");
  }
}

// ---- refusals -------------------------------------------------------------------------------------------------------

// Every fault is reported with the given and the possible values.
TEST_F(WeightLinearTest, Refusals) {
  const TensorDesc x{DType::f32, {3, 64}}, scales{DType::f32, {8, 2}}, rows{DType::f32, {8}};
  const TensorDesc weight{DType::i8, {8, 64}, Storage::buffer, Layout::weight_q4_rows};
  const TensorDesc eight{DType::i8, {8, 64}, Storage::buffer, Layout::weight_q8_rows};
  const auto q4 = [&](const TensorDesc& input, const TensorDesc& w, const TensorDesc& s,
                      const std::optional<TensorDesc>& bias) {
    const auto call = linear_q4gsw_call({.input = input, .weight = w, .weight_scales = s, .bias = bias});
    return call ? "accepted" : to_text(call.error());
  };
  const auto dq = [&](IntegerRange range) {
    const auto call = linear_dq8ca_q4gsw_call({.input = x, .weight = weight, .weight_scales = scales},
                                              {.quant_min = range.min, .quant_max = range.max});
    return call ? "accepted" : to_text(call.error());
  };
  const auto q8 = [&](const TensorDesc& s) {
    const auto call = linear_q8csw_call({.input = x, .weight = eight, .weight_scales = s});
    return call ? "accepted" : to_text(call.error());
  };
  struct Row {
    std::string said, expected;
  };
  const Row kRows[] = {
      {q4(x, weight, scales, rows), "accepted"},
      {q4({DType::i8, {3, 64}}, weight, scales, {}), "input is i8, and can be f32, f16"},
      {q4({DType::f32, {3, 60}}, weight, scales, {}),
       "weight has shape [8, 64]\n  hint: it is [N, K], and K of input is 60"},
      {q4({DType::f32, {}}, weight, scales, {}), "input has shape []\n  hint: it is [..., K]"},
      {q4({DType::f32, {3, 64}, Storage::texture3d, Layout::width_packed}, weight, scales, {}),
       "input is width_packed in a texture3d, and can be strided"},
      {q4(x, weight, {DType::f32, {8, 3}}, {}),
       "weight_scales has shape [8, 3], and the weight has [8, 64]\n"
       "  hint: scales must be [8], or [8, G] with a G that divides 64"},
      {q8({DType::f32, {8, 2}}),
       "weight_scales has shape [8, 2], and the weight has [8, 64]\n"
       "  hint: scales must be [8]"},
      {q4(x, weight, {DType::f16, {8}}, {}), "weight_scales is f16, and can be f32"},
      {q4(x, weight, scales, TensorDesc{DType::f32, {7}}),
       "bias has shape [7]\n  hint: it is [N], and N of weight is 8"},
      {q4(x, eight, scales, {}),
       "the weight [8, 64] cannot be packed as weight_q4_rows\n"
       "  hint: its integers must be from -8 to 7, and the form fit max_form_bytes"},
      {dq({5, 4}), "quant_min 5 is above quant_max 4"},
      {dq({0, 255}), "quant_max is 255, and can be -128 to 127"},
  };
  for (const Row& row : kRows) EXPECT_TEXT(row.said, row.expected);

  Context on_device = context();
  Request request = request_of("linear_q4gsw", {{3}, 8, 64, 32}, 15);
  request.attributes["group_size"] = int64_t{16};
  const OperatorEntry& entry = *find_operator("linear_q4gsw");
  const auto prepared = prepare(on_device, entry, *complete(entry, request));
  ASSERT_FALSE(prepared);
  EXPECT_TEXT(to_text(prepared.error()),
              "group_size is 16, but weight_scales [8, 2] divide each row of the weight [8, 64] into 2 groups\n"
              "  hint: group_size times the number of scales of a row must be K");
}

// The typed functions: the same kernels, without a request.
TEST_F(WeightLinearTest, TypedFunctions) {
  Context on_device = context();
  Executor& executor = on_device.executor;
  const Request request = request_of("linear_q4gsw", {{3}, 8, 64, 32}, 16);
  auto weight = Weight::create(request.inputs.at("weight"), {});
  ASSERT_TRUE(weight) << to_text(weight.error());
  const auto upload = [&](std::string_view input) {
    return *executor.upload(request.inputs.find(input)->second, Storage::buffer);
  };
  const DeviceTensor x = upload("input"), scales = upload("weight_scales"), bias = upload("bias");
  const auto expect = [&](std::string_view op, const Expected<DeviceTensor>& made) {
    ASSERT_TRUE(made) << to_text(made.error());
    const auto completed = complete(*find_operator(op), request);
    ASSERT_TRUE(completed) << to_text(completed.error());
    const auto expected = measure::expectation_by_reference(*find_operator(op), *completed);
    const auto got = executor.download(*made);
    ASSERT_TRUE(got) << to_text(got.error());
    EXPECT_EQ(measure::compare(*got, *expected, "output").fault, "");
  };
  expect("linear_q4gsw",
         linear_q4gsw(on_device, {.input = x, .weight = *weight, .weight_scales = scales, .bias = &bias}));
  expect("linear_dq8ca_q4gsw",
         linear_dq8ca_q4gsw(on_device, {.input = x, .weight = *weight, .weight_scales = scales, .bias = &bias}));
}

}  // namespace
}  // namespace qgen
