// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// pack_weight and quantize_q4gsw on every kernel: the bytes that the host packs, padding too, and the golden blocks of
// an independent implementation.
#include <algorithm>
#include <cstring>

#include "operators.h"
#include "runtime/engine/tensor/weight_form.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/expected_text.h"
#include "tests/support/tensors.h"
#include "vocabulary/layouts.h"

namespace qgen {
namespace {

using namespace generated::operators;
using testing::Random;

class WeightPackingTest : public testing::KernelTest {
 protected:
  std::vector<std::byte> packed_on_device(const HostTensor& source, Layout form) {
    Context on_device = context();
    const auto uploaded = on_device.executor.upload(source, Storage::buffer);
    EXPECT_TRUE(uploaded) << to_text(uploaded.error());
    const auto packed = pack_weight(on_device, {.source = *uploaded}, {.form = form});
    EXPECT_TRUE(packed) << to_text(packed.error());
    return *on_device.executor.download_stored(*packed);
  }
};

HostTensor weight_of(const WeightForm& form, const Shape& shape) {
  return form.bits == 4 ? Random(1).integers(DType::i8, shape, -8, 7) : Random(1).integers(DType::i8, shape, -128, 127);
}

TEST_F(WeightPackingTest, GivesTheBytesOfTheHost) {
  const Shape kShapes[] = {{1, 1}, {1, 64}, {4, 4},    {5, 3},        {8, 16},      {9, 17},      {13, 130},   {70, 33},
                           {0, 5}, {3, 0},  {9, 3, 5}, {6, 18, 2, 3}, {8, 1, 3, 3}, {5, 4, 7, 7}, {3, 0, 2, 2}};
  for (const WeightForm& form : weight_forms()) {
    for (const Shape& shape : kShapes) {
      SCOPED_TRACE(fmt::format("{} as {}", to_text(shape), name(form.layout)));
      const HostTensor source = weight_of(form, shape);
      EXPECT_EQ(packed_on_device(source, form.layout), *pack_weight(form, source));
      expect_reference("pack_weight",
                       {.inputs = {{"source", source}}, .attributes = {{"form", std::string(name(form.layout))}}});
    }
  }
}

// Nobody has checked the values on the device: values outside four bits become the nearest ones inside.
TEST_F(WeightPackingTest, ClampsToFourBits) {
  Request request{.inputs = {{"source", testing::tensor_of(DType::i8, {2, 3}, {-128, -9, -8, 7, 8, 127})}}};
  request.attributes["form"] = std::string("weight_q4_rows");
  expect_reference("pack_weight", request);
}

// N = 12, K = 8; int8 ((7n + 11k) mod 255) - 127, and of four bits ((3n + 5k) mod 16) - 8.
TEST_F(WeightPackingTest, GivesTheGoldenBlocks) {
  struct Golden {
    Layout form;
    size_t block;  // the n-th of 16 bytes
    uint32_t words[4];
  };
  const Golden kGolden[] = {
      {Layout::weight_q8_4k4n, 0, {0xa2978c81, 0xa99e9388, 0xb0a59a8f, 0xb7aca196}},
      {Layout::weight_q8_4k4n, 1 * 3 + 2, {0x06fbf0e5, 0x0d02f7ec, 0x1409fef3, 0x1b1005fa}},
      {Layout::weight_q4_rows, 0, {0x3fea9540, 0x88888888, 0x88888888, 0x88888888}},
      {Layout::weight_q4_rows, 11, {0x40fba651, 0x88888888, 0x88888888, 0x88888888}},
  };
  HostTensor eight = zeros(DType::i8, {12, 8}), four = eight;
  for (int64_t n = 0; n < 12; ++n) {
    for (int64_t k = 0; k < 8; ++k) {
      eight.as<int8_t>()[n * 8 + k] = static_cast<int8_t>((7 * n + 11 * k) % 255 - 127);
      four.as<int8_t>()[n * 8 + k] = static_cast<int8_t>((3 * n + 5 * k) % 16 - 8);
    }
  }
  for (const Golden& golden : kGolden) {
    const auto bytes = packed_on_device(find_weight_form(golden.form)->bits == 8 ? eight : four, golden.form);
    ASSERT_GE(bytes.size(), 16 * (golden.block + 1));
    uint32_t words[4];
    std::memcpy(words, bytes.data() + 16 * golden.block, sizeof words);
    EXPECT_TRUE(std::ranges::equal(words, golden.words)) << name(golden.form) << " block " << golden.block;
  }
}

// Packed on the device or loaded from a file: the kernels find the host's bytes.
TEST_F(WeightPackingTest, MakesFormsThatWeightsKeep) {
  Context on_device = context();
  Executor& executor = on_device.executor;
  const HostTensor source = Random(2).integers(DType::i8, {12, 40}, -128, 127);
  const HostTensor x = Random(3).integers(DType::i8, {3, 40}, -128, 127);
  const auto input = executor.upload(x, Storage::buffer);
  const auto scales = executor.upload(Random(4).reals(DType::f32, {12}, 0.01, 0.02), Storage::buffer);
  ASSERT_TRUE(input && scales);
  const auto outputs = [&](Weight& weight) {
    const auto y = q8ta_linear(on_device, {.input = *input, .weight = weight, .weight_scales = *scales},
                               {.input_scale = 0.02, .output_scale = 2});
    EXPECT_TRUE(y) << to_text(y.error());
    return executor.download(*y)->data;
  };
  auto made = Weight::create(source, {});
  ASSERT_TRUE(made);
  const auto expected = outputs(*made);

  const auto on_its_own = executor.upload(source, Storage::buffer);
  for (const Layout form : {Layout::weight_q8_4k4n, Layout::weight_q8_rows, Layout::weight_q8_lines}) {
    auto kept = Weight::create(source, {});
    auto packed = pack_weight(on_device, {.source = *on_its_own}, {.form = form});
    ASSERT_TRUE(kept && packed);
    const Done keeps = kept->keep(*std::move(packed));
    ASSERT_TRUE(keeps) << to_text(keeps.error());
    EXPECT_EQ(kept->form_bytes(), static_cast<uint64_t>(packed_bytes(*find_weight_form(form), source.shape)));
    EXPECT_EQ(outputs(*kept), expected) << name(form);

    const auto saved = made->packed(executor, form);
    ASSERT_TRUE(saved) << to_text(saved.error());
    auto loaded = Weight::create(*read_packed_weight(write_packed_weight(*saved)), {});
    ASSERT_TRUE(loaded) << to_text(loaded.error());
    EXPECT_EQ(outputs(*loaded), expected) << name(form);
    EXPECT_EQ(*executor.download_stored(**loaded->form(executor, form)), saved->bytes) << name(form);
  }
}

TEST_F(WeightPackingTest, Refusals) {
  const auto said = [](const TensorDesc& source, Layout form) {
    const auto call = pack_weight_call({.source = source}, {.form = form});
    return call ? "accepted" : to_text(call.error());
  };
  EXPECT_EQ(said({DType::i8, {4, 5}}, Layout::weight_q8_rows), "accepted");
  EXPECT_TEXT(said({DType::f32, {4, 5}}, Layout::weight_q8_rows), "source is f32, and can be i8");
  EXPECT_TEXT(said({DType::i8, {4, 5}, Storage::buffer, Layout::packed_4w}, Layout::weight_q8_rows),
              "source is packed_4w in a buffer, and can be strided");
  EXPECT_TEXT(said({DType::i8, {4, 5}}, Layout::packed_4w),
              "form is 'packed_4w', and must be one of weight_q8_4k4n, weight_q8_rows, weight_q8_lines, weight_q8_4n, "
              "weight_q4_rows");
  EXPECT_TEXT(said({DType::i8, {80000, 80000}}, Layout::weight_q8_rows),
              "source of shape [80000, 80000] takes 6400000000 elements as strided, and kernels count at most "
              "4294967295\n"
              "  hint: split the tensor");
  EXPECT_TEXT(
      said({DType::i8, {1, 2'000'000'000}}, Layout::weight_q8_4k4n),
      "output with its padding of shape [4, 2000000000] takes 8000000000 elements as strided, and kernels count at "
      "most 4294967295\n"
      "  hint: split the tensor");
}

// ---- quantize_q4gsw -------------------------------------------------------------------------------------------------

constexpr std::string_view kQuantize = "quantize_q4gsw";

Request quantize_request(const Shape& shape, int64_t group_size) {
  const Shape scales = group_size == 0 ? Shape{shape[0]} : Shape{shape[0], shape[1] / group_size};
  Random random(5);
  return {.inputs = {{"input", random.reals(DType::f32, shape, -3, 3)},
                     {"weight_scales", random.reals(DType::f32, scales, 0.1, 0.5)}}};
}

TEST_F(WeightPackingTest, QuantizesToTheBytesOfTheHost) {
  struct Row {
    Shape shape;
    int64_t group_size;  // 0: a scale a row
  };
  const Row kRows[] = {{{1, 1}, 0},   {{12, 8}, 8},  {{9, 64}, 32}, {{5, 40}, 8}, {{13, 96}, 12}, {{70, 33}, 11},
                       {{3, 130}, 0}, {{8, 136}, 0}, {{7, 34}, 17}, {{0, 8}, 0},  {{3, 0}, 0},    {{17, 16}, 1}};
  Context on_device = context();
  constexpr Layout kForm = Layout::weight_q4_rows;
  for (const Row& row : kRows) {
    SCOPED_TRACE(fmt::format("{} in groups of {}", to_text(row.shape), row.group_size));
    const Request request = quantize_request(row.shape, row.group_size);
    expect_reference(kQuantize, request);
    const auto input = on_device.executor.upload(request.inputs.at("input"), Storage::buffer);
    const auto scales = on_device.executor.upload(request.inputs.at("weight_scales"), Storage::buffer);
    auto quantized = quantize_q4gsw(on_device, {.input = *input, .weight_scales = *scales}, {.form = kForm});
    ASSERT_TRUE(quantized) << to_text(quantized.error());
    const auto codes = reference::find(kQuantize)(*complete(*find_operator(kQuantize), request)).at("output");
    auto weight = Weight::create(*std::move(quantized), {});
    ASSERT_TRUE(weight) << to_text(weight.error());
    const auto packed = on_device.executor.download_stored(**weight->form(on_device.executor, kForm));
    EXPECT_EQ(*packed, *pack_weight(*find_weight_form(kForm), codes));
  }
}

// Ties go to the even integer, values outside four bits to their ends, NaN to 0; and so do values divided by a scale of
// zero.
TEST_F(WeightPackingTest, QuantizesCorners) {
  const double inf = kInfinity, nan = kNan;
  const std::vector<double> reals = {0.25, 0.75, -0.25, -0.75, 3.5, 3.75, -4.25, 100,
                                     -100, inf,  -inf,  nan,   0,   -0.0, 1e-40, 6e-8};
  const std::vector<double> scales = {0.5, -0.5, 0, -0.0, 1e-40, 1e-38, 1e38, inf, nan, 0.3};
  Request request = quantize_request({10, 16}, 0);
  request.inputs["input"] = testing::tensor_of(DType::f32, {10, 16}, reals);
  request.inputs["weight_scales"] = testing::tensor_of(DType::f32, {10}, scales);
  expect_reference(kQuantize, request);
  const auto codes = reference::find(kQuantize)(*complete(*find_operator(kQuantize), request)).at("output");
  const auto row = codes.as<int8_t>();
  EXPECT_EQ((std::vector<int>(row.begin(), row.begin() + 12)),
            (std::vector<int>{0, 2, 0, -2, 7, 7, -8, 7, -8, 7, -8, 0}));
  EXPECT_TRUE(std::ranges::all_of(row.subspan(32, 48), [](int8_t q) { return q == 0; }));
  request.attributes["quant_min"] = int64_t{-7};
  request.attributes["quant_max"] = int64_t{5};
  expect_reference(kQuantize, request);
}

// A layer reads the device's form, and other forms of such a weight are made from it.
TEST_F(WeightPackingTest, QuantizedWeightsServeLayers) {
  Context on_device = context();
  Executor& executor = on_device.executor;
  const Request request = quantize_request({12, 64}, 16);
  const HostTensor codes = reference::find(kQuantize)(*complete(*find_operator(kQuantize), request)).at("output");
  const auto input = executor.upload(request.inputs.at("input"), Storage::buffer);
  const auto scales = executor.upload(request.inputs.at("weight_scales"), Storage::buffer);
  const auto x = executor.upload(Random(6).reals(DType::f32, {3, 64}, -1, 1), Storage::buffer);
  auto on_host = Weight::create(codes, {});
  auto quantized = quantize_q4gsw(on_device, {.input = *input, .weight_scales = *scales});
  ASSERT_TRUE(quantized) << to_text(quantized.error());
  auto weight = Weight::create(*std::move(quantized), {});
  ASSERT_TRUE(weight && on_host);
  EXPECT_TRUE(weight->fits_four_bits());
  const auto y = linear_q4gsw(on_device, {.input = *x, .weight = *weight, .weight_scales = *scales});
  const auto expected = linear_q4gsw(on_device, {.input = *x, .weight = *on_host, .weight_scales = *scales});
  ASSERT_TRUE(y && expected) << to_text(y.error());
  EXPECT_EQ(executor.download(*y)->data, executor.download(*expected)->data);
  const auto dynamic = linear_dq8ca_q4gsw(on_device, {.input = *x, .weight = *weight, .weight_scales = *scales});
  ASSERT_TRUE(dynamic) << to_text(dynamic.error());
  EXPECT_EQ(weight->packed(executor, Layout::weight_q8_4k4n)->bytes,
            *pack_weight(*find_weight_form(Layout::weight_q8_4k4n), codes));
}

TEST_F(WeightPackingTest, QuantizeRefusals) {
  const TensorDesc input{DType::f32, {4, 64}}, scales{DType::f32, {4, 2}};
  const auto said = [&](const TensorDesc& x, const TensorDesc& s, const QuantizeQ4gswAttributes& attributes) {
    const auto call = quantize_q4gsw_call({.input = x, .weight_scales = s}, attributes);
    return call ? "accepted" : to_text(call.error());
  };
  EXPECT_EQ(said(input, scales, {}), "accepted");
  EXPECT_TEXT(said({DType::i8, {4, 64}}, scales, {}), "input is i8, and can be f32, f16");
  EXPECT_TEXT(said({DType::f32, {64}}, scales, {}), "input has shape [64]\n  hint: it is [N, K]");
  EXPECT_TEXT(said(input, {DType::f32, {2, 4}}, {}),
              "weight_scales has shape [2, 4]\n  hint: it is [N] or [N, G], and N of input is 4");
  EXPECT_TEXT(said(input, {DType::f32, {4, 3}}, {}),
              "weight_scales has shape [4, 3], and the weight has [4, 64]\n"
              "  hint: scales must be [4], or [4, G] with a G that divides 64");
  EXPECT_TEXT(said(input, scales, {.form = Layout::weight_q8_rows}),
              "form is 'weight_q8_rows', and must be one of weight_q4_rows");
  EXPECT_TEXT(said(input, scales, {.quant_min = -8, .quant_max = 8}), "quant_max is 8, and can be -8 to 7");
  EXPECT_EQ(said(input, scales, {.quant_min = 5, .quant_max = 4}), "quant_min 5 is above quant_max 4");
}

}  // namespace
}  // namespace qgen
