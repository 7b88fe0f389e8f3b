// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Nodes between quantized layers: moved elements, and floating-point operations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/models/onnx/compared.h"
#include "tests/support/expected_text.h"

namespace qgen::onnx::testing {
namespace {

using List = std::vector<int64_t>;
using NodeAttributes = std::map<std::string, AttributeData, std::less<>>;

constexpr float kQuantum = 0.05f;

struct Picture : ModelBuilder {
  using ModelBuilder::ModelBuilder;
  std::string x = input("x", {-1, 4, 6, 5});
  std::string bytes() { return view(x, kQuantum, 3); }
  std::string again(const std::string& y) { return view(y, kQuantum, 3); }
  void check(float scale = kQuantum) { compare(*this, {2, 4, 6, 5}, scale); }
};

// For int8 values between a DequantizeLinear and a QuantizeLinear, and for floating-point values.
void move_both(const std::string& becomes, auto node) {
  Picture bytes, reals;
  bytes.output(bytes.again(node(bytes, bytes.bytes())));
  EXPECT_EQ(imported_operators(bytes), "q8ta_quantize_linear " + becomes + " q8ta_dequantize");
  bytes.check();
  reals.output(node(reals, reals.x));
  EXPECT_EQ(imported_operators(reals), becomes);
  reals.check(1e-3f);
}

// ---- elements that move ---------------------------------------------------------------------------------------------

TEST(Movements, Transposes) {
  move_both("permute", [](Picture& m, const std::string& x) {
    return m.node("Transpose", {x}, {{"perm", List{0, 2, 3, 1}}});
  });
}

TEST(Movements, TransposeOfUnsignedIntegers) {
  ModelBuilder m;
  m.output(m.node("Transpose", {m.input("x", {2, 3, 4}, ElementType::u8)}, {{"perm", List{2, 0, 1}}}));
  EXPECT_EQ(imported_operators(m), "requantize permute requantize");
  compare(m, {2, 3, 4}, 1);
}

TEST(Movements, SlicesForwardsAndBackwards) {
  move_both("slice", [](Picture& m, const std::string& x) {
    return m.node("Slice", {x, m.list({1, 4}), m.list({-1, -1000}), m.list({1, -1}), m.list({1, -2})});
  });
  Picture whole;
  whole.output(whole.node("Slice", {whole.bytes(), whole.list({0}), whole.list({1000}), whole.list({2})}));
  EXPECT_EQ(imported_operators(whole), "q8ta_quantize_linear q8ta_dequantize");
  Picture computed;
  computed.output(computed.node("Slice", {"x", computed.input("from", {1}), computed.list({3})}));
  EXPECT_TEXT(imported_operators(computed),
              "node 'Slice_0' (Slice): its input starts ('from') is float32, and can be int32, int64");
}

// The results of both models for the same picture.
void expect_same(const Picture& a, const Picture& b) {
  const Tensors inputs{{"x", Random(5).reals(DType::f32, {2, 4, 6, 5}, -2, 2)}};
  std::vector<HostTensor> outputs[2];
  for (const Picture* m : {&a, &b}) {
    const auto imported = m->import();
    ASSERT_TRUE(imported) << to_text(imported.error());
    const auto made = judged(imported->graph, inputs);
    ASSERT_TRUE(made) << to_text(made.error());
    for (const ValueInfo& output : m->model.graph.outputs) outputs[m == &b].push_back(made->at(output.name));
  }
  ASSERT_EQ(outputs[0].size(), outputs[1].size());
  for (size_t i = 0; i < outputs[0].size(); ++i) {
    EXPECT_EQ(outputs[0][i].shape, outputs[1][i].shape) << i;
    EXPECT_TRUE(outputs[0][i].data == outputs[1][i].data) << i;
  }
}

std::vector<std::string> split(Picture& m, std::vector<std::string> inputs, int64_t axis, size_t parts) {
  m.node("Split", std::move(inputs), {{"axis", axis}});
  Node& node = m.model.graph.nodes.back();
  while (node.outputs.size() < parts) node.outputs.push_back(fmt::format("{} {}", node.name, node.outputs.size()));
  return node.outputs;
}

std::string sliced(Picture& m, const std::string& x, int64_t axis, int64_t start, int64_t end) {
  return m.node("Slice", {x, m.list({start}), m.list({end}), m.list({axis})});
}

TEST(Movements, SplitsAreSlices) {
  for (const bool are_bytes : {true, false}) {
    Picture parts, slices;
    const std::string x = are_bytes ? parts.bytes() : parts.x, y = are_bytes ? slices.bytes() : slices.x;
    for (const std::string& part : split(parts, {x, parts.list({1, 4, 1})}, 2, 3)) parts.output(part);
    for (const std::string& part : split(parts, {x}, -3, 2)) parts.output(part);
    for (const auto& [start, end] : {std::pair{0, 1}, {1, 5}, {5, 6}}) slices.output(sliced(slices, y, 2, start, end));
    for (const auto& [start, end] : {std::pair{0, 2}, {2, 4}}) slices.output(sliced(slices, y, 1, start, end));
    expect_same(parts, slices);
  }
}

TEST(Movements, SplitsThatNobodyReadsAreLeftOut) {
  Picture m;
  m.output(split(m, {m.x}, 1, 4)[2]);
  EXPECT_EQ(imported_operators(m), "slice");
}

TEST(Movements, SplitsThatAreNoParts) {
  Picture uneven, more, computed, batch;
  uneven.output(split(uneven, {uneven.x}, 3, 2)[0]);
  EXPECT_TEXT(imported_operators(uneven),
              "node 'Split_0' (Split): 5 elements along its axis cannot be divided into 2 equal parts");
  more.output(split(more, {more.x, more.list({3, 3})}, 3, 2)[0]);
  EXPECT_TEXT(imported_operators(more),
              "node 'Split_0' (Split): its parts [3, 3] do not add up to 5, the size along its axis");
  computed.output(split(computed, {computed.x, computed.input("sizes", {2})}, 3, 2)[0]);
  EXPECT_TEXT(imported_operators(computed),
              "node 'Split_0' (Split): its input split ('sizes') is float32, and can be int64");
  batch.output(split(batch, {batch.x}, 0, 2)[0]);
  EXPECT_TEXT(imported_operators(batch), "node 'Split_0' (Split): the dimension that it splits is unknown");
  Picture last(18);  // the last may be smaller
  last.output(split(last, {last.x}, 3, 2)[1]);
  EXPECT_EQ(imported_operators(last), "slice");
}

TEST(Movements, GathersOfPlacesThatFollowAreSlices) {
  for (const bool are_bytes : {true, false}) {
    Picture rows, slices;
    const std::string x = are_bytes ? rows.bytes() : rows.x, y = are_bytes ? slices.bytes() : slices.x;
    rows.output(rows.node("Gather", {x, rows.list({1, 2})}, {{"axis", int64_t{2}}}));
    rows.output(rows.node("Gather", {x, rows.list({-2, -1})}, {{"axis", int64_t{2}}}));
    rows.output(rows.node("Gather", {x, rows.integers(ElementType::i64, {}, {-1})}, {{"axis", int64_t{1}}}));
    slices.output(sliced(slices, y, 2, 1, 3));
    slices.output(sliced(slices, y, 2, 4, 6));
    slices.output(slices.node("Squeeze", {sliced(slices, y, 1, 3, 4), slices.list({1})}));
    expect_same(rows, slices);
  }
}

TEST(Movements, GathersOfOtherPlaces) {
  for (const List& places : {List{0, 2}, List{2, 1}, List{-1, 0}}) {
    Picture m;
    m.output(m.node("Gather", {m.x, m.list(places)}, {{"axis", int64_t{2}}}));
    EXPECT_EQ(imported_operators(m), "gather");
  }
  Picture data;
  data.model.graph.inputs.push_back({"places", ElementType::i64, std::vector<InputSide>{{2, {}}}});
  data.output(data.node("Gather", {data.x, "places"}, {{"axis", int64_t{2}}}));
  EXPECT_EQ(imported_operators(data), "gather");
  for (const List& places : {List{6}, List{5, 6}, List{-7}, List{-7, -6}, List{0, 6}, List{0, -7}}) {
    Picture m;
    m.output(m.node("Gather", {m.x, m.list(places)}, {{"axis", int64_t{2}}}));
    EXPECT_THAT(imported_operators(m), ::testing::HasSubstr("of 6"));
  }
  Picture computed;
  computed.output(computed.node("Gather", {computed.x, computed.input("rows", {2})}, {{"axis", int64_t{2}}}));
  EXPECT_TEXT(imported_operators(computed),
              "node 'Gather_0' (Gather): its input indices ('rows') is float32, and can be int32, int64");
}

TEST(Movements, PadsAreTheZeroPointOfBytes) {
  for (const std::string mode : {"constant", "edge", "reflect"}) {
    move_both("pad", [&](Picture& m, const std::string& x) {
      return m.node("Pad", {x, m.list({0, 0, 1, 2, 0, 0, 3, 0})}, {{"mode", mode}});
    });
  }
}

TEST(Movements, APadThatNoIntegerStandsForIsReal) {
  Picture m;
  m.output(m.again(m.node("Pad", {m.bytes(), m.list({0, 0, 1, 0, 0, 0, 0, 0}), m.scalar(100)})));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_dequantize pad q8ta_quantize_linear q8ta_dequantize");
  m.check();
  Picture wrap;
  wrap.output(wrap.node("Pad", {"x", wrap.list(List(8, 1))}, {{"mode", std::string("wrap")}}));
  EXPECT_TEXT(imported_operators(wrap), "node 'Pad_0' (Pad): its mode is wrap, and can be constant, edge or reflect");
}

TEST(Movements, Expands) {
  ModelBuilder m;
  const std::string x = m.view(m.input("x", {4, 1, 5}), kQuantum, 3);
  m.output(m.node("Expand", {x, m.list({2, 4, 3, 5})}));
  m.output(m.node("Expand", {x, m.list({4, 1, 5})}));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear expand q8ta_dequantize q8ta_dequantize");
}

TEST(Movements, ResizesOfNearestPixels) {
  for (const std::string places : {"half_pixel", "asymmetric", "align_corners"}) {
    for (const std::string nearest : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
      const auto node = [&](Picture& m, const std::string& x) {
        return m.node("Resize", {x, "", m.reals({4}, {1, 1, 0.5f, 3})},
                      {{"coordinate_transformation_mode", places}, {"nearest_mode", nearest}});
      };
      Picture bytes;
      bytes.output(bytes.again(node(bytes, bytes.bytes())));
      EXPECT_EQ(imported_operators(bytes), "q8ta_quantize_linear q8ta_resize2d q8ta_dequantize");
      bytes.check();
    }
  }
}

TEST(Movements, ResizesOfRealsInProportion) {
  for (const std::string places : {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"}) {
    Picture m;
    m.output(m.again(m.node("Resize", {m.bytes(), "", "", m.integers(ElementType::i64, {4}, {2, 4, 3, 9})},
                            {{"coordinate_transformation_mode", places}, {"mode", std::string("linear")}})));
    // The batch of `sizes` is a number, and the input's is open.
    m.model.graph.inputs.front().shape->front() = {2, {}};
    EXPECT_EQ(imported_operators(m),
              "q8ta_quantize_linear q8ta_dequantize resize2d q8ta_quantize_linear q8ta_dequantize");
    m.check();
  }
}

// As in ONNX's reference, a side of 0 leaves no elements.
TEST(Movements, ResizesToNothing) {
  for (const std::string mode : {"nearest", "linear", "cubic"}) {
    for (const bool has_sizes : {true, false}) {
      ModelBuilder m;
      const std::string x = m.input("x", {1, 2, 6, 5});
      const std::string sides = has_sizes ? m.list({1, 2, 0, 5}) : m.reals({4}, {1, 1, 0.1f, 1});
      const std::string none =
          m.node("Resize", {x, "", has_sizes ? "" : sides, has_sizes ? sides : ""}, {{"mode", mode}});
      m.output(m.node("Concat", {x, none, x}, {{"axis", int64_t{2}}}));
      EXPECT_EQ(imported_operators(m), "concat") << mode << has_sizes;
    }
  }
  ModelBuilder m;
  m.output(m.node("Resize", {m.input("x", {1, 2, 6, 5}), "", "", m.list({1, 2, -1, 5})}));
  EXPECT_TEXT(imported_operators(m), "node 'Resize_0' (Resize): it has a size of -1");
}

TEST(Movements, ResizesThatAreRefused) {
  const auto refusal = [](NodeAttributes attributes, float scale) {
    Picture m;
    m.output(m.node("Resize", {"x", "", m.reals({4}, {1, 1, scale, 1})}, std::move(attributes)));
    return imported_operators(m);
  };
  EXPECT_TEXT(refusal({}, 1.3f),
              "node 'Resize_0' (Resize): a dimension of 6 with a scale of 1.3 does not give a whole number of pixels");
  EXPECT_TEXT(refusal({{"mode", std::string("cubic")}}, 2),
              "node 'Resize_0' (Resize): its mode is cubic, and can be nearest or linear");
  const NodeAttributes cropped{{"coordinate_transformation_mode", std::string("tf_crop_and_resize")}};
  EXPECT_TEXT(refusal(cropped, 2),
              "node 'Resize_0' (Resize): its coordinate_transformation_mode is tf_crop_and_resize, and can be "
              "half_pixel, half_pixel_symmetric, pytorch_half_pixel, align_corners or asymmetric");
}

TEST(Movements, UpsampleIsAsymmetricAndFloors) {
  Picture m(9);
  m.output(m.node("Upsample", {m.bytes(), m.reals({4}, {1, 1, 2, 2})}));
  const auto imported = m.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  const Attributes& attributes = imported->graph.nodes[1].attributes;
  EXPECT_EQ(std::get<std::string>(attributes.find("coordinate_mode")->second), "asymmetric");
  EXPECT_EQ(std::get<std::string>(attributes.find("nearest_mode")->second), "floor");
}

// ---- rows of reals --------------------------------------------------------------------------------------------------

TEST(Rows, SoftmaxAlongTheLastAxisAndAnother) {
  for (const bool is_last : {true, false}) {
    Picture m;
    m.output(m.view(m.node("Softmax", {m.bytes()}, {{"axis", int64_t{is_last ? -1 : 1}}}), 1.0f / 256, -128));
    EXPECT_EQ(imported_operators(m),
              is_last ? "q8ta_quantize_linear q8ta_dequantize softmax q8ta_quantize_linear q8ta_dequantize"
                      : "q8ta_quantize_linear permute q8ta_dequantize softmax permute q8ta_quantize_linear "
                        "q8ta_dequantize");
    m.check(1.0f / 256);
  }
}

// Up to opset 12 everything after the axis is one row.
TEST(Rows, SoftmaxOfAnOldOpset) {
  Picture m(11);
  m.output(m.node("Softmax", {"x"}));
  EXPECT_EQ(imported_operators(m), "reshape softmax reshape");
  const auto outputs = judged(m.import()->graph, {{"x", Random(3).reals(DType::f32, {2, 4, 6, 5}, -2, 2)}});
  ASSERT_TRUE(outputs) << to_text(outputs.error());
  double sum = 0;
  for (int64_t i = 0; i < 120; ++i) sum += element(outputs->begin()->second, i);
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST(Rows, LayerNormalization) {
  for (const bool is_last : {true, false}) {
    Picture m(17);
    const int64_t row = is_last ? 5 : 30;
    std::vector<float> weight, bias;
    for (int64_t i = 0; i < row; ++i) {
      weight.push_back(static_cast<float>(m.random.real(0.5, 2)));
      bias.push_back(static_cast<float>(m.random.real(-1, 1)));
    }
    const Shape shape = is_last ? Shape{5} : Shape{6, 5};
    m.output(m.node("LayerNormalization", {"x", m.reals(shape, weight), m.reals(shape, bias)},
                    {{"axis", int64_t{is_last ? -1 : 2}}, {"epsilon", 1e-3f}}));
    EXPECT_EQ(imported_operators(m), is_last ? "layer_norm" : "reshape layer_norm reshape");
    m.check(1e-3f);
  }
  Picture other(17);
  other.output(other.node("LayerNormalization", {"x", other.reals({4}, {1, 2, 3, 4})}));
  EXPECT_TEXT(imported_operators(other),
              "node 'LayerNormalization_0' (LayerNormalization): its weight is [4], and must be [5] as its rows");
}

// A sum after a normalization is no bias of a layer.
TEST(Rows, ASumBehindANormalizationStaysOne) {
  Picture m(17);
  const std::string y = m.node("LayerNormalization", {"x", m.reals({5}, {1, 2, 3, 4, 5})});
  m.output(m.node("Add", {y, m.reals({4, 1, 1}, {1, 2, 3, 4})}));
  EXPECT_EQ(imported_operators(m), "layer_norm fused_add");
  m.check(1e-3f);
}

// ---- functions and pools of reals -----------------------------------------------------------------------------------

TEST(OfReals, Functions) {
  const std::pair<std::string, std::string> rows[] = {
      {"Sigmoid", "fused_sigmoid"}, {"Clip", "fused_clip"}, {"Relu", "fused_relu"}, {"HardSwish", "fused_hardswish"}};
  for (const auto& [op, becomes] : rows) {
    Picture m;
    m.output(op == "Clip" ? m.node(op, {"x", m.scalar(-1), m.scalar(0.5f)}) : m.node(op, {"x"}));
    EXPECT_EQ(imported_operators(m), becomes);
    m.check(1e-3f);
  }
  Picture one_bound;
  one_bound.output(one_bound.node("Clip", {"x", "", one_bound.scalar(0.5f)}));
  EXPECT_EQ(imported_operators(one_bound), "fused_clip");
  one_bound.check(1e-3f);
}

// Of bytes it is a table.
TEST(OfReals, SiluIsAProduct) {
  Picture m;
  m.output(m.node("Mul", {"x", m.node("Sigmoid", {"x"})}));
  EXPECT_EQ(imported_operators(m), "fused_sigmoid fused_mul");
  m.check(1e-3f);
  Picture bytes;
  const std::string y = bytes.bytes();
  bytes.output(bytes.again(bytes.node("Mul", {y, bytes.node("Sigmoid", {y})})));
  EXPECT_EQ(imported_operators(bytes), "q8ta_quantize_linear q8ta_table q8ta_dequantize");
  bytes.check();
}

TEST(OfReals, AGateIsOneChain) {
  for (const bool is_first : {true, false}) {
    Picture m;
    const std::string silu = m.node("Mul", {m.node("Sigmoid", {"x"}), "x"}), other = m.node("Relu", {"x"});
    m.output(is_first ? m.node("Mul", {silu, other}) : m.node("Mul", {other, silu}));
    EXPECT_EQ(imported_operators(m), "fused_relu pointwise");
    m.check(1e-3f);
  }
  Picture read_twice;
  const std::string silu = read_twice.node("Mul", {"x", read_twice.node("Sigmoid", {"x"})});
  read_twice.output(read_twice.node("Mul", {silu, read_twice.node("Relu", {silu})}));
  EXPECT_EQ(imported_operators(read_twice), "fused_sigmoid fused_mul fused_relu fused_mul");
  Picture constant;
  constant.output(constant.node(
      "Mul", {constant.node("Mul", {"x", constant.node("Sigmoid", {"x"})}), constant.reals({4, 1, 1}, {1, 2, 3, 4})}));
  EXPECT_EQ(imported_operators(constant), "fused_sigmoid fused_mul fused_mul");
}

TEST(OfReals, FunctionsThatFollowEachOther) {
  Picture m(17);
  const std::string y = m.node("LayerNormalization", {"x", m.reals({5}, {1, 2, 3, 4, 5})});
  m.output(m.node("Clip", {m.node("Sigmoid", {y}), m.scalar(0.2f), m.scalar(0.8f)}));
  EXPECT_EQ(imported_operators(m), "layer_norm fused_sigmoid fused_clip");
  m.check(1e-3f);
}

TEST(OfReals, Pools) {
  const NodeAttributes window{{"kernel_shape", List{3, 2}}, {"strides", List{2, 1}}, {"pads", List{1, 0, 1, 1}}};
  for (const std::string op : {"MaxPool", "AveragePool", "GlobalAveragePool"}) {
    Picture m;
    m.output(m.node(op, {"x"}, op == "GlobalAveragePool" ? NodeAttributes{} : window));
    EXPECT_EQ(imported_operators(m), op == "MaxPool" ? "max_pool2d" : "avg_pool2d");
    m.check(1e-3f);
  }
}

TEST(OfReals, AMeanOfBytesThatNothingQuantizes) {
  Picture m;
  m.output(m.node("ReduceMean", {m.bytes()}, {{"axes", List{2, 3}}, {"keepdims", int64_t{0}}}));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_dequantize avg_pool2d reshape");
}

}  // namespace
}  // namespace qgen::onnx::testing
