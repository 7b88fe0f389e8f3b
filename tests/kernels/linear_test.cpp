// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Linear layers, each on every kernel, against docs/linear.md's reference.
#include <algorithm>

#include "operators.h"
#include "q8ta_linear.h"
#include "runtime/engine/operators/linear/int8_epilogue.h"
#include "runtime/engine/selector/select.h"
#include "runtime/workshop/measure/trial.h"
#include "tests/kernels/behind_the_result.h"
#include "tests/kernels/kernel_test.h"
#include "tests/kernels/packed_bytes.h"
#include "tests/support/expected_text.h"
#include "tests/support/smallest_normal.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using namespace generated::operators;
using testing::Random;
using testing::tensor_of;

// Weights and inputs of every value, and scales such that a few outputs in a hundred saturate.
Request q8ta_request(const Shape& input, int64_t n, bool has_bias = true, std::string activation = "none") {
  Random random(static_cast<uint32_t>(element_count(input) + n));
  const int64_t k = input.back();
  Request request;
  request.inputs["input"] = random.integers(DType::i8, input, -128, 127);
  request.inputs["weight"] = random.integers(DType::i8, {n, k}, -128, 127);
  request.inputs["weight_scales"] = random.reals(DType::f32, {n}, 0.001, 0.004);
  if (has_bias) request.inputs["bias"] = random.reals(DType::f32, {n}, -4, 4);
  request.attributes["input_scale"] = 0.02;
  request.attributes["input_zero_point"] = int64_t{-7};
  request.attributes["output_scale"] = 0.004 * std::sqrt(static_cast<double>(std::max<int64_t>(k, 1)));
  request.attributes["output_zero_point"] = int64_t{5};
  request.attributes["activation"] = std::move(activation);
  return request;
}

// The same without the last rounding.
Request left_real(Request request) {
  for (const char* name : {"output_scale", "output_zero_point"}) request.attributes.erase(name);
  return request;
}

class LinearTest : public testing::KernelTest {
 protected:
  void expect_right(const Request& request, const measure::VerifyOptions& options) {
    SCOPED_TRACE("input " + to_text(request.inputs.at("input").shape) + ", weight " +
                 to_text(request.inputs.at("weight").shape));
    expect_reference("q8ta_linear", request, options);
    if (!request.inputs.contains("table") && !request.inputs.contains("residual"))
      expect_reference("q8ta_linear_dequantize", left_real(request), options);
  }
};

// ---- shapes ---------------------------------------------------------------------------------------------------------

struct ShapeCase {
  Shape input;
  int64_t n;
};

// clang-format off
const ShapeCase kShapes[] = {
    {{1, 16}, 4},      // the least that needs no padding anywhere
    {{1, 1}, 1},
    {{1, 4}, 1},       // N = 1, K = 4
    {{2, 3}, 5},
    {{3, 7}, 6},       // K % 4 != 0
    {{4, 17}, 13},
    {{5, 64}, 33},
    {{63, 20}, 9},
    {{64, 64}, 64},    // whole tiles
    {{65, 68}, 67},
    {{7, 130}, 130},   // more than a step of k
    {{9}, 5},          // a vector
    {{3, 2, 12}, 8},   // a batch
    {{2, 4, 256}, 256},   // rows of packed_4h4w in whole blocks; k and n are constants of the pipeline
    {{9, 768}, 256},
    {{2, 1, 2, 3, 18}, 10},  // 5-D
};
// clang-format on

TEST_F(LinearTest, GivesTheReferenceInEveryShapeAndLayout) {
  for (const ShapeCase& c : kShapes) expect_right(q8ta_request(c.input, c.n), kEveryVariant);
}

TEST_F(LinearTest, TakesEmptySides) {
  for (const ShapeCase& c : {ShapeCase{{0, 8}, 4}, {{3, 0}, 5}, {{3, 8}, 0}, {{2, 0, 8}, 4}}) {
    expect_right(q8ta_request(c.input, c.n), kEveryVariantAsAsked);
  }
}

TEST_F(LinearTest, GivesTheReferenceWithEverySpecialization) {
  expect_right(q8ta_request({3, 80}, 20), kEverythingAsAsked);
  expect_right(q8ta_request({37, 80}, 36), kEverythingAsAsked);
}

// A long k is cut into slices.
TEST_F(LinearTest, JoinsSlices) { expect_right(q8ta_request({6, 1300}, 7), kEveryVariant); }

// ---- behind the result ----------------------------------------------------------------------------------------------

TEST_F(LinearTest, LooksResultsUpAndAddsAResidual) {
  for (const ShapeCase& c : {ShapeCase{{5, 36}, 21}, {{2, 3, 20}, 8}, {{6, 1040}, 7}}) {
    Shape output = c.input;
    output.back() = c.n;
    Request looked_up = q8ta_request(c.input, c.n);
    testing::add_table(looked_up);
    expect_right(looked_up, kEveryVariantAsAsked);
    Request added = q8ta_request(c.input, c.n, true, "hardswish");
    testing::add_residual(added, output);
    expect_right(added, kEveryVariant);
    testing::add_residual(looked_up, output);
    expect_right(looked_up, kEveryVariantAsAsked);
  }
}

// Columns in sixteens and no table: matrices have a special path for them, also with sums that are no exact float.
TEST_F(LinearTest, AddsAResidualToSixteensOfColumns) {
  for (const ShapeCase& c : {ShapeCase{{5, 36}, 32}, {{2, 3, 20}, 16}, {{6, 1040}, 48}}) {
    Shape output = c.input;
    output.back() = c.n;
    Request request = q8ta_request(c.input, c.n, true, "relu");
    expect_right(request, kEveryVariant);
    testing::add_residual(request, output);
    expect_right(request, kEveryVariant);
  }
}

// ---- reals in and out ----------------------------------------------------------------------------------------------

Request real_request(const Shape& input, int64_t n, DType dtype, std::string activation = "none") {
  Request request = left_real(q8ta_request(input, n, true, std::move(activation)));
  Random random(static_cast<uint32_t>(element_count(input)));
  request.inputs["input"] = random.reals(dtype, input, -3, 3);
  return request;
}

TEST_F(LinearTest, QuantizesRealsOnTheWay) {
  for (const ShapeCase& c : {ShapeCase{{3, 7}, 6}, {{5, 1040}, 6}, {{2, 0, 8}, 4}, {{3, 0}, 5}}) {
    SCOPED_TRACE(to_text(c.input));
    expect_reference("linear_q8ta_q8csw", real_request(c.input, c.n, DType::f32, "relu"), kEveryVariantAsAsked);
  }
  expect_reference("linear_q8ta_q8csw", real_request({2, 1, 2, 3, 18}, 10, DType::f16, "hardswish"), {});
}

TEST_F(LinearTest, LeavesResultsOfIntegersReal) {
  for (const ShapeCase& c : {ShapeCase{{3, 7}, 6}, {{5, 1040}, 6}, {{2, 3, 20}, 8}}) {
    Request request = left_real(q8ta_request(c.input, c.n, true, "hardswish"));
    request.attributes["output_dtype"] = std::string("f16");
    expect_reference("q8ta_linear_dequantize", request, kEveryVariant);
  }
}

// ---- numbers --------------------------------------------------------------------------------------------------------

TEST_F(LinearTest, AppliesEveryActivation) {
  for (const char* activation : {"none", "relu", "relu6", "hardswish"}) {
    expect_right(q8ta_request({5, 36}, 21, true, activation), kEveryVariantAsAsked);
  }
}

TEST_F(LinearTest, TakesZeroPointsAtBothEnds) {
  for (const int64_t input : {-128, 127}) {
    for (const int64_t output : {-128, 127}) {
      Request request = q8ta_request({5, 36}, 6);
      request.attributes["input_zero_point"] = input;
      request.attributes["output_zero_point"] = output;
      expect_right(request, kEveryVariantAsAsked);
    }
  }
}

TEST_F(LinearTest, Saturates) {
  Request request = q8ta_request({5, 36}, 6);
  request.attributes["output_scale"] = 1e-37;
  expect_right(request, kEveryVariantAsAsked);
}

TEST_F(LinearTest, TakesAnyWeightScale) {
  Request request = q8ta_request({5, 36}, 8);
  request.inputs["weight_scales"] = tensor_of(DType::f32, {8}, {0, -0.01, 1e-38, 1e-44, 1e38, kInfinity, kNan, 0.01});
  request.inputs["bias"] = tensor_of(DType::f32, {8}, {1, 2, 3e-38, 1e-44, -kInfinity, kInfinity, 0, kNan});
  for (const char* activation : {"none", "relu", "relu6", "hardswish"}) {
    request.attributes["activation"] = activation;
    expect_right(request, kEveryVariantAsAsked);
  }
}

// At both ends outputs are no longer bounded and rounded in the short way; 3e-38 is still within it.
TEST_F(LinearTest, TakesAnyOutputScale) {
  Request request = q8ta_request({5, 36}, 8, true, "relu6");
  for (const double scale : {2e-38, 3e-38, 1e30, 3e38}) {
    request.attributes["output_scale"] = scale;
    expect_right(request, kEveryVariantAsAsked);
  }
}

// docs/affine.md: a product of 2^-126 counts as zero, and the product of the two scales may be one.
TEST_F(LinearTest, ScalesNextToTheSmallestNormal) {
  for (const double input_scale : testing::floats_below_one()) {
    const auto [x, y] = testing::factors_of_the_smallest_normal({input_scale});
    const int64_t n = std::ssize(y);
    Request request;
    request.inputs["input"] = tensor_of(DType::i8, {2, 4}, {25, 25, 25, 25, -1, 0, 0, 0});
    request.inputs["weight"] = tensor_of(DType::i8, {n, 4}, {1});
    request.inputs["weight_scales"] = tensor_of(DType::f32, {n}, y);
    request.attributes["input_scale"] = input_scale;
    request.attributes["activation"] = std::string("hardswish");
    Request real = request;
    real.inputs["input"] = tensor_of(DType::f32, {2, 4}, {100 * input_scale, 0, 0, 0, -input_scale, 0, 0, 0});
    expect_reference("linear_q8ta_q8csw", real, kEveryVariantAsAsked);
    request.attributes["output_scale"] = testing::kSmallestNormal;
    expect_right(request, kEveryVariantAsAsked);
    request.attributes["activation"] = std::string("none");
    expect_right(request, kEveryVariantAsAsked);
    real.attributes["activation"] = std::string("none");
    expect_reference("linear_q8ta_q8csw", real, kEveryVariantAsAsked);
  }
}

// Sums beyond an int: see docs/linear.md.
TEST_F(LinearTest, SumsExactlyUpToTheLongestK) {
  struct Extreme {
    double x, w;
    int64_t zero_point;
  };
  for (const Extreme& e :
       {Extreme{-128, -128, 0}, {-128, -128, 127}, {127, -128, -128}, {-128, -128, -128}, {127, 127, -128}}) {
    Request request;
    request.inputs["input"] = tensor_of(DType::i8, {2, kMaxLinearDepth}, {e.x});
    request.inputs["weight"] = tensor_of(DType::i8, {3, kMaxLinearDepth}, {e.w});
    // One element aside, the sum is no power of two.
    set_element(request.inputs["weight"], kMaxLinearDepth + 3, 1);
    request.inputs["weight_scales"] = tensor_of(DType::f32, {3}, {1.0 / 65536, 1.0 / 65536, 1});
    request.attributes["input_scale"] = 1.0 / 1024;
    request.attributes["input_zero_point"] = e.zero_point;
    request.attributes["output_scale"] = 1.0;
    expect_right(request, kEveryVariantAsAsked);
  }
}

// ---- defects, by their numbers in the register of the system that qgen replaces ------------------------------------

// All matrices of a batch except the first were ignored, and the last columns read past the weight if N had an odd
// number of fours.
TEST_F(LinearTest, A20_BatchesAndOddFours) {
  for (const ShapeCase& c : {ShapeCase{{3, 5, 12}, 12}, {{2, 1, 3, 20}, 4}, {{4, 2, 8}, 20}}) {
    expect_right(q8ta_request(c.input, c.n), kEveryVariant);
  }
}

// A weight too large for an image had no kernel. Here it is in a buffer, for any size.
TEST_F(LinearTest, A2_WeightsOfAnySides) {
  expect_right(q8ta_request({1, 8}, 16400), kEveryVariantAsAsked);
  expect_right(q8ta_request({1, 16400}, 3), kEveryVariantAsAsked);
}

// A kernel for one row was chosen before the rows were known. Here each call chooses, and shares the weight.
TEST_F(LinearTest, A3_RowsMayChangeFromCallToCall) {
  Context on_device = context();
  Executor& executor = on_device.executor;
  Request request = q8ta_request({1, 36}, 10);
  auto weight = Weight::create(request.inputs.at("weight"), {});
  const auto scales = executor.upload(request.inputs.at("weight_scales"), Storage::buffer);
  const auto bias = executor.upload(request.inputs.at("bias"), Storage::buffer);
  ASSERT_TRUE(weight && scales && bias);
  const Q8taLinearAttributes attributes{
      .input_scale = 0.02, .input_zero_point = -7, .output_scale = 0.024, .output_zero_point = 5};
  request.attributes["output_scale"] = 0.024;
  for (const int64_t rows : {1, 70, 3, 1}) {
    request.inputs["input"] = Random(static_cast<uint32_t>(rows)).integers(DType::i8, {rows, 36}, -128, 127);
    const auto x = executor.upload(request.inputs.at("input"), Storage::buffer);
    ASSERT_TRUE(x);
    const auto made =
        q8ta_linear(on_device, {.input = *x, .weight = *weight, .weight_scales = *scales, .bias = &*bias}, attributes);
    ASSERT_TRUE(made) << to_text(made.error());
    const auto expected = reference::find("q8ta_linear")(*complete(*find_operator("q8ta_linear"), request));
    EXPECT_EQ(executor.download(*made)->data, expected.at("output").data) << rows << " rows";
  }
}

// ---- refusals -------------------------------------------------------------------------------------------------------

TEST_F(LinearTest, Refusals) {
  const TensorDesc x{DType::i8, {3, 12}}, scales{DType::f32, {4}};
  const TensorDesc weight{DType::i8, {4, 12}, Storage::buffer, Layout::weight_q8_rows};
  const Q8taLinearAttributes ones{.input_scale = 1, .output_scale = 1};
  const auto said = [&](const TensorDesc& input, const TensorDesc& s, const std::optional<TensorDesc>& bias,
                        const Q8taLinearAttributes& attributes, const Q8taLinearRepresentations& representations = {}) {
    const auto call = q8ta_linear_call({.input = input, .weight = weight, .weight_scales = s, .bias = bias}, attributes,
                                       representations);
    return call ? "accepted" : to_text(call.error());
  };
  struct Row {
    std::string said, expected;
  };
  const Row kRows[] = {
      {said(x, scales, scales, ones), "accepted"},
      {said({DType::u8, {3, 12}}, scales, {}, ones), "input is u8, and can be i8"},
      {said({DType::i8, {3, 10}}, scales, {}, ones),
       "weight has shape [4, 12]\n  hint: it is [N, K], and K of input is 10"},
      {said(x, {DType::f32, {5}}, {}, ones), "weight_scales has shape [5]\n  hint: it is [N], and N of weight is 4"},
      {said(x, {DType::f16, {4}}, {}, ones), "weight_scales is f16, and can be f32"},
      {said(x, scales, TensorDesc{DType::f32, {3}}, ones),
       "bias has shape [3]\n  hint: it is [N], and N of weight is 4"},
      {said(x, scales, {}, {.input_scale = 0, .output_scale = 1}),
       "input_scale is 0, and can be a positive, finite and normal number"},
      {said(x, scales, {}, {.input_scale = 1, .output_scale = -1}),
       "output_scale is -1, and can be a positive, finite and normal number"},
      {said(x, scales, {}, {.input_scale = 1, .input_zero_point = 128, .output_scale = 1}),
       "input_zero_point is 128, and can be -128 to 127"},
      {said(x, scales, {}, {.input_scale = 1, .output_scale = 1, .output_zero_point = -129}),
       "output_zero_point is -129, and can be -128 to 127"},
      {said(x, scales, {}, ones, {.output = Representation{Storage::buffer, Layout::packed_4h4w}}),
       "output is packed_4h4w and input is strided: a linear layer does not change the layout\n"
       "  hint: q8ta_clone converts a tensor to another layout"},
  };
  for (const Row& row : kRows) EXPECT_TEXT(row.said, row.expected);
  const auto deep = q8ta_linear_call({.input = TensorDesc{DType::i8, {1, 140000}},
                                      .weight = TensorDesc{DType::i8, {4, 140000}},
                                      .weight_scales = scales},
                                     ones);
  EXPECT_TEXT(to_text(deep.error()),
              "K is 140000, and sums are exact up to 131072\n  hint: split K, and add the results");
  const auto deep_real = q8ta_linear_dequantize_call({.input = TensorDesc{DType::i8, {1, 140000}},
                                                      .weight = TensorDesc{DType::i8, {4, 140000}},
                                                      .weight_scales = scales},
                                                     {.input_scale = 1});
  EXPECT_EQ(to_text(deep_real.error()), to_text(deep.error()));
  const auto real = linear_q8ta_q8csw_call({.input = x, .weight = weight, .weight_scales = scales}, {.input_scale = 1});
  EXPECT_TEXT(to_text(real.error()), "input is i8, and can be f32, f16");
}

// Rows and columns of blocks that hold no output get its zero point, in each matrix of a batch.
TEST_F(LinearTest, WritesEveryByteOfItsLayout) {
  Context on_device = context();
  const OperatorEntry& entry = *find_operator("q8ta_linear");
  Request request = *complete(entry, q8ta_request({3, 5, 20}, 6));
  const HostTensor expected = reference::find("q8ta_linear")(request).at("output");
  for (const Layout layout : {Layout::packed_4w, Layout::packed_4h4w}) {
    request.representations["input"] = request.representations["output"] = {Storage::buffer, layout};
    const auto bytes = testing::packed_with(expected, info(layout).dims, std::byte{5});
    const auto prepared = prepare(on_device, entry, request);
    ASSERT_TRUE(prepared) << to_text(prepared.error());
    const Selection selection = select(prepared->call.problem, on_device.profile, on_device.library);
    EXPECT_FALSE(selection.ranked.empty());
    for (const Choice& choice : selection.ranked) {
      const auto trial = measure::run_trial(on_device, *prepared, choice);
      ASSERT_TRUE(trial) << to_text(trial.error());
      EXPECT_EQ(trial->written.at("output").bytes, bytes) << choice.id;
    }
  }
}

// A device of seven compute units cuts K of 8192 into 14 slices of 640. The last slice begins after the end.
TEST_F(LinearTest, ASliceAfterTheEndAddsNothing) {
  DeviceProfile profile = context().profile;
  profile.numbers.compute_units = 7;
  Context on_device{.profile = profile, .library = context().library, .executor = context().executor};
  const OperatorEntry& entry = *find_operator("q8ta_linear");
  const Request request = *complete(entry, q8ta_request({3, 8192}, 16));
  const HostTensor expected = reference::find("q8ta_linear")(request).at("output");
  const auto prepared = prepare(on_device, entry, request);
  ASSERT_TRUE(prepared) << to_text(prepared.error());
  size_t runs = 0;
  for (const Choice& choice : select(prepared->call.problem, profile, on_device.library).ranked) {
    if (choice.id.find("_split(") == std::string::npos) continue;
    const auto trial = measure::run_trial(on_device, *prepared, choice);
    ASSERT_TRUE(trial) << to_text(trial.error());
    const auto outputs = measure::elements_of(*trial);
    ASSERT_TRUE(outputs) << to_text(outputs.error());
    EXPECT_TRUE(std::ranges::equal(outputs->at("output").as<int8_t>(), expected.as<int8_t>())) << choice.id;
    ++runs;
  }
  EXPECT_GT(runs, 0u);
}

TEST_F(LinearTest, RefusesWhatDoesNotFitBehindTheResult) {
  const auto said = [&](const std::optional<TensorDesc>& table, const std::optional<TensorDesc>& residual,
                        const Q8taLinearAttributes& attributes) {
    const auto call = q8ta_linear_call({.input = TensorDesc{DType::i8, {3, 12}},
                                        .weight = TensorDesc{DType::i8, {4, 12}},
                                        .weight_scales = TensorDesc{DType::f32, {4}},
                                        .table = table,
                                        .residual = residual},
                                       attributes);
    return call ? "accepted" : to_text(call.error());
  };
  const Q8taLinearAttributes ones{.input_scale = 1, .output_scale = 1};
  Q8taLinearAttributes looked_up = ones, added = ones;
  looked_up.table_input_scale = 1;
  added.result_scale = added.residual_scale = 1;
  const TensorDesc table{DType::i8, {256}}, residual{DType::i8, {3, 4}};
  EXPECT_EQ(said(table, {}, looked_up), "accepted");
  EXPECT_EQ(said({}, residual, added), "accepted");
  EXPECT_TEXT(said(table, {}, ones), "table_input_scale is needed with a table");
  EXPECT_TEXT(said({}, {}, looked_up), "table_input_scale is given without a table");
  EXPECT_TEXT(said({}, residual, ones), "result_scale is needed with a residual");
  EXPECT_TEXT(said({}, {}, added), "result_scale is given without a residual");
  EXPECT_TEXT(said(TensorDesc{DType::i8, {255}}, {}, looked_up),
              "table has shape [255], and needs [256]: an element for each int8 value");
  EXPECT_TEXT(said({}, TensorDesc{DType::i8, {4, 3}}, added), "residual has shape [4, 3], and the output has [3, 4]");
  EXPECT_TEXT(said({}, TensorDesc{DType::i8, {3, 4}, Storage::buffer, Layout::packed_4w}, added),
              "residual is packed_4w and output is strided: they must have the same layout\n"
              "  hint: q8ta_clone converts a tensor to another layout");
  added.output_scale = 1e37;
  EXPECT_TEXT(said({}, residual, added), "output_scale is 1e+37, and can be 2^-125 to 2^119 with a residual");
}

// A layout that no recipe's kernel accepts is reported together with the accepted ones.
TEST_F(LinearTest, SaysWhichLayoutsThereAre) {
  const TensorDesc weight{DType::i8, {4, 12}, Storage::buffer, Layout::weight_q8_rows};
  const auto call_of = [&](Layout layout) {
    return q8ta_linear_call({.input = TensorDesc{DType::i8, {3, 12}, Storage::buffer, layout},
                             .weight = weight,
                             .weight_scales = TensorDesc{DType::f32, {4}}},
                            {.input_scale = 1, .output_scale = 1});
  };
  const auto refused = call_of(Layout::packed_4c);
  ASSERT_FALSE(refused);
  EXPECT_TEXT(to_text(refused.error()), "input is packed_4c in a buffer, and can be strided, packed_4w, packed_4h4w");

  // The selector reports the same for a Problem that somebody made without a check.
  auto call = call_of(Layout::strided);
  ASSERT_TRUE(call) << to_text(call.error());
  call->problem.operands[static_cast<size_t>(generated::q8ta_linear::Operand::input)].layout = Layout::packed_4c;
  const Context on_device = context();
  EXPECT_TEXT(
      select(call->problem, on_device.profile, on_device.library).hint,
      "no kernel accepts input as i8 buffer packed_4c; possible are i8 buffer packed_4h4w, i8 buffer packed_4w, i8 "
      "buffer");
}

}  // namespace
}  // namespace qgen
