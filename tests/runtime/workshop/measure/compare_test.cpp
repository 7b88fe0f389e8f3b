// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/measure/compare.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/expected_text.h"
#include "tests/support/tensors.h"

namespace qgen::measure {
namespace {

using testing::tensor_of;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct CompareCase {
  const char* name;
  DType dtype;
  std::vector<double> got, expected;
  Tolerance tolerance;
  double largest_error;
  const char* fault;
};
const CompareCase kCases[] = {
    {"equal", DType::f32, {1, 2}, {1, 2}, {}, 0, ""},
    {"exact_means_bits", DType::f32, {0.0}, {-0.0}, {}, 0, "element [0] is 0, expected -0 (allowed error 0)"},
    {"tolerance_means_values", DType::f32, {0.0}, {-0.0}, {.abs = 1e-9}, 0, ""},
    {"nan_is_nan", DType::f32, {kNan, -kNan}, {-kNan, kNan}, {}, 0, ""},
    {"nan_is_nan_within_a_tolerance", DType::f32, {kNan, -kNan}, {-kNan, kNan}, {.rel = 0.5}, 0, ""},
    {"nan_for_a_number",
     DType::f32,
     {1, kNan},
     {1, 2},
     {.abs = 100},
     kInf,
     "element [1] is nan, expected 2 (allowed error 100)"},
    {"number_for_nan",
     DType::f16,
     {5},
     {kNan},
     {.rel = 0.5},
     kInf,
     "element [0] is 5, expected nan (allowed error nan)"},
    {"infinities", DType::f32, {kInf, -kInf}, {kInf, -kInf}, {}, 0, ""},
    {"infinity_of_the_other_sign",
     DType::f32,
     {kInf},
     {-kInf},
     {.rel = 1},
     kInf,
     "element [0] is inf, expected -inf (allowed error inf)"},
    {"within_abs", DType::i8, {3, 5}, {4, 5}, {.abs = 1}, 1, ""},
    {"past_abs", DType::i8, {3, 5, 9}, {4, 7, 9}, {.abs = 1}, 2, "element [1] is 5, expected 7 (allowed error 1)"},
    {"within_rel", DType::f32, {101}, {100}, {.rel = 0.01}, 1, ""},
    {"past_rel", DType::f32, {102}, {100}, {.rel = 0.01}, 2, "element [0] is 102, expected 100 (allowed error 1)"},
    {"both_add_up", DType::f32, {103}, {100}, {.abs = 2, .rel = 0.01}, 3, ""},
};

class CompareTest : public ::testing::TestWithParam<CompareCase> {};

TEST_P(CompareTest, FindsTheLargestErrorAndTheFirstFault) {
  const auto& [name, dtype, got, expected, tolerance, largest_error, fault] = GetParam();
  const Shape shape = {std::ssize(got)};
  const Comparison comparison = compare(tensor_of(dtype, shape, got), tensor_of(dtype, shape, expected), tolerance);
  EXPECT_EQ(comparison.largest_error, largest_error);
  EXPECT_EQ(comparison.fault, fault);
}

INSTANTIATE_TEST_SUITE_P(Pairs, CompareTest, ::testing::ValuesIn(kCases),
                         [](const auto& row) { return row.param.name; });

TEST(Compare, ShapesAndDtypesMustAgree) {
  const HostTensor a = zeros(DType::i8, {2, 3});
  EXPECT_EQ(compare(a, zeros(DType::i8, {3, 2}), {.abs = 9}).fault, "is i8 [2, 3], expected i8 [3, 2]");
  EXPECT_EQ(compare(a, zeros(DType::u8, {2, 3}), {.abs = 9}).fault, "is i8 [2, 3], expected u8 [2, 3]");
}

TEST(Compare, NamesTheCoordinate) {
  HostTensor got = zeros(DType::i32, {2, 3});
  set_element(got, 5, 7);
  EXPECT_TEXT(compare(got, zeros(DType::i32, {2, 3}), {}).fault, "element [1, 2] is 7, expected 0 (allowed error 0)");
}

// For floating-point results, the exact value counts, not the reference's rounded one.
TEST(Compare, CountsFromTheExactValue) {
  constexpr double kHalf = 0x1p-11;
  const reference::Exact exact{{1 + kHalf, 100}, {0x1p-13, 2}};
  const HostTensor expected = tensor_of(DType::f16, {2}, {1, 100});
  const auto fault = [&](double first, double second, const Tolerance& tolerance) {
    return compare(tensor_of(DType::f16, {2}, {first, second}), expected, tolerance, &exact).fault;
  };
  EXPECT_EQ(fault(1, 102, {.rel = kHalf}), "");
  EXPECT_EQ(fault(1 + 2 * kHalf, 98, {.rel = kHalf}), "");  // the other neighbour of the exact value
  EXPECT_TEXT(fault(1, 102.125, {}), "element [1] is 102.125, expected 100 (allowed error 2)");
  EXPECT_EQ(fault(1, 102.125, {.abs = 0.125}), "");
  EXPECT_TEXT(fault(1 - kHalf, 100, {.rel = kHalf}),
              "element [0] is 0.99951171875, expected 1.00048828125 (allowed error 0.000611)");
}

TEST(Compare, AsksForInfinityWhereTheResultMustBeInfinite) {
  const reference::Exact exact{{70000}, {1e6}};
  const HostTensor infinite = tensor_of(DType::f16, {1}, {kInf});
  EXPECT_EQ(compare(infinite, infinite, {}, &exact).fault, "");
  EXPECT_EQ(compare(tensor_of(DType::f16, {1}, {65504}), infinite, {}, &exact).largest_error, kInf);
}

}  // namespace
}  // namespace qgen::measure
