// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Wrong uses of Calls, arguments and typed functions. Each gives an error in a sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "q8ta_clone.h"
#include "q8ta_linear.h"
#include "q8ta_unary.h"
#include "quantize_affine.h"
#include "registry.h"
#include "runtime/engine/operators/affine/dequantize_to.h"
#include "tests/support/device_test.h"
#include "tests/support/expected_text.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using namespace generated::operators;
using testing::tensor_of;

class MisuseTest : public testing::DeviceTest {
 protected:
  KernelLibrary library = *KernelLibrary::open(generated::library());
  Executor executor = *Executor::create(device(), library, {});
  Context context{.profile = device().profile(), .library = library, .executor = executor};

  DeviceTensor bytes(const Shape& shape, Layout layout = Layout::strided) {
    return *executor.upload(tensor_of(DType::i8, shape, {1, -2, 3}), Storage::buffer, layout);
  }
  DeviceTensor reals(const Shape& shape) {
    return *executor.upload(tensor_of(DType::f32, shape, {0.5}), Storage::buffer);
  }
  static Call relu_of(const Shape& shape) {
    return *q8ta_relu_call({.input = TensorDesc{DType::i8, shape}}, {.input_scale = 1, .output_scale = 1});
  }
  Choice best(const Call& call) {
    return select(call.problem, context.profile, library, {.best_only = true}).ranked.front();
  }
  template <typename T>
  static std::string said(const Expected<T>& outcome) {
    return outcome ? "accepted" : outcome.error().message;
  }
  std::string run_says(const Call& call, const ArgumentList& arguments) { return said(run(context, call, arguments)); }
  using Clone = generated::q8ta_clone::Operands<Argument>;
  using Relu = generated::q8ta_unary::Operands<Argument>;
  using Quantize = generated::quantize_affine::Operands<Argument>;
  using Linear = generated::q8ta_linear::Operands<Argument>;
};

// A call of [1000] ran on inputs of [10], and wrote past an output of [4].
TEST_F(MisuseTest, ArgumentsAreWhatTheCallWasMadeFor) {
  const Call call = relu_of({1000});
  const DeviceTensor whole = bytes({1000}), few = bytes({10}), four = bytes({4}), floats = reals({1000});
  const DeviceTensor packed = bytes({1000}, Layout::packed_4c), folded = bytes({10, 100});
  EXPECT_TEXT(run_says(call, Relu{.input = &few, .output = Argument()}),
              "input is i8 [10] buffer strided, and the call was made for i8 [1000] buffer strided");
  EXPECT_TEXT(run_says(call, Relu{.input = &whole, .output = &four}),
              "output is i8 [4] buffer strided, and the call was made for i8 [1000] buffer strided");
  EXPECT_TEXT(run_says(call, Relu{.input = &folded, .output = Argument()}),
              "input is i8 [10, 100] buffer strided, and the call was made for i8 [1000] buffer strided");
  EXPECT_TEXT(run_says(call, Relu{.input = &packed, .output = Argument()}),
              "input is i8 [1000] buffer packed_4c, and the call was made for i8 [1000] buffer strided");
  EXPECT_TEXT(run_says(call, Relu{.input = &floats, .output = Argument()}),
              "input is f32 [1000] buffer strided, and the call was made for i8 [1000] buffer strided");
  EXPECT_EQ(run_says(call, Relu{.input = &whole, .output = Argument()}), "accepted");
  const DeviceTensor output = bytes({1000});
  EXPECT_EQ(run_says(call, Relu{.input = &whole, .output = &output}), "accepted");
}

TEST_F(MisuseTest, CountsAndNullsOfArgumentsAreLookedAt) {
  const Call call = relu_of({8});
  const DeviceTensor input = bytes({8});
  const DeviceTensor* const nothing = nullptr;
  Weight* const no_weight = nullptr;
  EXPECT_TEXT(run_says(call, {}), "'q8ta_unary' was given 0 arguments, and has 2 operands");
  EXPECT_TEXT(run_says(call, ArgumentList({&input})), "'q8ta_unary' was given 1 arguments, and has 2 operands");
  EXPECT_TEXT(run_says(call, ArgumentList({&input, {}, {}})), "'q8ta_unary' was given 3 arguments, and has 2 operands");
  EXPECT_TEXT(run_says(call, Relu{.input = nothing, .output = Argument()}),
              "input is null, and the call was made with it");
  EXPECT_TEXT(run_says(call, Relu{.input = no_weight, .output = Argument()}),
              "input is null, and the call was made with it");
  EXPECT_TEXT(run_says(call, Relu{.input = Argument(), .output = Argument()}), "input is read, but no tensor is given");
  EXPECT_TEXT(run_says(Call{}, {}), "the call is incomplete");
  EXPECT_TEXT(select(Problem{}, context.profile, library).rejected.front().reason, "the problem names no operator");

  const TensorDesc real{DType::f32, {8}}, scalar{DType::f32, {}};
  const Call without = *quantize_affine_call({.input = real, .scale = scalar});
  const DeviceTensor x = reals({8}), scale = reals({}), zero = *executor.upload(zeros(DType::i32, {}), Storage::buffer);
  EXPECT_TEXT(run_says(without, Quantize{.input = &x, .scale = &scale, .zero_point = &zero, .output = Argument()}),
              "zero_point is given, and the call was made without it");
  EXPECT_EQ(said(qgen::bind(context, without, best(without),
                            Quantize{.input = &x, .scale = &scale, .zero_point = nothing, .output = Argument()})),
            "accepted");
}

TEST_F(MisuseTest, AWeightIsNoOther) {
  Weight weight = *Weight::create(tensor_of(DType::i8, {4, 64}, {1}), {});
  Weight other = *Weight::create(tensor_of(DType::i8, {4, 32}, {1}), {});
  const Call call = *q8ta_linear_call({.input = TensorDesc{DType::i8, {2, 64}},
                                       .weight = desc_of(weight),
                                       .weight_scales = TensorDesc{DType::f32, {4}}},
                                      {.input_scale = 1, .output_scale = 1});
  const DeviceTensor input = bytes({2, 64}), scales = reals({4});
  const DeviceTensor* const sums = *weight.sums(executor);
  const auto with = [&](Weight& given) {
    return Linear{
        .input = &input, .weight = &given, .weight_sums = sums, .weight_scales = &scales, .output = Argument()};
  };
  EXPECT_EQ(run_says(call, with(weight)), "accepted");
  EXPECT_THAT(run_says(call, with(other)), ::testing::HasSubstr("weight is i8 [4, 32] "));
}

// A choice that was made for one call, with the tensors of another.
TEST_F(MisuseTest, ChoicesAreOfTheirCalls) {
  const Call large = relu_of({1000}), small = relu_of({10});
  const Choice choice = best(large);
  const DeviceTensor input = bytes({10});
  const auto bound = qgen::bind(context, small, choice, Relu{.input = &input, .output = Argument()});
  ASSERT_TRUE(bound) << to_text(bound.error());
  const Work work{&choice, bound->operands};
  EXPECT_THAT(said(executor.record({&work, 1})),
              ::testing::HasSubstr("is i8 [10] buffer strided, and the choice was made for i8 [1000] buffer strided"));
}

// A tensor's own description has its shape: for a program that fills a Problem itself.
TEST_F(MisuseTest, DescriptionsCarryShapes) {
  const DeviceTensor a = bytes({12}), b = bytes({12}), c = bytes({11});
  Call call = relu_of({12});
  call.problem.operands = {a.desc(), b.desc()};
  const Choice choice = best(call);
  const Work good{&choice, {&a, &b}}, bad{&choice, {&a, &c}};
  EXPECT_EQ(said(executor.record({&good, 1})), "accepted");
  EXPECT_THAT(said(executor.record({&bad, 1})), ::testing::HasSubstr("operand 'output' of"));
}

// Except kernels that may write in place, and then only for the whole operand.
TEST_F(MisuseTest, WhatIsWrittenIsNoInput) {
  const TensorDesc twelve{DType::i8, {12}};
  const Call clone = *q8ta_clone_call({.input = twelve});
  const DeviceTensor a = bytes({12});
  EXPECT_THAT(run_says(clone, Clone{.input = &a, .output = &a}),
              ::testing::HasSubstr("operand 'input' and operand 'output' of 'q8ta_clone."));
  EXPECT_EQ(run_says(relu_of({12}), Relu{.input = &a, .output = &a}), "accepted");
}

// Tensors are references there; a wrong operand is refused before anything runs.
TEST_F(MisuseTest, TypedFunctionsRefuse) {
  const DeviceTensor scale = reals({}), input = bytes({4}), real = reals({4});
  Weight weight = *Weight::create(tensor_of(DType::i8, {4, 64}, {1}), {});
  EXPECT_TEXT(said(quantize_affine(context, {.input = input, .scale = scale})), "input is i8, and can be f32, f16");
  EXPECT_TEXT(said(quantize_affine(context, {.input = real, .scale = scale}, {.output_dtype = DType::f32})),
              "output_dtype is 'f32', and must be one of i8, u8, i16, i32");
  EXPECT_TEXT(said(q8ta_relu(context, {.input = input}, {.input_scale = 0, .output_scale = 1})),
              "input_scale is 0, and can be 2^-125 to 2^119");
  EXPECT_TEXT(said(q8ta_relu(context, {.input = input}, {.input_scale = 1e300, .output_scale = 1})),
              "input_scale is 1e+300, and must be a number within the range of f32, up to 3.4e38");
  EXPECT_TEXT(said(q8ta_add(context, {.input = input, .other = input},
                            {.input_scale = 1, .other_scale = 1, .output_scale = 1, .activation = Activation{9}})),
              "activation is '?', and must be one of none, relu, relu6, hardswish");
  EXPECT_TEXT(said(q8ta_linear(context, {.input = input, .weight = weight, .weight_scales = scale},
                               {.input_scale = 1, .output_scale = 1})),
              "weight has shape [4, 64]");
  EXPECT_TEXT(
      said(q8ta_clone(context, {.input = input}, {.output = Representation{Storage::texture3d, Layout::width_packed}})),
      "output is width_packed in a texture3d, and can be strided, packed_4w, packed_4c, packed_4w4c, packed_4h4w, "
      "packed_4c1w");
}

}  // namespace
}  // namespace qgen
