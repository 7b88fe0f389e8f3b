// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Networks in the form of ONNX Runtime's static quantizer, small enough for the reference operators: the nodes that
// they become, and that these compute the model's values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/models/onnx/compared.h"

namespace qgen::onnx::testing {
namespace {

using ::testing::IsEmpty;

struct Format {
  std::string name;
  ElementType type;
  int64_t lowest;
};
constexpr int64_t kBatch = 2;

// Compared with each node alone (unfused_test.cpp): nodes that end in `output` are equal. For the rest, where
// floating-point numbers are added in some order, the share is printed.
void expect_unfused(const ModelBuilder& whole, const std::string& output, const Shape& shape, float scale) {
  ModelBuilder body = whole;
  body.model.graph.outputs.clear();
  body.output(output);
  EXPECT_EQ(share_of_unfused(body, shape, scale), 1) << output;
  const double share = share_of_unfused(whole, shape, scale);
  fmt::print("beside each node by itself {:.2f} % of the outputs are equal\n", 100 * share);
  EXPECT_GE(share, 0.95);
}

// One block of ResNet-50 with its surroundings: stem, pool, two blocks, one with a projection, and the head.
struct Network : ModelBuilder {
  explicit Network(const Format& format_) : format(format_) {}

  Format format;
  std::string q(const std::string& x, float scale, int64_t above_lowest) {
    return view(x, scale, format.lowest + above_lowest, format.type);
  }
  // With a bias of int32, then the `activation`, quantized.
  std::string layer(const std::string& x, float x_scale, const Shape& taps, float scale, int64_t zero,
                    std::map<std::string, AttributeData, std::less<>> attributes, const std::string& activation) {
    const int64_t outputs = taps[0];
    std::vector<float> scales, bias_scales;
    for (int64_t i = 0; i < outputs; ++i) {
      scales.push_back(static_cast<float>(random.real(0.002, 0.01)));
      bias_scales.push_back(scales.back() * x_scale);
    }
    const std::string zeros =
        integers(ElementType::i8, {outputs}, std::vector<int64_t>(static_cast<size_t>(outputs), 0));
    const std::string w =
        node("DequantizeLinear", {random_integers(ElementType::i8, taps, -127, 127), reals({outputs}, scales), zeros},
             {{"axis", int64_t{0}}});
    const std::string b = node("DequantizeLinear",
                               {random_integers(ElementType::i32, {outputs}, -900, 900), reals({outputs}, bias_scales)},
                               {{"axis", int64_t{0}}});
    std::string y = taps.size() == 4 ? node("Conv", {x, w, b}, std::move(attributes))
                                     : node("Gemm", {x, w, b}, {{"transB", int64_t{1}}});
    if (activation == "Clip") y = node("Clip", {y, scalar(0), scalar(6)});
    else if (!activation.empty()) y = node(activation, {y});
    return q(y, scale, zero);
  }
};

using Pads = std::vector<int64_t>;

class Networks : public ::testing::TestWithParam<Format> {};

TEST_P(Networks, ResNet) {
  Network m(GetParam());
  std::string x = m.q(m.input("image", {-1, 3, 17, 17}), 0.02f, 114);
  x = m.layer(x, 0.02f, {8, 3, 7, 7}, 0.03f, 0, {{"strides", Pads{2, 2}}, {"pads", Pads{3, 3, 3, 3}}}, "Relu");
  x = m.q(m.node("MaxPool", {x}, {{"kernel_shape", Pads{3, 3}}, {"strides", Pads{2, 2}}, {"pads", Pads{1, 1, 1, 1}}}),
          0.03f, 0);
  for (const bool projects : {true, false}) {
    const int64_t inputs = projects ? 8 : 16;
    const float scale = projects ? 0.03f : 0.05f;
    std::string y = m.layer(x, scale, {4, inputs, 1, 1}, 0.02f, 0, {}, "Relu");
    y = m.layer(y, 0.02f, {4, 4, 3, 3}, 0.02f, 0, {{"pads", Pads{1, 1, 1, 1}}}, "Relu");
    y = m.layer(y, 0.02f, {16, 4, 1, 1}, 0.04f, 131, {}, "");
    const std::string side = projects ? m.layer(x, scale, {16, inputs, 1, 1}, 0.045f, 120, {}, "") : x;
    x = m.q(m.node("Relu", {m.node("Add", {y, side})}), 0.05f, 0);
  }
  const std::string features = x;
  x = m.q(m.node("GlobalAveragePool", {x}), 0.02f, 0);
  x = m.q(m.node("Flatten", {x}), 0.02f, 0);
  m.output(m.layer(x, 0.02f, {10, 16}, 0.03f, 100, {}, ""));

  const auto imported = m.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(operators_of(imported->graph),
            "q8ta_quantize_linear q8ta_conv2d q8ta_max_pool2d q8ta_conv2d q8ta_conv2d q8ta_conv2d q8ta_conv2d "
            "q8ta_conv2d q8ta_conv2d q8ta_conv2d q8ta_avg_pool2d reshape q8ta_linear q8ta_dequantize");
  EXPECT_THAT(imported->notes, IsEmpty());
  const auto inferred =
      graph::infer(imported->graph, generated::operators::entries(), {{"image", {kBatch, 3, 17, 17}}});
  ASSERT_TRUE(inferred) << to_text(inferred.error());
  compare(m, {kBatch, 3, 17, 17}, 0.03f);
  expect_unfused(m, features, {kBatch, 3, 17, 17}, 0.03f);
}

TEST_P(Networks, MobileNet) {
  Network m(GetParam());
  std::string x = m.q(m.input("image", {-1, 3, 16, 16}), 0.02f, 114);
  x = m.layer(x, 0.02f, {8, 3, 3, 3}, 0.0235f, 0, {{"strides", Pads{2, 2}}, {"pads", Pads{0, 0, 1, 1}}}, "Clip");
  for (const bool adds : {false, true}) {
    const float scale = adds ? 0.04f : 0.0235f;
    std::string y = m.layer(x, scale, {16, 8, 1, 1}, 0.0235f, 0, {}, "Clip");
    y = m.layer(y, 0.0235f, {16, 1, 3, 3}, 0.0235f, 0, {{"pads", Pads{1, 1, 1, 1}}, {"group", int64_t{16}}}, "Clip");
    y = m.layer(y, 0.0235f, {8, 16, 1, 1}, 0.04f, 128, {}, "");
    x = adds ? m.q(m.node("Add", {x, y}), 0.05f, 128) : y;
  }
  const std::string features = x;
  x = m.q(m.node("GlobalAveragePool", {x}), 0.02f, 128);
  const std::string shape = m.node("Shape", {x});
  const std::string batch = m.node("Gather", {shape, m.integers(ElementType::i64, {}, {0})}, {{"axis", int64_t{0}}});
  const std::string target =
      m.node("Concat", {m.node("Unsqueeze", {batch, m.list({0})}), m.list({-1})}, {{"axis", int64_t{0}}});
  x = m.q(m.node("Reshape", {x, target}), 0.02f, 128);
  m.output(m.layer(x, 0.02f, {10, 8}, 0.03f, 100, {}, ""));

  const auto imported = m.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(operators_of(imported->graph),
            "q8ta_quantize_linear q8ta_conv2d q8ta_conv2d q8ta_conv2d q8ta_conv2d q8ta_conv2d q8ta_conv2d "
            "q8ta_conv2d q8ta_avg_pool2d reshape q8ta_linear q8ta_dequantize");
  EXPECT_THAT(imported->notes, IsEmpty());
  compare(m, {kBatch, 3, 16, 16}, 0.03f);
  expect_unfused(m, features, {kBatch, 3, 16, 16}, 0.03f);
}

// Down, up by a transposed convolution, and both concatenated.
TEST_P(Networks, UNet) {
  Network m(GetParam());
  const std::string x = m.q(m.input("image", {-1, 3, 8, 8}), 0.02f, 114);
  const std::string top = m.layer(x, 0.02f, {8, 3, 3, 3}, 0.02f, 0, {{"pads", Pads{1, 1, 1, 1}}}, "Relu");
  std::string y = m.q(m.node("MaxPool", {top}, {{"kernel_shape", Pads{2, 2}}, {"strides", Pads{2, 2}}}), 0.02f, 0);
  y = m.layer(y, 0.02f, {16, 8, 3, 3}, 0.02f, 0, {{"pads", Pads{1, 1, 1, 1}}}, "Relu");
  const std::string bottom = y;
  y = m.q(m.node("ConvTranspose", {y, m.weight({16, 8, 2, 2}, 1)}, {{"strides", Pads{2, 2}}}), 0.2f, 128);
  y = m.q(m.node("Concat", {y, top}, {{"axis", int64_t{1}}}), 0.2f, 120);
  m.output(m.layer(y, 0.2f, {2, 16, 1, 1}, 0.3f, 128, {}, ""));
  EXPECT_EQ(
      imported_operators(m),
      "q8ta_quantize_linear q8ta_conv2d q8ta_max_pool2d q8ta_conv2d q8ta_conv2d_transposed q8ta_concat q8ta_conv2d "
      "q8ta_dequantize");
  compare(m, {kBatch, 3, 8, 8}, 0.3f);
  expect_unfused(m, bottom, {kBatch, 3, 8, 8}, 0.3f);
}

// A transformer's block as make_models.py has it: normalization, attention of two heads with int8 layers, and a gated
// layer with only its weights in four bits.
TEST(Transformer, Block) {
  constexpr int64_t kTokens = 5, kChannels = 8, kHeads = 2;
  const auto signs = std::vector<float>{1, -1, 0.5f, 1, 2, -2, 1, 1};
  ModelBuilder m(21);
  const std::string image = m.input("x", {-1, kTokens, kChannels});
  const auto normalized = [&](const std::string& x) {
    return m.node("LayerNormalization", {x, m.reals({kChannels}, signs), m.reals({kChannels}, signs)});
  };
  const auto project = [&](const std::string& x) {
    return m.node("Add", {m.node("MatMul", {x, m.weight({kChannels, kChannels}, 1)}), m.reals({kChannels}, signs)});
  };
  const auto heads = [&](const std::string& x, const std::vector<int64_t>& order) {
    const std::string parts =
        m.node("Reshape", {m.view(x, 0.02f, 1), m.list({0, kTokens, kHeads, kChannels / kHeads})});
    return m.view(m.node("Transpose", {parts}, {{"perm", order}}), 0.02f, 1);
  };
  const auto nibbles = [&](const std::string& x, int64_t from, int64_t to) {
    const std::string codes = m.random_integers(ElementType::i4, {from, to}, -8, 7);
    return m.node("MatMul", {x, m.node("DequantizeLinear", {codes, m.scalar(0.05f)})});
  };

  const std::string y = m.view(normalized(image), 0.03f, 2);
  const std::string query = heads(project(y), {0, 2, 1, 3}), key = heads(project(y), {0, 2, 3, 1});
  const std::string scores = m.node("Mul", {m.node("MatMul", {query, key}), m.scalar(0.5f)});
  const std::string shares = m.view(m.node("Softmax", {scores}), 1.0f / 256, -128);
  const std::string mixed = m.view(m.node("MatMul", {shares, heads(project(y), {0, 2, 1, 3})}), 0.02f, 1);
  const std::string joined = m.node(
      "Reshape",
      {m.node("Transpose", {mixed}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}}), m.list({0, kTokens, kChannels})});
  const std::string sum = m.node("Add", {image, project(m.view(joined, 0.02f, 1))});
  const std::string z = normalized(sum);
  const std::string gate = nibbles(z, kChannels, 2 * kChannels);
  const std::string gated =
      m.node("Mul", {m.node("Mul", {gate, m.node("Sigmoid", {gate})}), nibbles(z, kChannels, 2 * kChannels)});
  m.output(m.view(m.node("Add", {sum, nibbles(gated, 2 * kChannels, kChannels)}), 0.25f, 0));
  EXPECT_EQ(
      imported_operators(m),
      "layer_norm q8ta_quantize_linear q8ta_linear reshape permute q8ta_linear reshape permute bmm fused_mul softmax "
      "q8ta_quantize_linear q8ta_linear reshape permute bmm permute reshape q8ta_linear_dequantize fused_add "
      "layer_norm linear_q4gsw silu_mul linear_q4gsw fused_add q8ta_dequantize");
  compare(m, {kBatch, kTokens, kChannels}, 0.25f);
  expect_unfused(m, mixed, {kBatch, kTokens, kChannels}, 0.25f);
}

// The attention of a block that nobody quantized.
TEST(Transformer, AttentionOfReals) {
  constexpr int64_t kTokens = 5, kChannels = 8, kHeads = 2;
  ModelBuilder m(21);
  const std::string x = m.input("x", {-1, kTokens, kChannels});
  const auto project = [&](const std::string& y) {
    const std::string product = m.node("MatMul", {y, m.random_reals({kChannels, kChannels}, -0.5, 0.5)});
    return m.node("Add", {product, m.random_reals({kChannels}, -1, 1)});
  };
  const auto heads = [&](const std::vector<int64_t>& order) {
    const std::string parts = m.node("Reshape", {project(x), m.list({0, kTokens, kHeads, kChannels / kHeads})});
    return m.node("Transpose", {parts}, {{"perm", order}});
  };
  const std::string query = heads({0, 2, 1, 3}), key = heads({0, 2, 3, 1}), values = heads({0, 2, 1, 3});
  const std::string shares = m.node("Softmax", {m.node("Mul", {m.node("MatMul", {query, key}), m.scalar(0.5f)})});
  const std::string mixed =
      m.node("Transpose", {m.node("MatMul", {shares, values})}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  const std::string sum = m.node("Add", {x, project(m.node("Reshape", {mixed, m.list({0, kTokens, kChannels})}))});
  m.output(m.node("Relu", {project(sum)}));
  EXPECT_EQ(imported_operators(m),
            "matmul reshape matmul reshape matmul reshape attention reshape matmul fused_add matmul");
  compare(m, {kBatch, kTokens, kChannels}, 1e-3f);
}

INSTANTIATE_TEST_SUITE_P(Formats, Networks,
                         ::testing::Values(Format{"i8", ElementType::i8, -128}, Format{"u8", ElementType::u8, 0}),
                         [](const auto& format) { return format.param.name; });

}  // namespace
}  // namespace qgen::onnx::testing
