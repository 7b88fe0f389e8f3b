// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Nodes of constants: their results, and refusals.
#include "runtime/models/onnx/evaluate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/runtime/models/onnx/model_builder.h"
#include "tests/support/expected_text.h"

namespace qgen::onnx::testing {
namespace {

TensorPtr of(ElementType type, const Shape& shape, const std::vector<int64_t>& values) {
  ModelBuilder m;
  return m.model.graph.initializers.at(m.integers(type, shape, values));
}
TensorPtr longs(const Shape& shape, const std::vector<int64_t>& values) { return of(ElementType::i64, shape, values); }
TensorPtr reals(const Shape& shape, const std::vector<float>& values) {
  return std::make_shared<const Tensor>(tensor_of<float>(ElementType::f32, shape, values));
}

// "float32 [2] 1, 2", "bool [] 1".
std::string text_of(const Tensor& tensor) {
  std::vector<std::string> values;
  for (int64_t i = 0; i < tensor.size(); ++i)
    values.push_back(is_real(tensor.type) ? fmt::format("{:.6g}", tensor.real(i))
                                          : fmt::format("{}", tensor.integer(i)));
  return fmt::format("{} {} {}", name(tensor.type), to_text(tensor.shape), fmt::join(values, ", "));
}

std::string evaluated(const std::string& op, const std::vector<TensorPtr>& inputs,
                      std::map<std::string, AttributeData, std::less<>> attributes = {}) {
  const Node node{.name = "n", .op = op, .attributes = std::move(attributes)};
  const auto result = evaluate(node, inputs, 13, 1000);
  if (!result) return result.error().message;
  return *result ? text_of(**result) : "not evaluated";
}

TEST(Evaluate, ElementByElement) {
  EXPECT_EQ(evaluated("Add", {reals({2}, {1, 2}), reals({2, 1}, {10, 20})}), "float32 [2, 2] 11, 12, 21, 22");
  EXPECT_EQ(evaluated("Div", {longs({3}, {7, -7, 6}), longs({}, {2})}), "int64 [3] 3, -3, 3");
  EXPECT_EQ(evaluated("Div", {longs({1}, {7}), longs({1}, {0})}), "it divides an integer by 0");
  EXPECT_EQ(evaluated("Mod", {longs({2}, {-7, 7}), longs({}, {3})}), "int64 [2] 2, 1");
  EXPECT_EQ(evaluated("Pow", {reals({2}, {3, 4}), longs({}, {2})}), "float32 [2] 9, 16");
  EXPECT_EQ(evaluated("Sqrt", {reals({2}, {4, 2})}), "float32 [2] 2, 1.41421");
  EXPECT_EQ(evaluated("Not", {of(ElementType::boolean, {2}, {0, 1})}), "bool [2] 1, 0");
  EXPECT_EQ(evaluated("Equal", {longs({}, {16000}), longs({}, {16000})}), "bool [] 1");
  EXPECT_EQ(evaluated("GreaterOrEqual", {reals({2}, {1, 3}), reals({}, {2})}), "bool [2] 0, 1");
  EXPECT_EQ(evaluated("Max", {longs({2}, {1, 5}), longs({2}, {3, 3}), longs({}, {4})}), "int64 [2] 4, 5");
  EXPECT_EQ(evaluated("Relu", {reals({2}, {-1, 2})}), "float32 [2] 0, 2");
  EXPECT_EQ(evaluated("Where", {of(ElementType::boolean, {2}, {1, 0}), longs({2}, {1, 2}), longs({}, {9})}),
            "int64 [2] 1, 9");
  EXPECT_EQ(evaluated("Add", {reals({2}, {1, 2}), reals({3}, {1, 2, 3})}), "shapes [2] and [3] cannot be broadcast");
  EXPECT_EQ(evaluated("Add", {reals({2}, {1, 2}), longs({2}, {1, 2})}), "not evaluated");
}

// Integers lose the part after the point, and keep their bits.
TEST(Evaluate, Casts) {
  const auto to = [](int64_t type) { return std::map<std::string, AttributeData, std::less<>>{{"to", type}}; };
  EXPECT_EQ(evaluated("Cast", {reals({3}, {1.9f, -1.9f, 300})}, to(7)), "int64 [3] 1, -1, 300");
  EXPECT_EQ(evaluated("Cast", {longs({2}, {300, -1})}, to(2)), "uint8 [2] 44, 255");
  EXPECT_EQ(evaluated("Cast", {longs({2}, {300, 0})}, to(9)), "bool [2] 1, 0");
  EXPECT_EQ(evaluated("Cast", {reals({1}, {65519})}, to(10)), "float16 [1] 65504");
  EXPECT_EQ(evaluated("Cast", {longs({1}, {3})}, to(11)), "float64 [1] 3");
  EXPECT_EQ(evaluated("Cast", {longs({1}, {3})}, to(8)), "not evaluated");
}

TEST(Evaluate, OfShapesAndNumbers) {
  EXPECT_EQ(evaluated("ConstantOfShape", {longs({2}, {1, 2})}), "float32 [1, 2] 0, 0");
  EXPECT_EQ(evaluated("ConstantOfShape", {longs({1}, {2})}, {{"value", longs({1}, {7})}}), "int64 [2] 7, 7");
  EXPECT_TEXT(evaluated("ConstantOfShape", {longs({2}, {100, 100})}),
              "a constant of shape [100, 100] is more than the model's size allows");
  EXPECT_EQ(evaluated("Range", {longs({}, {1}), longs({}, {8}), longs({}, {3})}), "int64 [3] 1, 4, 7");
  EXPECT_EQ(evaluated("Range", {reals({}, {1}), reals({}, {0}), reals({}, {-0.5})}), "float32 [2] 1, 0.5");
  EXPECT_EQ(evaluated("Range", {longs({}, {1}), longs({}, {8}), longs({}, {0})}), "its delta is 0");
  EXPECT_THAT(evaluated("Range", {longs({}, {0}), longs({}, {int64_t{1} << 40}), longs({}, {1})}),
              ::testing::StartsWith("it has 1099511627776 elements, and a constant can have "));
  EXPECT_EQ(evaluated("Size", {reals({2, 3}, {1, 2, 3, 4, 5, 6})}), "int64 [] 6");
}

TEST(Evaluate, Moves) {
  const TensorPtr x = longs({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(evaluated("Gather", {x, longs({2}, {2, -3})}, {{"axis", int64_t{1}}}), "int64 [2, 2] 3, 1, 6, 4");
  EXPECT_EQ(evaluated("Gather", {x, longs({}, {1})}), "int64 [3] 4, 5, 6");
  EXPECT_EQ(evaluated("Gather", {x, longs({}, {2})}), "one of its indices is 2, in a dimension of 2");
  EXPECT_EQ(evaluated("Slice", {x, longs({1}, {-1}), longs({1}, {-10}), longs({1}, {1}), longs({1}, {-2})}),
            "int64 [2, 2] 3, 1, 6, 4");
  EXPECT_EQ(evaluated("Concat", {x, longs({2, 1}, {7, 8})}, {{"axis", int64_t{-1}}}),
            "int64 [2, 4] 1, 2, 3, 7, 4, 5, 6, 8");
  EXPECT_EQ(evaluated("Expand", {longs({2, 1}, {1, 2}), longs({2}, {1, 2})}), "int64 [2, 2] 1, 1, 2, 2");
  EXPECT_EQ(evaluated("Tile", {longs({2}, {1, 2}), longs({1}, {2})}), "int64 [4] 1, 2, 1, 2");
}

TEST(Evaluate, Reductions) {
  const TensorPtr x = reals({2, 3}, {1, 2, 3, 4, 5, 9});
  EXPECT_EQ(evaluated("ReduceSum", {x}, {{"axes", std::vector<int64_t>{1}}}), "float32 [2, 1] 6, 18");
  EXPECT_EQ(evaluated("ReduceMean", {x, longs({1}, {-1})}, {{"keepdims", int64_t{0}}}), "float32 [2] 2, 6");
  EXPECT_EQ(evaluated("ReduceMax", {x}, {{"axes", std::vector<int64_t>{0}}}), "float32 [1, 3] 4, 5, 9");
  EXPECT_EQ(evaluated("ReduceProd", {longs({2}, {3, 4})}, {{"keepdims", int64_t{0}}}), "int64 [] 12");
  const std::map<std::string, AttributeData, std::less<>> of_each{{"noop_with_empty_axes", int64_t{1}}};
  EXPECT_EQ(evaluated("ReduceL1", {reals({2}, {-1, 2})}, of_each), "float32 [2] 1, 2");
  EXPECT_EQ(evaluated("ReduceSum", {longs({2}, {-1, 2})}, of_each), "int64 [2] -1, 2");
  EXPECT_EQ(evaluated("ReduceSum", {x, longs({1}, {5})}), "it names axis 5, and its input has rank 2");
}

TEST(Evaluate, TrianglesSumsAndScatters) {
  const auto matrix = longs({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(evaluated("Trilu", {matrix}), "int64 [2, 3] 1, 2, 3, 0, 5, 6");
  EXPECT_EQ(evaluated("Trilu", {matrix, longs({}, {1})}), "int64 [2, 3] 0, 2, 3, 0, 0, 6");
  EXPECT_EQ(evaluated("Trilu", {matrix, longs({}, {-1})}, {{"upper", int64_t{0}}}), "int64 [2, 3] 0, 0, 0, 4, 0, 0");
  EXPECT_EQ(evaluated("Trilu", {longs({2}, {1, 2})}), "its input is [2]");
  EXPECT_EQ(evaluated("CumSum", {matrix, longs({}, {1})}), "int64 [2, 3] 1, 3, 6, 4, 9, 15");
  EXPECT_EQ(evaluated("CumSum", {matrix, longs({}, {0})}), "int64 [2, 3] 1, 2, 3, 5, 7, 9");
  EXPECT_EQ(evaluated("CumSum", {matrix, longs({}, {-1})}, {{"reverse", int64_t{1}}, {"exclusive", int64_t{1}}}),
            "int64 [2, 3] 5, 3, 0, 11, 6, 0");
  EXPECT_EQ(evaluated("CumSum", {reals({2}, {0.5f, 2}), longs({}, {0})}), "float32 [2] 0.5, 2.5");
  EXPECT_EQ(evaluated("ScatterND", {matrix, longs({1, 1}, {-1}), longs({1, 3}, {7, 8, 9})}),
            "int64 [2, 3] 1, 2, 3, 7, 8, 9");
  EXPECT_EQ(evaluated("ScatterND", {matrix, longs({2, 2}, {0, 1, 1, 2}), longs({2}, {7, 8})}),
            "int64 [2, 3] 1, 7, 3, 4, 5, 8");
  EXPECT_EQ(evaluated("ScatterND", {matrix, longs({1, 1}, {2}), longs({1, 3}, {7, 8, 9})}),
            "one of its indices is 2, in a dimension of 2");
  EXPECT_EQ(evaluated("ScatterND", {matrix, longs({1, 1}, {0}), longs({3}, {7, 8, 9})}),
            "its updates are [3], and must be [1, 3]");
  EXPECT_EQ(evaluated("GatherND", {matrix, longs({2, 1, 2}, {0, 1, -1, -1})}), "int64 [2, 1] 2, 6");
  EXPECT_EQ(evaluated("GatherND", {matrix, longs({2, 1}, {1, 0})}), "int64 [2, 3] 4, 5, 6, 1, 2, 3");
  EXPECT_EQ(evaluated("GatherND", {matrix, longs({0, 2}, {})}), "int64 [0] ");
  EXPECT_EQ(evaluated("GatherND", {matrix, longs({1, 2}, {0, 3})}), "one of its indices is 3, in a dimension of 3");
  EXPECT_EQ(evaluated("GatherND", {matrix, longs({1, 3}, {0, 0, 0})}), "its indices have too many coordinates");
  EXPECT_EQ(evaluated("GatherND", {matrix, longs({}, {0})}), "its indices have too many coordinates");
  EXPECT_EQ(evaluated("GatherElements", {matrix, longs({2, 2}, {2, 0, -1, 1})}, {{"axis", int64_t{1}}}),
            "int64 [2, 2] 3, 1, 6, 5");
  EXPECT_EQ(evaluated("GatherElements", {matrix, longs({1, 2}, {1, 0})}), "int64 [1, 2] 4, 2");
  EXPECT_EQ(evaluated("GatherElements", {matrix, longs({1, 1}, {2})}), "index 2 is outside of 2 elements");
  EXPECT_EQ(evaluated("GatherElements", {matrix, longs({1, 4}, {0, 0, 0, 0})}),
            "it has more indices than data along an axis");
  EXPECT_EQ(evaluated("GatherElements", {matrix, longs({2}, {0, 0})}), "its indices are not of its data's rank");
  // No elements, and more rows than anyone can visit.
  EXPECT_EQ(evaluated("GatherND", {longs({0}, {}), longs({1LL << 40, 0}, {})}), "not evaluated");
  EXPECT_EQ(evaluated("Tile", {longs({1, 0}, {}), longs({2}, {1LL << 40, 1})}),
            "a constant of shape [1099511627776, 0] is more than the model's size allows");
  EXPECT_EQ(evaluated("IsNaN", {reals({2}, {1, NAN})}), "bool [2] 0, 1");
}

TEST(Evaluate, ClipsOfIntegers) {
  const TensorPtr x = longs({4}, {-9, 0, 3, 1LL << 40});
  EXPECT_EQ(evaluated("Clip", {x, longs({}, {-2}), longs({}, {3})}), "int64 [4] -2, 0, 3, 3");
  EXPECT_EQ(evaluated("Clip", {x, longs({}, {1})}), "int64 [4] 1, 1, 3, 1099511627776");
  EXPECT_EQ(evaluated("Clip", {x, longs({}, {5}), longs({}, {2})}), "int64 [4] 2, 2, 2, 2");  // the upper bound wins
}

// Exporters standardize weights by the mean and the variance of each channel.
TEST(Evaluate, NormalizationsOfConstants) {
  const TensorPtr x = reals({1, 2, 2}, {1, 3, 5, 7}), ones = reals({2}, {1, 2}), zeros = reals({2}, {0, 10});
  const std::vector<TensorPtr> inputs = {x, ones, zeros, reals({2}, {1, 5}), reals({2}, {4, 1})};
  EXPECT_EQ(evaluated("BatchNormalization", inputs, {{"training_mode", int64_t{1}}, {"epsilon", 0.0f}}),
            "float32 [1, 2, 2] -1, 1, 8, 12");
  EXPECT_EQ(evaluated("BatchNormalization", inputs, {{"epsilon", 0.0f}}), "float32 [1, 2, 2] 0, 1, 10, 14");
}

}  // namespace
}  // namespace qgen::onnx::testing
