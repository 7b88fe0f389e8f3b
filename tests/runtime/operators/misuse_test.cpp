// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What a program may get wrong with Calls, arguments and typed functions. Each mistake is a sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "registry.h"
#include "runtime/operators/affine.h"
#include "runtime/operators/bmm.h"
#include "runtime/operators/elementwise.h"
#include "runtime/operators/linear.h"
#include "runtime/operators/packed.h"
#include "tests/support/device_test.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using ::testing::HasSubstr;
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
    return *q8ta_unary_call({DType::i8, shape, Storage::buffer, Layout::strided}, relu, {});
  }
  Choice best(const Call& call) {
    return select(call.problem, context.profile, library, {.best_only = true}).ranked.front();
  }
  template <typename T>
  static std::string said(const Expected<T>& outcome) {
    return outcome ? "accepted" : outcome.error().message;
  }
  std::string run_says(const Call& call, const std::vector<Argument>& arguments) {
    return said(run(context, call, arguments));
  }
};

// A call of [1000] ran on inputs of [10], and wrote past an output of [4].
TEST_F(MisuseTest, I8_ArgumentsAreWhatTheCallWasMadeFor) {
  const Call call = relu_of({1000});
  const DeviceTensor whole = bytes({1000}), few = bytes({10}), four = bytes({4}), floats = reals({1000});
  const DeviceTensor packed = bytes({1000}, Layout::packed_4c), folded = bytes({10, 100});
  EXPECT_EQ(run_says(call, {&few, {}}),
            "input is i8 [10] buffer strided, and the call was made for i8 [1000] buffer strided");
  EXPECT_EQ(run_says(call, {&whole, &four}),
            "output is i8 [4] buffer strided, and the call was made for i8 [1000] buffer strided");
  EXPECT_THAT(run_says(call, {&folded, {}}), HasSubstr("input is i8 [10, 100] "));
  EXPECT_THAT(run_says(call, {&packed, {}}), HasSubstr("input is i8 [1000] buffer packed_4c, "));
  EXPECT_THAT(run_says(call, {&floats, {}}), HasSubstr("input is f32 [1000] "));
  EXPECT_EQ(run_says(call, {&whole, {}}), "accepted");
  const DeviceTensor output = bytes({1000});
  EXPECT_EQ(run_says(call, {&whole, &output}), "accepted");
}

TEST_F(MisuseTest, I8_CountsAndNullsOfArgumentsAreLookedAt) {
  const Call call = relu_of({8});
  const DeviceTensor input = bytes({8}), output = bytes({8});
  const DeviceTensor* const nothing = nullptr;
  Weight* const no_weight = nullptr;
  EXPECT_EQ(run_says(call, {}), "'q8ta_unary' was given 0 arguments, and has 2 operands");
  EXPECT_EQ(run_says(call, {&input}), "'q8ta_unary' was given 1 arguments, and has 2 operands");
  EXPECT_EQ(run_says(call, {&input, {}, {}}), "'q8ta_unary' was given 3 arguments, and has 2 operands");
  EXPECT_EQ(run_says(call, {nothing, {}}), "input is null, and the call was made with it");
  EXPECT_EQ(run_says(call, {no_weight, {}}), "input is null, and the call was made with it");
  EXPECT_EQ(run_says(call, {{}, {}}), "input is read, and no tensor is given");
  EXPECT_EQ(run_says(Call{}, {}), "the call is not whole");
  EXPECT_EQ(said(run_for_one(context, call, {&input, &output})), "'q8ta_unary' made 0 tensors, and one is wanted");
  EXPECT_EQ(select(Problem{}, context.profile, library).rejected.front().reason, "the problem names no operator");

  const TensorDesc real{DType::f32, {8}}, scalar{DType::f32, {}};
  const Call without = *quantize_affine_call(view(real), scalar, {}, {});
  const DeviceTensor x = reals({8}), scale = reals({}), zero = *executor.upload(zeros(DType::i32, {}), Storage::buffer);
  EXPECT_EQ(run_says(without, {&x, &scale, &zero, {}}), "zero_point is given, and the call was made without it");
  EXPECT_EQ(said(bind(context, without, best(without), {&x, &scale, nothing, {}})), "accepted");
}

TEST_F(MisuseTest, I8_AWeightIsNoOther) {
  Weight weight = *Weight::create(tensor_of(DType::i8, {4, 64}, {1}), {});
  Weight other = *Weight::create(tensor_of(DType::i8, {4, 32}, {1}), {});
  const Call call = *q8ta_linear_call({DType::i8, {2, 64}}, desc_of(weight), {DType::f32, {4}}, {}, {});
  const DeviceTensor input = bytes({2, 64}), scales = reals({4});
  const DeviceTensor* const sums = *weight.sums(executor);
  EXPECT_EQ(run_says(call, {&input, &weight, sums, &scales, {}, {}}), "accepted");
  EXPECT_THAT(run_says(call, {&input, &other, sums, &scales, {}, {}}), HasSubstr("weight is i8 [4, 32] "));
}

// A choice that was made for one call, with the tensors of another.
TEST_F(MisuseTest, I8_ChoicesAreOfTheirCalls) {
  const Call large = relu_of({1000}), small = relu_of({10});
  const Choice choice = best(large);
  const DeviceTensor input = bytes({10});
  const auto bound = bind(context, small, choice, {&input, {}});
  ASSERT_TRUE(bound) << to_text(bound.error());
  const Work work{&choice, bound->operands};
  EXPECT_THAT(said(executor.record({&work, 1})),
              HasSubstr("is i8 [10] buffer strided, and the choice was made for i8 [1000] buffer strided"));
}

// A tensor's own description carries its shape: what a program writes that fills a Problem itself.
TEST_F(MisuseTest, I8_DescriptionsCarryShapes) {
  const DeviceTensor a = bytes({12}), b = bytes({12}), c = bytes({11});
  Call call = relu_of({12});
  call.problem.operands = {a.desc(), b.desc()};
  const Choice choice = best(call);
  const Work good{&choice, {&a, &b}}, bad{&choice, {&a, &c}};
  EXPECT_EQ(said(executor.record({&good, 1})), "accepted");
  EXPECT_THAT(said(executor.record({&bad, 1})), HasSubstr("operand 'output' of"));
}

TEST_F(MisuseTest, I8_WhatIsWrittenIsNoInput) {
  const Call call = relu_of({12});
  const DeviceTensor a = bytes({12});
  EXPECT_THAT(run_says(call, {&a, &a}), HasSubstr("operand 'input' and operand 'output' of 'q8ta_unary."));
}

TEST_F(MisuseTest, I8_NullOperandsOfTypedFunctions) {
  const DeviceTensor scale = reals({}), input = bytes({4});
  const FusedOperand none{}, some{&input, &scale, nullptr};
  EXPECT_EQ(said(quantize_affine(context, {nullptr, {}}, scale, nullptr, {})), "input is null");
  EXPECT_EQ(said(choose_qparams_affine(context, {nullptr, {}}, {})), "input is null");
  EXPECT_EQ(said(dequantize_affine_to(context, input, scale, nullptr, {}, {nullptr, {}})), "output is null");
  EXPECT_EQ(said(q8ta_quantize(context, {nullptr, {}}, {}, Layout::strided)), "input is null");
  EXPECT_EQ(said(q8ta_unary(context, input, nullptr, {})), "the function of q8ta_unary is null");
  EXPECT_EQ(said(fused_relu(context, none, {})), "input is null");
  EXPECT_EQ(said(fused_hardswish(context, none, {})), "input is null");
  EXPECT_EQ(said(requantize(context, none, {})), "input is null");
  EXPECT_EQ(said(fused_add(context, some, none, {}, 1)), "other is null");
  EXPECT_EQ(said(fused_mul(context, none, some, {})), "input is null");
  EXPECT_EQ(said(bmm(context, some, none, {})), "other is null");
  EXPECT_EQ(said(fused_bmm(context, none, some, {})), "input is null");
}

}  // namespace
}  // namespace qgen
