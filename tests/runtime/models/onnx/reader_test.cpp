// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Files as protobuf writes them: every way that a tensor's elements are kept, and files that somebody made to do harm.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "onnx/onnx.pb.h"
#include "tests/runtime/models/onnx/model_builder.h"
#include "tests/support/expected_text.h"
#include "tests/support/source_folder.h"

namespace qgen::onnx {
namespace {

using Proto = ::onnx::ModelProto;

std::span<const std::byte> bytes_in(const std::string& text) { return std::as_bytes(std::span(text)); }

// x [1, 4] -> Identity -> y.
Proto small_model() {
  Proto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(13);
  auto& graph = *model.mutable_graph();
  auto& input = *graph.add_input();
  input.set_name("x");
  auto& type = *input.mutable_type()->mutable_tensor_type();
  type.set_elem_type(1);
  type.mutable_shape()->add_dim()->set_dim_value(1);
  type.mutable_shape()->add_dim()->set_dim_value(4);
  auto& node = *graph.add_node();
  node.set_op_type("Identity");
  node.add_input("x");
  node.add_output("y");
  graph.add_output()->set_name("y");
  return model;
}

::onnx::TensorProto& add_tensor(Proto& model, int32_t type, std::initializer_list<int64_t> shape,
                                const std::string& name = "t") {
  auto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const int64_t side : shape) tensor.add_dims(side);
  return tensor;
}

Expected<Model> read(const Proto& model, const std::filesystem::path& folder = {}, ReadLimits limits = {}) {
  return read_model(bytes_in(model.SerializeAsString()), {folder, limits});
}
std::string read_error(const Proto& model, const std::filesystem::path& folder = {}, ReadLimits limits = {}) {
  const auto result = read(model, folder, limits);
  return result ? "" : result.error().message;
}
std::string import_error(const Proto& model) {
  const auto result = import_model(bytes_in(model.SerializeAsString()));
  return result ? "" : result.error().message;
}
std::vector<int64_t> integers_of(const Proto& model) {
  const auto result = read(model);
  if (!result) return {};
  const Tensor& tensor = *result->graph.initializers.at("t");
  std::vector<int64_t> values;
  for (int64_t i = 0; i < tensor.size(); ++i) values.push_back(tensor.integer(i));
  return values;
}

// ---- elements -------------------------------------------------------------------------------------------------------

TEST(Reader, RawAndTypedData) {
  Proto raw = small_model(), typed = small_model();
  add_tensor(raw, 3, {3}).set_raw_data(std::string("\x01\xff\x80", 3));
  auto& tensor = add_tensor(typed, 3, {3});
  for (const int value : {1, -1, -128}) tensor.add_int32_data(value);
  EXPECT_EQ(integers_of(raw), (std::vector<int64_t>{1, -1, -128}));
  EXPECT_EQ(integers_of(typed), (std::vector<int64_t>{1, -1, -128}));
}

TEST(Reader, FourBitsTwoAByteAndOddLast) {
  for (const bool is_typed : {false, true}) {
    Proto model = small_model();
    auto& tensor = add_tensor(model, 22, {3});
    if (is_typed) {
      tensor.add_int32_data(0x8f);
      tensor.add_int32_data(0x07);
    } else {
      tensor.set_raw_data(std::string("\x8f\x07", 2));
    }
    EXPECT_EQ(integers_of(model), (std::vector<int64_t>{-1, -8, 7}));
  }
  Proto model = small_model();
  add_tensor(model, 21, {2}).set_raw_data("\x8f");
  EXPECT_EQ(integers_of(model), (std::vector<int64_t>{15, 8}));
}

TEST(Reader, HalvesAreBitsInIntegers) {
  Proto model = small_model();
  add_tensor(model, 10, {1}).add_int32_data(0x3c00);
  const auto result = read(model);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->graph.initializers.at("t")->real(0), 1.0f);
}

TEST(Reader, WideIntegers) {
  Proto model = small_model();
  auto& tensor = add_tensor(model, 7, {2});
  tensor.add_int64_data(INT64_MIN);
  tensor.add_int64_data(5);
  EXPECT_EQ(integers_of(model), (std::vector<int64_t>{INT64_MIN, 5}));
}

TEST(Reader, ElementsAreInOneField) {
  Proto model = small_model();
  auto& tensor = add_tensor(model, 1, {1});
  tensor.set_raw_data(std::string(4, '\0'));
  tensor.add_float_data(1);
  EXPECT_TEXT(read_error(model), "tensor 't': it has raw_data and float_data, and can have only one of them");
  tensor.clear_raw_data();
  EXPECT_TEXT(read_error(model), "");
  tensor.add_int64_data(1);
  EXPECT_TEXT(read_error(model), "tensor 't': it has float_data and int64_data, and can have only one of them");
}

TEST(Reader, SidesBelowZero) {
  for (const bool is_output : {false, true}) {
    Proto model = small_model();
    auto& value = is_output ? *model.mutable_graph()->mutable_output(0) : *model.mutable_graph()->mutable_input(0);
    auto& type = *value.mutable_type()->mutable_tensor_type();
    type.set_elem_type(1);
    auto& side = *type.mutable_shape()->add_dim();
    side.set_dim_value(-1);  // the value of some exporters for an unknown dimension
    EXPECT_TEXT(read_error(model), "");
    side.set_dim_value(INT64_MIN);
    EXPECT_EQ(read_error(model), fmt::format("{} has a dimension of -9223372036854775808, and it must be 0 or more",
                                             is_output ? "output 'y'" : "input 'x'"));
  }
}

// Written by ONNX's own library for Python; the fuzzer begins with them.
TEST(Reader, FilesOfAnotherWriter) {
  const std::pair<std::string, std::string> rows[] = {
      {"block", "q8ta_quantize_linear q8ta_conv2d q8ta_max_pool2d q8ta_avg_pool2d reshape q8ta_dequantize"},
      {"operators", "requantize q8ta_conv2d requantize"},
      {"shapes", "reshape"},
      {"linear", "q8ta_quantize_linear q8ta_linear"},
      {"dynamic", "choose_qparams_affine quantize_linear bmm linear_q4gsw"},
      {"transposed",
       "q8ta_dequantize conv2d_transposed pointwise q8ta_quantize_linear q8ta_pixel_shuffle q8ta_avg_pool2d "
       "q8ta_avg_pool2d reshape"}};
  for (const auto& [name, operators] : rows) {
    const auto imported = import_model(std::filesystem::path(tests::source_folder()) / "tests/fuzz/corpus/onnx" / name);
    ASSERT_TRUE(imported) << to_text(imported.error());
    EXPECT_EQ(testing::operators_of(imported->graph), operators) << name;
  }
}

// ---- files that do not hold what they say ---------------------------------------------------------------------------

TEST(Hostile, NoModelAtAll) {
  const auto empty = import_model(std::span<const std::byte>());
  EXPECT_FALSE(empty);
  const std::string text = "this is no model, but a sentence";
  const auto result = import_model(bytes_in(text));
  ASSERT_FALSE(result);
  EXPECT_TEXT(result.error().message, "this is not an ONNX model, or it is incomplete");
}

TEST(Hostile, CutAnywhere) {
  Proto model = small_model();
  add_tensor(model, 1, {2}).set_raw_data("12345678");
  const std::string whole = model.SerializeAsString();
  for (size_t length = 0; length < whole.size(); ++length) {
    const auto result = import_model(bytes_in(whole.substr(0, length)));
    EXPECT_TRUE(result || !result.error().message.empty()) << length;
  }
}

// ---- functions ------------------------------------------------------------------------------------------------------

::onnx::NodeProto& add_node(google::protobuf::RepeatedPtrField<::onnx::NodeProto>& nodes, const std::string& op,
                            std::initializer_list<std::string> inputs, std::initializer_list<std::string> outputs) {
  auto& node = *nodes.Add();
  node.set_op_type(op);
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  return node;
}

// my.Act(X) = LeakyRelu(Neg(X)), with an alpha that the call may give. It has X as its second result.
Proto model_with_function() {
  Proto model = small_model();
  auto& function = *model.add_functions();
  function.set_domain("my");
  function.set_name("Act");
  function.add_opset_import()->set_version(13);
  function.add_input("X");
  function.add_output("Y");
  function.add_output("X");
  function.add_attribute("slope");
  add_node(*function.mutable_node(), "Neg", {"X"}, {"t"});
  auto& alpha = *add_node(*function.mutable_node(), "LeakyRelu", {"t"}, {"Y"}).add_attribute();
  alpha.set_name("alpha");
  alpha.set_type(::onnx::AttributeProto::FLOAT);
  alpha.set_ref_attr_name("slope");
  auto& nodes = *model.mutable_graph()->mutable_node();
  nodes.Clear();
  auto& call = add_node(nodes, "Act", {"x"}, {"a", "copy"});
  call.set_domain("my");
  call.set_name("first");
  auto& slope = *call.add_attribute();
  slope.set_name("slope");
  slope.set_type(::onnx::AttributeProto::FLOAT);
  slope.set_f(0.25F);
  add_node(nodes, "Act", {"a"}, {"b"}).set_domain("my");
  add_node(nodes, "Add", {"b", "copy"}, {"y"});
  return model;
}

TEST(Reader, FunctionsAreWrittenOut) {
  const auto model = read(model_with_function());
  ASSERT_TRUE(model) << to_text(model.error());
  std::vector<std::string> nodes;
  for (const Node& node : model->graph.nodes) {
    nodes.push_back(fmt::format("{} {}({}) -> {}", node.name, node.op, fmt::join(node.inputs, ", "), node.outputs[0]));
  }
  EXPECT_THAT(nodes,
              ::testing::ElementsAre("first#1/Neg Neg(x) -> first#1/t", "first#1/LeakyRelu LeakyRelu(first#1/t) -> a",
                                     "first#1/copy Identity(x) -> copy", "Act#2/Neg Neg(a) -> Act#2/t",
                                     "Act#2/LeakyRelu LeakyRelu(Act#2/t) -> b", "Add_5 Add(b, copy) -> y"));
  EXPECT_EQ(model->graph.nodes[1].real("alpha", 0), 0.25F);
  EXPECT_EQ(model->graph.nodes[4].find("alpha"), nullptr);
  EXPECT_EQ(import_error(model_with_function()), "");
}

// Field 11 of a function, which older schemas of ONNX lack.
TEST(Reader, FunctionsMayHaveDefaultsOfAttributes) {
  Proto proto = model_with_function();
  ::onnx::AttributeProto slope;
  slope.set_name("slope");
  slope.set_type(::onnx::AttributeProto::FLOAT);
  slope.set_f(0.5F);
  const std::string value = slope.SerializeAsString();
  const std::string field = std::string("\x5a") + static_cast<char>(value.size()) + value;
  auto& function = *proto.mutable_functions(0);
  ASSERT_TRUE(function.ParseFromString(function.SerializeAsString() + field));
  const auto model = read(proto);
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_EQ(model->graph.nodes[1].real("alpha", 0), 0.25F) << "the call says it";
  EXPECT_EQ(model->graph.nodes[4].real("alpha", 0), 0.5F);
}

TEST(Hostile, Functions) {
  Proto circular = model_with_function();
  add_node(*circular.mutable_functions(0)->mutable_node(), "Act", {"t"}, {"u"}).set_domain("my");
  EXPECT_THAT(read_error(circular),
              ::testing::HasSubstr("calls the function 'my.Act': calls are nested more than 64 deep"));
  Proto wide = model_with_function();
  for (int i = 0; i < 40; ++i) {  // 2^40 nodes
    auto& function = *wide.add_functions();
    function.set_domain("my");
    function.set_name(fmt::format("F{}", i));
    function.add_input("X");
    function.add_output("Y");
    const std::string inner = i == 0 ? "Act" : fmt::format("F{}", i - 1);
    add_node(*function.mutable_node(), inner, {"X"}, {"t"}).set_domain("my");
    add_node(*function.mutable_node(), inner, {"t"}, {"Y"}).set_domain("my");
  }
  add_node(*wide.mutable_graph()->mutable_node(), "F39", {"x"}, {"z"}).set_domain("my");
  EXPECT_THAT(read_error(wide), ::testing::HasSubstr("the functions have more than 200000 nodes"));
  Proto older = model_with_function();
  older.mutable_functions(0)->mutable_opset_import(0)->set_version(9);
  EXPECT_TEXT(read_error(older), "node 'first#1' calls the function 'my.Act': it is of opset 9, and the model of 13");
  Proto inputs = model_with_function();
  inputs.mutable_graph()->mutable_node(0)->add_input("x");
  EXPECT_TEXT(read_error(inputs),
              "node 'first#1' calls the function 'my.Act': it has 2 inputs and 2 outputs, and the "
              "function 1 and 2");
  Proto twice = model_with_function();
  *twice.add_functions() = twice.functions(0);
  EXPECT_TEXT(read_error(twice), "two functions are called 'my.Act'");
}

TEST(Hostile, DataOfAnotherSize) {
  Proto model = small_model();
  add_tensor(model, 1, {2, 3}).set_raw_data("1234");
  EXPECT_TEXT(read_error(model), "tensor 't': its shape takes 24 bytes, and it has 4");
}

TEST(Hostile, ShapesThatOverflow) {
  Proto model = small_model();
  add_tensor(model, 1, {int64_t{1} << 40, int64_t{1} << 40}).set_raw_data("1234");
  EXPECT_TEXT(read_error(model), "tensor 't': shape [1099511627776, 1099511627776] has more than 2^60 elements");
  Proto negative = small_model();
  add_tensor(negative, 1, {-1}).set_raw_data("1234");
  EXPECT_TEXT(read_error(negative), "tensor 't': shape [-1] has a negative dimension");
  Proto large = small_model();
  add_tensor(large, 1, {int64_t{1} << 50});
  EXPECT_TEXT(read_error(large), "tensor 't': the model's tensors have more than 68719476736 bytes");
}

TEST(Hostile, TypesThatThereAreNot) {
  for (const int32_t type : {0, 8, 14, 17, 23, -1, 1000}) {
    Proto model = small_model();
    add_tensor(model, type, {0});
    EXPECT_THAT(read_error(model), ::testing::HasSubstr("is not supported")) << type;
  }
}

TEST(Hostile, NamesTwice) {
  Proto tensors = small_model();
  add_tensor(tensors, 1, {0});
  add_tensor(tensors, 1, {0});
  EXPECT_TEXT(read_error(tensors), "two initializers are called 't'");
  Proto values = small_model();
  *values.mutable_graph()->add_node() = values.graph().node(0);
  EXPECT_TEXT(import_error(values), "node 'Identity_1': another node writes 'y' too");
  Proto inputs = small_model();
  *inputs.mutable_graph()->add_input() = inputs.graph().input(0);
  EXPECT_TEXT(import_error(inputs), "two inputs are called 'x'");
}

TEST(Hostile, CyclesAndWhatNothingWrites) {
  Proto cycle = small_model();
  cycle.mutable_graph()->mutable_node(0)->set_input(0, "y");
  EXPECT_TEXT(import_error(cycle), "node 'Identity_0' needs its own result, 'y'");
  Proto absent = small_model();
  absent.mutable_graph()->mutable_node(0)->set_input(0, "nobody");
  EXPECT_TEXT(import_error(absent),
              "node 'Identity_0' reads 'nobody', which is neither an input of the model nor a result of a node");
  Proto output = small_model();
  output.mutable_graph()->mutable_output(0)->set_name("nobody");
  EXPECT_TEXT(import_error(output),
              "the model has an output 'nobody', which is neither an input of the model nor a result of a node");
}

TEST(Hostile, WithoutGraphOpsetOrRank) {
  Proto graph = small_model();
  graph.clear_graph();
  EXPECT_TEXT(import_error(graph), "the model has no graph");
  Proto opset = small_model();
  opset.clear_opset_import();
  EXPECT_TEXT(import_error(opset), "the model does not name its opset");
  Proto rank = small_model();
  rank.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  EXPECT_TEXT(import_error(rank), "input 'x' has no shape, but its rank is needed");
}

TEST(Hostile, NodesWithoutInputsOrOutputs) {
  for (const char* op : {"Identity",
                         "Conv",
                         "QuantizeLinear",
                         "DequantizeLinear",
                         "Add",
                         "Reshape",
                         "Gather",
                         "Concat",
                         "MaxPool",
                         "Clip",
                         "Relu",
                         "Gemm",
                         "MatMul",
                         "QLinearConv",
                         "MatMulNBits",
                         "ReduceMean",
                         "DepthToSpace",
                         "Shape",
                         "Slice",
                         "Transpose",
                         "Constant",
                         "ConvTranspose",
                         "AveragePool",
                         "Cast",
                         "Softmax",
                         "If"}) {
    for (const char* domain : {"", "com.microsoft"}) {
      Proto model = small_model();
      auto& node = *model.mutable_graph()->mutable_node(0);
      node.set_op_type(op);
      node.set_domain(domain);
      node.clear_input();
      const std::string error = import_error(model);
      EXPECT_FALSE(error.empty()) << op;
      node.add_input("");
      node.add_input("x");
      EXPECT_TRUE(op == std::string("Constant") || !import_error(model).empty()) << op;
    }
  }
}

TEST(Hostile, AChainAsLongAsItMayBe) {
  Proto model = small_model();
  auto& graph = *model.mutable_graph();
  graph.clear_node();
  constexpr int kNodes = 100'000;
  for (int i = 0; i < kNodes; ++i) {
    auto& node = *graph.add_node();
    node.set_op_type("Relu");
    node.add_input(i == 0 ? "x" : "v" + std::to_string(i));
    node.add_output(i + 1 == kNodes ? "y" : "v" + std::to_string(i + 1));
  }
  const auto result = import_model(bytes_in(model.SerializeAsString()));
  ASSERT_TRUE(result) << to_text(result.error());
  EXPECT_EQ(result->graph.nodes.size(), static_cast<size_t>(kNodes));
  EXPECT_TEXT(read_error(model, {}, {.nodes = 1000}), "the model has 100000 nodes, and can have 1000");
}

// Relu is put into the graph immediately if its input is floating-point; on int8, functions wait for their reader.
TEST(Hostile, AChainOfFunctionsThatWaits) {
  Proto model = small_model();
  auto& graph = *model.mutable_graph();
  graph.mutable_node(0)->set_op_type("QuantizeLinear");
  add_tensor(model, 1, {}, "scale").add_float_data(1);
  graph.mutable_node(0)->add_input("scale");
  graph.mutable_node(0)->set_output(0, "codes");
  auto& view = *graph.add_node();
  view.set_op_type("DequantizeLinear");
  view.add_input("codes");
  view.add_input("scale");
  view.add_output("v0");
  constexpr int kNodes = 100'000;
  for (int i = 0; i < kNodes; ++i) {
    auto& node = *graph.add_node();
    node.set_op_type("Sigmoid");
    node.add_input("v" + std::to_string(i));
    node.add_output(i + 1 == kNodes ? "y" : "v" + std::to_string(i + 1));
  }
  EXPECT_TEXT(import_error(model),
              "node 'Sigmoid_18' (Sigmoid): it is the 17th function of one value in a row, and qgen fuses at most 16");
}

TEST(Hostile, ShapesThatDouble) {
  Proto model = small_model();
  auto& graph = *model.mutable_graph();
  graph.mutable_node(0)->set_op_type("Reshape");
  graph.mutable_node(0)->add_input("v40");
  add_tensor(model, 7, {1}, "v0").add_int64_data(1);
  for (int i = 0; i < 40; ++i) {
    auto& node = *graph.add_node();
    node.set_op_type("Concat");
    for (int twice = 0; twice < 2; ++twice) node.add_input("v" + std::to_string(i));
    node.add_output("v" + std::to_string(i + 1));
    auto& axis = *node.add_attribute();
    axis.set_name("axis");
    axis.set_type(::onnx::AttributeProto::INT);
    axis.set_i(0);
  }
  EXPECT_TEXT(import_error(model),
              "node 'Concat_19' (Concat): the model's nodes read its constants too often: importing it would take "
              "too long");
}

TEST(Hostile, OneLargeConstantReadByMany) {
  Proto model = small_model();
  auto& graph = *model.mutable_graph();
  graph.mutable_node(0)->set_input(0, "v1000");
  add_tensor(model, 1, {1 << 10, 1 << 10}, "v0").set_raw_data(std::string(size_t{4} << 20, '\0'));
  for (int i = 0; i < 1000; ++i) {
    auto& node = *graph.add_node();
    node.set_op_type("Transpose");
    node.add_input("v" + std::to_string(i));
    node.add_output("v" + std::to_string(i + 1));
  }
  EXPECT_TEXT(import_error(model),
              "node 'Transpose_34' (Transpose): the model's nodes read its constants too often: importing it would "
              "take too long");
}

// ---- external data --------------------------------------------------------------------------------------------------

class External : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("qgen_onnx_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_ / "model");
    std::ofstream(folder_ / "model" / "weights", std::ios::binary) << "0123456789abcdef";
    std::ofstream(folder_ / "secret", std::ios::binary) << "0123456789abcdef";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string error_of(const std::string& location, const std::string& offset = "",
                       const std::string& length = "") const {
    return read_error(model(location, offset, length), folder_ / "model");
  }
  static Proto model(const std::string& location, const std::string& offset = "", const std::string& length = "") {
    Proto proto = small_model();
    auto& tensor = add_tensor(proto, 1, {2});
    tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
    const auto say = [&](const std::string& key, const std::string& value) {
      if (value.empty()) return;
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    };
    say("location", location);
    say("offset", offset);
    say("length", length);
    return proto;
  }

  std::filesystem::path folder_;
};

TEST_F(External, IsRead) {
  const auto result = read(model("weights", "4", "8"), folder_ / "model");
  ASSERT_TRUE(result) << to_text(result.error());
  const auto& data = result->graph.initializers.at("t")->data;
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(data.data()), data.size()), "456789ab");
}

// A sparse file, of which only the end is on disk.
TEST_F(External, BeyondTwoGigabytes) {
  constexpr int64_t kOffset = int64_t{3} << 30;
  std::ofstream file(folder_ / "model" / "large", std::ios::binary);
  file.seekp(kOffset);
  file << "456789ab";
  file.close();
  const auto result = read(model("large", std::to_string(kOffset), "8"), folder_ / "model");
  ASSERT_TRUE(result) << to_text(result.error());
  const auto& data = result->graph.initializers.at("t")->data;
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(data.data()), data.size()), "456789ab");
}

TEST_F(External, LiesInTheModelsFolder) {
  std::filesystem::create_symlink("../secret", folder_ / "model" / "link");
  std::filesystem::create_directory_symlink("..", folder_ / "model" / "up");
  EXPECT_TEXT(error_of("../secret"), "tensor 't': external data '../secret' is no path in the model's folder");
  EXPECT_TEXT(error_of("x/../../secret"),
              "tensor 't': external data 'x/../../secret' is no path in the model's folder");
  EXPECT_THAT(error_of((folder_ / "secret").string()), ::testing::HasSubstr("is no path in the model's folder"));
  EXPECT_THAT(error_of(std::string("weights\0x", 9)), ::testing::HasSubstr("is no path in the model's folder"));
  EXPECT_TEXT(error_of("link"), "tensor 't': external data 'link' is a link out of the model's folder");
  EXPECT_TEXT(error_of("up/secret"), "tensor 't': external data 'up/secret' is a link out of the model's folder");
  EXPECT_TEXT(error_of(""), "tensor 't': external data '' is no path in the model's folder");
  EXPECT_TEXT(error_of("nothing"), "tensor 't': external data 'nothing' does not exist");
  EXPECT_TEXT(error_of("."), "tensor 't': external data '.' is no regular file");
  EXPECT_TEXT(read_error(model("weights")),
              "tensor 't': external data 'weights' cannot be read: the model was given without its folder");
}

TEST_F(External, PlacesThatThereAreNot) {
  EXPECT_TEXT(error_of("weights", "12"),
              "tensor 't': external data 'weights' has 16 bytes, and the model needs 8 at offset 12");
  EXPECT_TEXT(error_of("weights", "-1"),
              "tensor 't': external data 'weights' has 16 bytes, and the model needs 8 at offset -1");
  EXPECT_TEXT(error_of("weights", "9223372036854775807"),
              "tensor 't': external data 'weights' has 16 bytes, and the model needs 8 at offset 9223372036854775807");
  EXPECT_TEXT(error_of("weights", "99999999999999999999"),
              "tensor 't': the offset of its external data is not an integer");
  EXPECT_TEXT(error_of("weights", "0", "7"), "tensor 't': its shape takes 8 bytes, and its external data have 7");
}

}  // namespace
}  // namespace qgen::onnx
