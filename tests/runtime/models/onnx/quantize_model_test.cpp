// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A model of float32, written as one of int8, and read again.
#include "runtime/models/onnx/quantize_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "onnx/onnx.pb.h"
#include "runtime/models/onnx/external_data.h"
#include "tests/runtime/models/onnx/model_builder.h"
#include "tests/support/expected_text.h"

namespace qgen::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Proto = ::onnx::ModelProto;

void add_floats(Proto& model, const std::string& name, std::vector<int64_t> shape, const std::vector<float>& values) {
  auto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(::onnx::TensorProto::FLOAT);
  for (const int64_t side : shape) tensor.add_dims(side);
  tensor.set_raw_data(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
}

void add_node(Proto& model, const std::string& op, std::vector<std::string> inputs, const std::string& output) {
  auto& node = *model.mutable_graph()->add_node();
  node.set_op_type(op);
  node.set_name(output + " node");
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
}

// x [1, 2, 4, 4] -> Conv 1x1 -> Relu -> Conv 1x1 -> y, with weights whose channels differ by a factor of 100.
Proto two_layers(int64_t opset = 13) {
  Proto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(opset);
  auto& input = *model.mutable_graph()->add_input();
  input.set_name("x");
  auto& type = *input.mutable_type()->mutable_tensor_type();
  type.set_elem_type(::onnx::TensorProto::FLOAT);
  for (const int64_t side : {1, 2, 4, 4}) type.mutable_shape()->add_dim()->set_dim_value(side);
  add_floats(model, "w", {2, 2, 1, 1}, {1.27f, -0.5f, 127, 30});
  add_floats(model, "b", {2}, {0.5f, -20});
  add_floats(model, "v", {1, 2, 1, 1}, {1, 0.01f});
  add_node(model, "Conv", {"x", "w", "b"}, "a");
  add_node(model, "Relu", {"a"}, "r");
  add_node(model, "Conv", {"r", "v"}, "y");
  auto& output = *model.mutable_graph()->add_output();
  output.set_name("y");
  output.mutable_type()->mutable_tensor_type()->set_elem_type(::onnx::TensorProto::FLOAT);
  return model;
}

class QuantizeModel : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = std::filesystem::temp_directory_path() / ("qgen_quantize." + std::to_string(::getpid()));
  }
  void TearDown() override { std::filesystem::remove(file_); }
  Expected<FloatModel> load(const Proto& model) {
    std::ofstream(file_, std::ios::binary) << model.SerializeAsString();
    return FloatModel::load(file_);
  }

  std::filesystem::path file_;
};

const std::map<std::string, ActivationRange> kRanges{{"x", {-1, 1.55f}}, {"r", {0, 2.55f}}};

Proto read_again(const QuantizedModel& quantized) {
  Proto model;
  EXPECT_TRUE(model.ParseFromString(quantized.file));
  return model;
}

const ::onnx::TensorProto& constant(const Proto& model, const std::string& name) {
  for (const auto& tensor : model.graph().initializer()) {
    if (tensor.name() == name) return tensor;
  }
  ADD_FAILURE() << "no constant " << name;
  return model.graph().initializer(0);
}

template <typename T>
std::vector<T> values_of(const Proto& model, const std::string& name) {
  const std::string& bytes = constant(model, name).raw_data();
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST_F(QuantizeModel, RangesContainZeroExactly) {
  for (const auto& [low, high] :
       {std::pair(-1.0f, 1.55f), {0.0f, 2.55f}, {-3.0f, 0.0f}, {0.25f, 5.0f}, {-9.0f, -1.0f}, {0.0f, 0.0f}}) {
    const ActivationRange range{low, high};
    EXPECT_EQ(range.rounded(0), 0) << low << " " << high;
    EXPECT_NEAR(range.rounded(high), high, range.scale()) << low << " " << high;
    EXPECT_NEAR(range.rounded(low), low, range.scale()) << low << " " << high;
  }
  EXPECT_FLOAT_EQ((ActivationRange{-1, 1.55f}.scale()), 0.01f);
  EXPECT_EQ((ActivationRange{-1, 1.55f}.zero_point()), -28);
}

TEST_F(QuantizeModel, WhatLayersReadIsObserved) {
  const auto model = load(two_layers());
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_THAT(*model->activations({}), ElementsAre("x", "r"));
  EXPECT_THAT(*model->activations({.kept = {"y node"}}), ElementsAre("x"));
  const auto unknown = model->activations({.kept = {"z node"}});
  ASSERT_FALSE(unknown);
  EXPECT_TEXT(unknown.error().message, "the model has no node 'z node'");
  Proto observed;
  ASSERT_TRUE(observed.ParseFromString(model->with_outputs({"r", "x"})));
  EXPECT_EQ(observed.graph().output_size(), 2);
}

TEST_F(QuantizeModel, WeightsHaveAScaleForEachChannel) {
  const auto model = load(two_layers());
  const auto quantized = model->quantized(kRanges, {});
  ASSERT_TRUE(quantized) << to_text(quantized.error());
  const Proto again = read_again(*quantized);
  EXPECT_THAT(values_of<float>(again, "w_scale"), ElementsAre(0.01f, 1.0f));
  EXPECT_THAT(values_of<int8_t>(again, "w_quantized"), ElementsAre(127, -50, 127, 30));
  // The scale of the sums is the activation's times the channel's.
  const auto bias = values_of<int32_t>(again, "b_quantized");
  EXPECT_NEAR(bias[0], 5000, 1);
  EXPECT_NEAR(bias[1], -2000, 1);
  for (const auto& tensor : again.graph().initializer()) EXPECT_NE(tensor.name(), "w") << "nothing reads it any more";
  EXPECT_EQ(quantized->layers.size(), 2u);
  EXPECT_GT(quantized->layers[0].weight_sqnr_db, 40);
}

TEST_F(QuantizeModel, BecomesLayersOfBytes) {
  const auto model = load(two_layers());
  const auto operators_with = [&](const QuantizeOptions& options) {
    const auto quantized = model->quantized(kRanges, options);
    EXPECT_TRUE(quantized) << to_text(quantized.error());
    const auto imported = import_model(std::as_bytes(std::span(quantized->file)));
    return imported ? testing::operators_of(imported->graph) : to_text(imported.error());
  };
  EXPECT_EQ(operators_with({}), "q8ta_quantize_linear q8ta_conv2d q8ta_conv2d_dequantize");
  EXPECT_EQ(operators_with({.kept = {"y node"}}), "q8ta_quantize_linear q8ta_conv2d_dequantize conv2d");
}

// Before opset 13 a DequantizeLinear has no axis, so a weight has one scale.
TEST_F(QuantizeModel, OldModelsHaveOneScale) {
  const auto model = load(two_layers(11));
  const auto quantized = model->quantized(kRanges, {});
  ASSERT_TRUE(quantized) << to_text(quantized.error());
  EXPECT_THAT(values_of<float>(read_again(*quantized), "w_scale"), ElementsAre(1.0f));
  EXPECT_TRUE(import_model(std::as_bytes(std::span(quantized->file))));
}

TEST_F(QuantizeModel, Refusals) {
  const auto error_of = [&](const Proto& model) {
    const auto loaded = load(model);
    if (!loaded) return loaded.error().message;
    const auto activations = loaded->activations({});
    return activations ? "" : activations.error().message;
  };
  EXPECT_THAT(error_of(two_layers(9)), HasSubstr("is of opset 9, and QuantizeLinear came with 10"));
  Proto external = two_layers();
  external.mutable_graph()->mutable_initializer(0)->set_data_location(::onnx::TensorProto::EXTERNAL);
  EXPECT_THAT(error_of(external), HasSubstr("constant 'w': its external data has no length"));
  Proto halves = two_layers();
  for (auto& tensor : *halves.mutable_graph()->mutable_initializer())
    tensor.set_data_type(::onnx::TensorProto::FLOAT16);
  halves.mutable_graph()->mutable_node(1)->set_op_type("Tanh");
  EXPECT_TEXT(error_of(halves), "the model has no layer with a constant float32 weight, so nothing can be quantized");
  std::ofstream(file_, std::ios::binary) << "no model";
  EXPECT_THAT(FloatModel::load(file_).error().message, HasSubstr("is no ONNX file"));
}

// x [3, 40] -> Gemm with a bias -> y. 40 is no multiple of 32.
Proto one_product(bool is_transposed) {
  Proto model = two_layers();
  auto& graph = *model.mutable_graph();
  graph.clear_node();
  graph.clear_initializer();
  auto& shape = *graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.clear_dim();
  for (const int64_t side : {3, 40}) shape.add_dim()->set_dim_value(side);
  std::vector<float> weight(80);
  for (size_t i = 0; i < weight.size(); ++i) {
    const size_t row = is_transposed ? i / 40 : i % 2, k = is_transposed ? i % 40 : i / 2;
    weight[i] = (row == 0 ? 0.25f : 0.5f) * static_cast<float>(static_cast<int>(k % 16) - 8);
  }
  add_floats(model, "w", is_transposed ? std::vector<int64_t>{2, 40} : std::vector<int64_t>{40, 2}, weight);
  add_floats(model, "b", {2}, {0.5f, -20});
  add_node(model, "Gemm", {"x", "w", "b"}, "y");
  if (is_transposed) {
    auto& attribute = *graph.mutable_node(0)->add_attribute();
    attribute.set_name("transB");
    attribute.set_type(::onnx::AttributeProto::INT);
    attribute.set_i(1);
  }
  return model;
}

TEST_F(QuantizeModel, WeightsOfFourBitsAreBlocks) {
  for (const bool is_transposed : {false, true}) {
    const auto model = load(one_product(is_transposed));
    const QuantizeOptions options{.weight_bits = 4};
    EXPECT_THAT(*model->activations(options), ::testing::IsEmpty());
    const auto quantized = model->quantized({}, options);
    ASSERT_TRUE(quantized) << to_text(quantized.error());
    ASSERT_EQ(quantized->layers.size(), 1u);
    EXPECT_EQ(quantized->layers[0].input, "");
    EXPECT_EQ(quantized->layers[0].weight_sqnr_db, 200) << "these weights are exact";
    const Proto again = read_again(*quantized);
    EXPECT_THAT(values_of<float>(again, "w_scales"), ElementsAre(0.25f, 0.25f, 0.5f, 0.5f));
    const auto nibbles = values_of<uint8_t>(again, "w_nibbles");
    ASSERT_EQ(nibbles.size(), 64u);
    EXPECT_EQ(nibbles[0], 0x10) << "-8 and -7";
    EXPECT_EQ(nibbles[31], 0x88) << "after the 40th element";
    const auto imported = import_model(std::as_bytes(std::span(quantized->file)));
    ASSERT_TRUE(imported) << to_text(imported.error());
    EXPECT_EQ(testing::operators_of(imported->graph), "linear_q4gsw");
  }
}

TEST_F(QuantizeModel, ReadsAndWritesExternalData) {
  Proto plain = two_layers();
  std::vector<float> large(1024, 0.5f);
  add_floats(plain, "large", {1024}, large);
  const auto split = with_external_data(plain.SerializeAsString(), file_.filename().string() + ".data");
  ASSERT_TRUE(split) << to_text(split.error());
  EXPECT_EQ(split->data.size(), 4096u) << "small constants stay in the model";
  const std::filesystem::path data = file_.string() + ".data";
  std::ofstream(data, std::ios::binary) << split->data;
  Proto moved;
  ASSERT_TRUE(moved.ParseFromString(split->file));
  const auto model = load(moved);
  std::filesystem::remove(data);
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_TRUE(model->has_external_data());
  EXPECT_EQ(model->file(), plain.SerializeAsString());
  const auto absent = load(moved);
  ASSERT_FALSE(absent);
  EXPECT_THAT(absent.error().message, HasSubstr("constant 'large': external data"));
  EXPECT_FALSE(load(plain)->has_external_data());
}

}  // namespace
}  // namespace qgen::onnx
