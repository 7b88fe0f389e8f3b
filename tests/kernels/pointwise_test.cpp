// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Chains of element-wise steps on every kernel, within the bounds of docs/pointwise.md: each step alone, chains,
// broadcast operands and special values.

#include "operators.h"
#include "runtime/engine/operators/pointwise/chain.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/expected_text.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using chains::Formula;
using chains::Step;
using testing::Random;
using testing::tensor_of;
using List = std::vector<int64_t>;

void set_chain(Request& request, const Formula& formula) {
  const auto chain = chains::encoded(formula);
  ASSERT_TRUE(chain);
  request.attributes["steps"] = chain->steps;
  request.attributes["constants"] = chain->constants;
}

Formula one_step(Step step) {
  Formula formula;
  uint32_t sources[3] = {};
  for (size_t i = 0; i < chains::source_count(step); ++i) sources[i] = formula.input(static_cast<int64_t>(i));
  formula.step(step, sources[0], sources[1], sources[2]);
  return formula;
}

class PointwiseTest : public testing::KernelTest {
 protected:
  void expect_step(Step step, std::vector<HostTensor> inputs) {
    SCOPED_TRACE(generated::words::kPointwiseStep[static_cast<size_t>(step)]);
    Request request;
    for (size_t i = 0; i < inputs.size(); ++i) request.inputs[fmt::format("input_{}", i + 1)] = std::move(inputs[i]);
    set_chain(request, one_step(step));
    expect_reference("pointwise", request, kEverythingAsAsked);
  }
};

constexpr Step kOfReals[] = {Step::add,
                             Step::subtract,
                             Step::multiply,
                             Step::divide,
                             Step::minimum,
                             Step::maximum,
                             Step::less,
                             Step::less_or_equal,
                             Step::equal,
                             Step::logical_and,
                             Step::logical_or,
                             Step::logical_xor,
                             Step::logical_not,
                             Step::choose,
                             Step::negate,
                             Step::absolute,
                             Step::sign_of,
                             Step::floor,
                             Step::ceil,
                             Step::round,
                             Step::truncate,
                             Step::is_nan,
                             Step::is_infinite,
                             Step::square_root,
                             Step::exponential,
                             Step::exponential_less_1,
                             Step::logarithm,
                             Step::logarithm_plus_1,
                             Step::sigmoid,
                             Step::tanh,
                             Step::error_function,
                             Step::power,
                             Step::sine,
                             Step::cosine,
                             Step::arc_tangent,
                             Step::remainder,
                             Step::modulo};

TEST_F(PointwiseTest, EveryStepOfReals) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const Step step : kOfReals) {
      for (const double range : {0.9, 6.0, 300.0}) {
        std::vector<HostTensor> inputs;
        for (size_t i = 0; i < chains::source_count(step); ++i)
          inputs.push_back(Random(static_cast<unsigned>(i + 1)).reals(dtype, {257}, -range, range));
        expect_step(step, std::move(inputs));
      }
    }
  }
}

// Every pair of them; and NaN, which comparisons have to see.
TEST_F(PointwiseTest, SpecialValues) {
  const double values[] = {0, -0.0, 1,    -1,   0.5, -0.5, 1.5,       -2.5,       2,
                           3, -3,   1e-3, 88.5, -88, 3e38, kInfinity, -kInfinity, kNan};
  constexpr int64_t kSide = std::size(values);
  HostTensor a = zeros(DType::f32, {kSide * kSide}), b = a;
  for (int64_t i = 0; i < kSide * kSide; ++i) {
    set_element(a, i, values[i / kSide]);
    set_element(b, i, values[i % kSide]);
  }
  for (const Step step : kOfReals) {
    if (chains::source_count(step) == 3) continue;
    std::vector<HostTensor> inputs{a};
    if (chains::source_count(step) == 2) inputs.push_back(b);
    expect_step(step, std::move(inputs));
  }
}

TEST_F(PointwiseTest, EveryStepOfIntegers) {
  constexpr Step kSteps[] = {Step::add,        Step::subtract,    Step::multiply,      Step::divide,  Step::minimum,
                             Step::maximum,    Step::less,        Step::less_or_equal, Step::equal,   Step::logical_and,
                             Step::logical_or, Step::logical_xor, Step::logical_not,   Step::choose,  Step::negate,
                             Step::absolute,   Step::sign_of,     Step::remainder,     Step::modulo,  Step::power,
                             Step::bit_and,    Step::bit_or,      Step::bit_xor,       Step::bit_not, Step::shift_left,
                             Step::shift_right};
  for (const DType dtype : {DType::i32, DType::i8, DType::u8}) {
    for (const Step step : kSteps) {
      for (const int64_t least : {0, 1}) {
        std::vector<HostTensor> inputs;
        const int64_t low = dtype == DType::u8 ? 0 : -100;
        for (size_t i = 0; i < chains::source_count(step); ++i) {
          const bool is_second = i == 1 && least == 1;  // divisors that are not zero
          HostTensor tensor = zeros(dtype, {101});
          Random random(static_cast<unsigned>(i + 1));
          for (int64_t k = 0; k < 101; ++k)
            set_element(tensor, k, static_cast<double>(random.integer(is_second ? 1 : low, is_second ? 9 : 100)));
          inputs.push_back(std::move(tensor));
        }
        expect_step(step, std::move(inputs));
      }
    }
  }
}

TEST_F(PointwiseTest, FromEveryDtypeToEveryOther) {
  constexpr DType kDtypes[] = {DType::f32, DType::f16, DType::i32, DType::i8, DType::u8};
  for (const DType from : kDtypes) {
    for (const DType to : kDtypes) {
      Request request;
      request.inputs["input_1"] = zeros(from, {13});
      for (int64_t i = 0; i < 13; ++i) set_element(request.inputs["input_1"], i, static_cast<double>(8 * i));
      request.attributes["steps"] = List{static_cast<int64_t>(Step::minimum), 1, 1, 255};
      request.attributes["output_dtype"] = std::string(name(to));
      expect_reference("pointwise", request, kEverythingAsAsked);
    }
  }
}

// Operands that are repeated along any of the dimensions, and a mask.
TEST_F(PointwiseTest, BroadcastsAlongEveryDimension) {
  const Shape shapes[] = {{}, {1}, {5}, {3, 1}, {1, 5}, {2, 1, 1}, {2, 1, 5}, {2, 3, 5}, {1, 2, 3, 5}};
  Formula formula;
  const auto sum = formula.step(Step::add, formula.input(0), formula.input(1));
  const auto product = formula.step(Step::multiply, sum, formula.input(2));
  formula.step(Step::choose, formula.input(chains::kMaskInput), product, sum);
  for (const Shape& a : shapes) {
    for (const Shape& b : shapes) {
      SCOPED_TRACE(to_text(a) + to_text(b));
      Request request;
      request.inputs["input_1"] = Random(1).reals(DType::f32, a, -3, 3);
      request.inputs["input_2"] = Random(2).reals(DType::f32, b, -3, 3);
      request.inputs["input_3"] = Random(3).reals(DType::f32, {3, 1}, -3, 3);
      request.inputs["mask"] = zeros(DType::u8, {3, 5});
      for (int64_t i = 0; i < 15; i += 2) set_element(request.inputs["mask"], i, 1);
      set_chain(request, formula);
      expect_reference("pointwise", request, kEverythingAsAsked);
    }
  }
}

// Six inputs, eight values that are kept, and functions of every group.
TEST_F(PointwiseTest, LongChains) {
  Formula formula;
  std::vector<uint32_t> terms;
  for (int64_t i = 0; i < 6; ++i) terms.push_back(formula.step(Step::tanh, formula.input(i)));
  auto sum = formula.step(Step::error_function, terms[0]);
  for (size_t i = 1; i < 6; ++i)
    sum = formula.step(Step::add, sum, formula.step(Step::multiply, terms[i], formula.real(0.5)));
  sum = formula.step(Step::logarithm_plus_1, formula.step(Step::absolute, sum));
  formula.step(Step::divide, sum, formula.step(Step::add, terms[5], formula.real(2)));
  Request request;
  for (int64_t i = 0; i < 6; ++i)
    request.inputs[fmt::format("input_{}", i + 1)] =
        Random(static_cast<unsigned>(i + 1)).reals(DType::f32, {2, 37}, -2, 2);
  set_chain(request, formula);
  expect_reference("pointwise", request, kEverythingAsAsked);
}

TEST_F(PointwiseTest, EmptyTensors) {
  Request request{.inputs = {{"input_1", zeros(DType::f32, {0, 3})}}};
  request.attributes["steps"] = List{static_cast<int64_t>(Step::negate), 1, 255, 255};
  expect_reference("pointwise", request, kEverythingAsAsked);
}

TEST(PointwiseCalls, SayWhatTheyCannotDo) {
  using namespace generated::operators;
  const auto said = [](List steps, std::vector<int64_t> constants = {}) {
    const TensorDesc x{DType::f32, {2, 5}};
    const auto call = pointwise_call({.input_1 = x}, {.steps = std::move(steps), .constants = std::move(constants)});
    return call ? "accepted" : to_text(call.error());
  };
  EXPECT_TEXT(said({0, 1, 1}), "steps has 3 numbers, and must have four for each of 1 to 64 steps");
  EXPECT_TEXT(said({99, 1, 1, 255}), "step 0 is 99, and steps are 0 to 43\n  hint: docs/pointwise.md lists them");
  EXPECT_TEXT(said({0, 1, 2, 255}),
              "step 0 reads source 2: this operand is not given\n  hint: docs/pointwise.md lists sources");
  EXPECT_TEXT(said({0, 0, 1, 255}),
              "step 0 reads source 0: no step is before it\n  hint: docs/pointwise.md lists sources");
  EXPECT_TEXT(said({0, 1, 8, 255}),
              "step 0 reads source 8: no step before it keeps this value\n  hint: docs/pointwise.md lists sources");
  EXPECT_TEXT(said({0, 1, 16, 255}),
              "step 0 reads source 16: there is no such source\n  hint: docs/pointwise.md lists sources");
  EXPECT_TEXT(said({38, 1, 1, 255}), "step 0 is bit_and, which is for integer elements");
  EXPECT_TEXT(said({14, 1, 8, 255}), "the last step keeps a value, and must compute the result");
}

// Rows whose halves are whole vectors, and others: an odd half, one element, none.
TEST_F(PointwiseTest, SiluMul) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const Shape& shape : {Shape{2}, Shape{3, 10}, Shape{5, 16}, Shape{2, 3, 66}, Shape{7, 2}, Shape{3, 0},
                               Shape{0, 8}, Shape{1, 2062}, Shape{3, 28}}) {
      SCOPED_TRACE(fmt::format("{} {}", name(dtype), to_text(shape)));
      expect_reference("silu_mul", {.inputs = {{"input", Random(1).reals(dtype, shape, -12, 12)}}}, kEverythingAsAsked);
    }
  }
}

TEST_F(PointwiseTest, SiluMulOfSpecialValues) {
  const HostTensor input = tensor_of(
      DType::f32, {2, 16},
      {kInfinity, -kInfinity, kNan, 1,    -0.0, -87.5, -1000, 88,   -88, 200,        1e-40, 3e38, 5, -5, 2, 1,
       1,         1,          1,    kNan, 1,    1,     1,     3e38, 1,   -kInfinity, 1,     1,    0, 7,  1, kInfinity});
  expect_reference("silu_mul", {.inputs = {{"input", input}}}, kEverythingAsAsked);
}

TEST(SiluMulCalls, SayWhatTheyCannotMultiply) {
  const auto call = generated::operators::silu_mul_call({.input = TensorDesc{DType::f32, {2, 5}}});
  ASSERT_FALSE(call);
  EXPECT_TEXT(to_text(call.error()), "input is [2, 5], and its last side must be even");
}

TEST(Chains, AreTheirFormulas) {
  Formula formula;  // (x + 1) * sigmoid(x + 1), where x + 1 is kept
  const auto shifted = formula.step(Step::add, formula.input(0), formula.real(1));
  formula.step(Step::multiply, shifted, formula.step(Step::sigmoid, shifted));
  const auto chain = chains::encoded(formula);
  ASSERT_TRUE(chain);
  const auto step = [](Step it) { return static_cast<int64_t>(it); };
  EXPECT_EQ(chain->steps, (List{step(Step::add), 1, 16, 255, step(Step::keep), 0, 8, 255, step(Step::sigmoid), 0, 255,
                                255, step(Step::multiply), 8, 0, 255}));
  EXPECT_EQ(chain->constants, List{0x3f800000});
  const auto again = chains::encoded(chains::decoded(chain->steps, chain->constants));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->steps, chain->steps);
}

}  // namespace
}  // namespace qgen
