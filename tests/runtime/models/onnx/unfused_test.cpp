// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Compares fused with unfused imports, both computed with the references: the same bits wherever rounding is defined.
// docs/onnx_numbers.md says where it is not.
#include <fmt/format.h>

#include "tests/runtime/models/onnx/compared.h"

namespace qgen::onnx::testing {
namespace {

constexpr float kScale = 0.05f;

struct Row {
  std::string name;
  std::function<std::string(ModelBuilder& m, const std::string& x)> behind;  // the nodes between two quantizations
  double least_share = 1;  // below 1: of rounding that nobody defines; the share is printed
};

void PrintTo(const Row& row, std::ostream* stream) { *stream << row.name; }

std::string conv(ModelBuilder& m, const std::string& x) { return m.conv(x, {4, 4, 3, 3}); }
std::string linear(ModelBuilder& m, const std::string& x) { return m.node("MatMul", {x, m.weight({6, 6}, 1)}); }
std::string clip(ModelBuilder& m, const std::string& x, float low, float high) {
  return m.node("Clip", {x, m.scalar(low), m.scalar(high)});
}

const Row kRows[] = {
    {"relu", [](auto& m, auto& x) { return m.node("Relu", {conv(m, x)}); }},
    {"relu6", [](auto& m, auto& x) { return clip(m, conv(m, x), 0, 6); }},
    {"bounds", [](auto& m, auto& x) { return clip(m, linear(m, x), -1.03f, 2.51f); }},
    {"hardswish", [](auto& m, auto& x) { return m.node("HardSwish", {conv(m, x)}); }},
    {"sigmoid_is_a_table", [](auto& m, auto& x) { return m.node("Sigmoid", {linear(m, x)}); }, 0.9},
    {"bias_in_a_node_of_its_own",
     [](auto& m, auto& x) {
       return m.node("Add", {linear(m, x), m.random_reals({6}, -1, 1)});
     }},
    {"reshaped_sums",
     [](auto& m, auto& x) {
       return m.node("Reshape", {linear(m, x), m.list({0, 2, 2, 36})});
     }},
    {"sum_with_relu",
     [](auto& m, auto& x) {
       return m.node("Relu", {m.node("Add", {x, x})});
     }},
    {"difference",
     [](auto& m, auto& x) {
       return m.node("Sub", {m.view(m.node("Relu", {x}), 0.03f, 3), x});
     }},
    {"product_with_bounds",
     [](auto& m, auto& x) {
       return clip(m, m.node("Mul", {x, x}), 0.51f, 3.3f);
     }},
    {"residual",
     [](auto& m, auto& x) {
       const std::string y = m.view(m.node("Conv", {x, m.weight({4, 4, 1, 1})}), 0.04f, 5);
       return m.node("Add", {y, x});
     }},
    {"residual_with_relu",
     [](auto& m, auto& x) {
       const std::string y = m.view(m.node("Conv", {x, m.weight({4, 4, 1, 1})}), 0.04f, -7);
       return m.node("Relu", {m.node("Add", {x, y})});
     }},
    {"relu_of_bytes", [](auto& m, auto& x) { return m.node("Relu", {x}); }},
    {"hardswish_of_bytes", [](auto& m, auto& x) { return m.node("HardSwish", {x}); }, 0.95},
    {"sigmoid_of_bytes", [](auto& m, auto& x) { return m.node("Sigmoid", {x}); }, 0.95},
    {"other_scale", [](auto&, auto& x) { return x; }},
    {"greatest_of_windows",
     [](auto& m, auto& x) {
       return m.node("MaxPool", {x}, {{"kernel_shape", std::vector<int64_t>{3, 3}}});
     }},
    {"mean_of_windows",
     [](auto& m, auto& x) {
       return m.node("AveragePool", {x}, {{"kernel_shape", std::vector<int64_t>{3, 3}}});
     },
     0.95},
    {"moved",
     [](auto& m, auto& x) {
       const std::string y = m.node("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
       return m.node("Reshape", {y, m.list({0, -1})});
     }},
    {"joined",
     [](auto& m, auto& x) {
       const std::string y = m.view(m.node("Relu", {x}), 0.01f, 1);
       return m.node("Concat", {x, y}, {{"axis", int64_t{1}}});
     }},
};

// Every node separately, in its place.
TEST(UnfusedImport, HasAnOperatorForEachNode) {
  ModelBuilder m;
  const std::string x = m.view(m.input("x", {1, 4, 6, 6}), 0.02f, 3);
  const std::string y = m.view(m.node("Relu", {conv(m, x)}), 0.03f, -128);
  const std::string sum = m.node("Add", {m.view(m.node("Conv", {y, m.weight({4, 4, 1, 1})}), 0.04f, 5), y});
  m.output(
      m.view(m.node("Relu", {m.node("Transpose", {sum}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}})}), 0.05f, 0));
  const auto unfused = import_model(m.model, {.fuses = false});
  ASSERT_TRUE(unfused) << to_text(unfused.error());
  EXPECT_EQ(operators_of(unfused->graph),
            "q8ta_quantize_linear q8ta_conv2d_dequantize fused_relu q8ta_quantize_linear q8ta_conv2d_dequantize "
            "q8ta_quantize_linear "
            "fused_add permute fused_relu q8ta_quantize_linear q8ta_dequantize");
  EXPECT_TRUE(unfused->notes.empty());
}

// A function between a layer and its quantization, which is a table otherwise.
TEST(UnfusedImport, ComputesFunctionsInFloatingPoint) {
  ModelBuilder m;
  const std::string x = m.view(m.input("x", {1, 4, 6, 6}), 0.02f, 3);
  m.output(m.view(m.node("Elu", {conv(m, x)}), 0.03f, 0));
  EXPECT_TRUE(m.import());
  const auto unfused = import_model(m.model, {.fuses = false});
  ASSERT_TRUE(unfused) << to_text(unfused.error());
  EXPECT_EQ(operators_of(unfused->graph),
            "q8ta_quantize_linear q8ta_conv2d_dequantize pointwise q8ta_quantize_linear q8ta_dequantize");
}

class Unfused : public ::testing::TestWithParam<Row> {};

TEST_P(Unfused, IsTheSame) {
  for (const ElementType type : {ElementType::i8, ElementType::u8}) {
    ModelBuilder m;
    const int64_t shift = type == ElementType::u8 ? 128 : 0;
    const std::string x = m.view(m.input("x", {-1, 4, 6, 6}), 0.02f, shift - 9, type);
    m.output(m.view(GetParam().behind(m, x), kScale, shift + 3, type));
    const double share = share_of_unfused(m, {2, 4, 6, 6}, kScale);
    EXPECT_GE(share, GetParam().least_share);
    if (GetParam().least_share < 1) fmt::print("{}: {:.2f} % are equal\n", GetParam().name, 100 * share);
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, Unfused, ::testing::ValuesIn(kRows), [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace qgen::onnx::testing
