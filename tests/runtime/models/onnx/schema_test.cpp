// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Every operator of ONNX's schema, each of its attributes, inputs and outputs: a node that follows the schema passes,
// and a deviation is refused by its name.
#include "runtime/models/onnx/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "runtime/models/onnx/check_model.h"
#include "tests/runtime/models/onnx/model_builder.h"
#include "tests/support/expected_text.h"

namespace qgen::onnx::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kKinds[] = {"integer", "real", "word", "integers", "reals", "words", "tensor", "graph"};

// Of a kind, and in every range and list of words that there is for the attribute of that name.
AttributeData sound_value(std::string_view kind, std::string_view attribute, std::string_view op) {
  if (kind == "integer") return attribute == "bits" ? int64_t{4} : int64_t{1};
  if (kind == "real") return 0.5f;
  if (kind == "integers") return std::vector<int64_t>{1, 1};
  if (kind == "reals") return std::vector<float>{1, 2};
  if (kind == "words") return std::vector<std::string>{"Tanh"};
  if (kind == "tensor") return std::make_shared<const Tensor>(tensor_of<float>(ElementType::f32, {}, {}));
  if (kind == "graph") return Subgraph{};
  if (attribute == "auto_pad") return std::string("NOTSET");
  if (attribute == "mode") return std::string(op == "Pad" ? "edge" : op == "DepthToSpace" ? "CRD" : "nearest");
  if (attribute == "coordinate_transformation_mode") return std::string("asymmetric");
  if (attribute == "nearest_mode") return std::string("floor");
  if (attribute == "keep_aspect_ratio_policy") return std::string("stretch");
  if (attribute == "approximate") return std::string("tanh");
  return std::string("any");
}

// With all that the row says: a Constant has one value of many.
Node whole_node(const SchemaRow& row) {
  Node node{.name = "n", .op = std::string(row.op), .domain = std::string(row.domain)};
  for (const SchemaParameter& input : inputs_of(row)) node.inputs.emplace_back(input.name);
  for (const SchemaParameter& output : outputs_of(row)) node.outputs.push_back(fmt::format("{}_result", output.name));
  for (const SchemaAttribute& attribute : attributes_of(row)) {
    if (row.op == "Constant" && !node.attributes.empty()) break;
    node.attributes.emplace(attribute.name, sound_value(attribute.kind, attribute.name, row.op));
  }
  return node;
}

std::string checked(const Node& node, const SchemaRow& row) {
  const Done done = check_node(node, row.since);
  return done ? "sound" : done.error().message;
}

TEST(Schema, RowsAreSortedAndThereOnce) {
  const auto rows = schema_rows();
  const auto key = [](const SchemaRow& row) { return std::tuple(row.domain, row.op, row.since); };
  ASSERT_GT(rows.size(), 200U);
  for (size_t i = 1; i < rows.size(); ++i) EXPECT_LT(key(rows[i - 1]), key(rows[i])) << rows[i].op;
}

TEST(Schema, ARowIsInForceUntilTheNext) {
  EXPECT_EQ(find_schema("Slice", "", 9)->since, 1);
  EXPECT_EQ(find_schema("Slice", "", 21)->since, 10);
  EXPECT_EQ(find_schema("Gelu", "", 19)->since, 20) << "the first, where a model is of an opset before it";
  EXPECT_EQ(find_schema("MatMulNBits", "com.microsoft", 0)->since, 1);
  EXPECT_EQ(find_schema("Mystery", "", 21), nullptr);
  const auto inputs = inputs_of(*find_schema("Conv", "", 13));
  ASSERT_EQ(inputs.size(), 3U);
  EXPECT_TRUE(inputs[2].is_optional && inputs[2].name == "B" && inputs[2].type == "T");
}

TEST(Schema, AWholeNodeIsSound) {
  for (const SchemaRow& row : schema_rows()) EXPECT_EQ(checked(whole_node(row), row), "sound") << row.op << row.since;
}

TEST(Schema, AnAttributeOfAnotherKindIsRefused) {
  size_t tried = 0;
  for (const SchemaRow& row : schema_rows()) {
    for (const SchemaAttribute& attribute : attributes_of(row)) {
      for (const std::string_view kind : kKinds) {
        if (kind == attribute.kind) continue;
        Node node = whole_node(row);
        if (row.op == "Constant") node.attributes.clear();
        node.attributes.insert_or_assign(std::string(attribute.name), sound_value(kind, attribute.name, row.op));
        EXPECT_THAT(checked(node, row), AllOf(StartsWith(fmt::format("its attribute '{}' is a", attribute.name)),
                                              HasSubstr("ONNX defines it as a")))
            << row.op << " " << row.since << " " << kind;
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 1000U);
}

// By the door that users come in by, wherever in the model the node is.
TEST(Schema, AnImportNamesTheNodeAndTheAttribute) {
  for (const SchemaRow& row : schema_rows()) {
    for (const SchemaAttribute& attribute : attributes_of(row)) {
      ModelBuilder m(std::max<int64_t>(row.since, 7));
      Node node = whole_node(row);
      if (row.op == "Constant") node.attributes.clear();
      for (const SchemaParameter& input : inputs_of(row)) m.input(std::string(input.name), {1, 2, 4, 4});
      node.attributes.insert_or_assign(
          std::string(attribute.name),
          sound_value(attribute.kind == "words" ? "word" : "words", attribute.name, row.op));
      m.output(node.outputs.front());
      m.model.graph.nodes.push_back(node);
      if (find_schema(row.op, row.domain, m.model.opsets[""]) != &row) continue;  // a later one is in force
      EXPECT_THAT(imported_operators(m),
                  StartsWith(fmt::format("node 'n' ({}): its attribute '{}' is a", row.op, attribute.name)));
    }
  }
}

TEST(Schema, AnAttributeThatIsNotThereIsRefused) {
  for (const SchemaRow& row : schema_rows()) {
    Node node = whole_node(row);
    node.attributes.emplace("zzz", int64_t{1});
    EXPECT_EQ(checked(node, row), fmt::format("it has an attribute 'zzz', which {} does not have", row.op));
  }
  Node conv = whole_node(*find_schema("Conv", "", 11));
  conv.attributes.emplace("pad", std::vector<int64_t>{1, 1, 1, 1});
  EXPECT_TEXT(check_node(conv, 11).error().hint, "did you mean 'pads'?");
}

TEST(Schema, AnAttributeOfAnotherOpsetIsRefused) {
  Node pool = whole_node(*find_schema("AveragePool", "", 10));
  pool.attributes.emplace("dilations", std::vector<int64_t>{1, 1});
  EXPECT_TEXT(check_node(pool, 11).error().message,
              "it has an attribute 'dilations', which AveragePool has from opset 19 on");
  EXPECT_TRUE(check_node(pool, 19));
  Node norm = whole_node(*find_schema("BatchNormalization", "", 9));
  norm.attributes.emplace("spatial", int64_t{1});
  EXPECT_TEXT(check_node(norm, 13).error().message,
              "it has an attribute 'spatial', which BatchNormalization has no longer from opset 9 on");
}

TEST(Schema, WhatANodeNeedsMustBeThere) {
  for (const SchemaRow& row : schema_rows()) {
    for (const SchemaAttribute& attribute : attributes_of(row)) {
      if (!attribute.is_required || row.op == "Constant") continue;
      Node node = whole_node(row);
      node.attributes.erase(std::string(attribute.name));
      EXPECT_EQ(checked(node, row), fmt::format("it has no attribute '{}', and {} needs one", attribute.name, row.op));
    }
    const auto inputs = inputs_of(row);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].is_optional || inputs[i].is_variadic) continue;
      Node node = whole_node(row);
      node.inputs[i].clear();
      EXPECT_EQ(checked(node, row), fmt::format("it has no input {} ({}), which {} needs", i, inputs[i].name, row.op));
    }
    if (inputs.empty() || !inputs.back().is_variadic) {
      Node node = whole_node(row);
      node.inputs.emplace_back("more");
      EXPECT_THAT(checked(node, row),
                  AllOf(HasSubstr(" input"), HasSubstr(fmt::format("has at most {}", inputs.size()))));
    }
    if (const auto outputs = outputs_of(row); !outputs.back().is_variadic) {
      Node node = whole_node(row);
      node.outputs.emplace_back("more");
      EXPECT_THAT(checked(node, row), AllOf(HasSubstr(" output"), HasSubstr("has at most")));
    }
  }
}

TEST(Schema, ValuesHaveRangesAndWords) {
  struct Value {
    std::string_view op, attribute;
    AttributeData value;
    std::string_view reason;
  };
  const Value rows[] = {
      {"AveragePool", "ceil_mode", int64_t{7}, "its attribute 'ceil_mode' is 7, and can be 0 to 1"},
      {"AveragePool", "count_include_pad", int64_t{-1}, "its attribute 'count_include_pad' is -1, and can be 0 to 1"},
      {"Conv", "group", int64_t{0}, "its attribute 'group' is 0, and can be 1 or more"},
      {"Conv", "auto_pad", std::string("SAME"),
       "its attribute 'auto_pad' is 'SAME', and can be NOTSET, SAME_UPPER, SAME_LOWER, VALID"},
      {"Pad", "mode", std::string("zero"), "its attribute 'mode' is 'zero', and can be constant, reflect, edge, wrap"},
      {"Resize", "mode", std::string("area"), "its attribute 'mode' is 'area', and can be nearest, linear, cubic"},
      {"Gemm", "transB", int64_t{2}, "its attribute 'transB' is 2, and can be 0 to 1"},
      {"Cast", "to", int64_t{99}, "its attribute 'to' is 99, and can be 1 to 23"},
      {"BatchNormalization", "epsilon", -1.0f, "its attribute 'epsilon' is -1, and can be 0 or more"},
      {"BatchNormalization", "epsilon", std::nanf(""), "its attribute 'epsilon' is nan, and can be 0 or more"},
  };
  for (const Value& row : rows) {
    const SchemaRow& schema = *find_schema(row.op, "", 21);
    Node node = whole_node(schema);
    node.attributes.insert_or_assign(std::string(row.attribute), row.value);
    EXPECT_TEXT(checked(node, schema), row.reason);
  }
}

TEST(Schema, AConstantHasOneValue) {
  const SchemaRow& row = *find_schema("Constant", "", 13);
  Node node = whole_node(row);
  node.attributes = {{"value_float", 1.0f}, {"value_int", int64_t{1}}};
  EXPECT_EQ(checked(node, row), "it has value_float and value_int, and a Constant must have one value");
  node.attributes.clear();
  EXPECT_EQ(checked(node, row), "it has no value");
}

// ---- types ----------------------------------------------------------------------------------------------------------

TEST(Schema, TypesGoTogether) {
  struct Mismatch {
    std::string reason;
    std::string (*build)(ModelBuilder& m);
  };
  const Mismatch rows[] = {
      {"its input W ('w') is float64 and its input X is float32, and ONNX requires the same type",
       [](ModelBuilder& m) {
         m.constant(tensor_of<double>(ElementType::f64, {1, 4, 1, 1}, std::vector<double>{1, 2, 3, 4}, "w"));
         return m.node("Conv", {"x", "w"});
       }},
      {"its input x_scale ('s') is float64, and can be float32",
       [](ModelBuilder& m) {
         m.constant(tensor_of<double>(ElementType::f64, {}, std::vector<double>{1}, "s"));
         return m.node("DequantizeLinear", {m.quantize("x", 0.1f, 0), "s"});
       }},
      {"its input shape ('constant_0') is float32, and can be int64",
       [](ModelBuilder& m) {
         return m.node("Reshape", {"x", m.reals({1}, {-1})});
       }},
      {"its input X ('QuantizeLinear_0_result') is int8, and can be bfloat16, float16, float32, float64",
       [](ModelBuilder& m) { return m.node("Sigmoid", {m.quantize("x", 0.1f, 0)}); }},
      {"its input B ('constant_0') is int64 and its input A is float32, and ONNX requires the same type",
       [](ModelBuilder& m) {
         return m.node("Add", {"x", m.list({1})});
       }},
  };
  for (const Mismatch& row : rows) {
    ModelBuilder m;
    m.input("x", {1, 4, 6, 6});
    m.output(row.build(m));
    EXPECT_TEXT(first_reason(imported_operators(m)), row.reason);
  }
}

TEST(Schema, OutputsAreWhatTheyAreDeclaredAs) {
  struct Declared {
    int64_t type;
    std::vector<InputSide> shape;
    std::string_view expected;
  };
  const Declared rows[] = {
      {1, {{1, {}}, {4, {}}, {6, {}}}, "fused_relu"},
      {0, {{0, "any"}, {4, {}}, {0, "side"}}, "fused_relu"},
      {3, {{1, {}}, {4, {}}, {6, {}}}, "output 'Relu_0_result' is declared as int8, and the model computes float32"},
      {11,
       {{1, {}}, {4, {}}, {6, {}}},
       "output 'Relu_0_result' is declared as float64, and the model computes float32"},
      {1, {{7, {}}, {7, {}}}, "output 'Relu_0_result' is declared as [7, 7], and the model computes [1, 4, 6]"},
      {1,
       {{1, {}}, {4, {}}, {7, {}}},
       "output 'Relu_0_result' is declared as [1, 4, 7], and the model computes [1, 4, 6]"},
      {1, {}, "output 'Relu_0_result' is declared as [], and the model computes [1, 4, 6]"},
  };
  for (const Declared& row : rows) {
    ModelBuilder m;
    m.output(m.node("Relu", {m.input("x", {1, 4, 6})}));
    ValueInfo& output = m.model.graph.outputs.front();
    output.declared_type = row.type;
    output.type = element_type(row.type);
    output.shape = row.shape;
    EXPECT_EQ(imported_operators(m), row.expected);
  }
}

TEST(Schema, InnerValuesAreWhatTheyAreDeclaredAs) {
  struct Declared {
    std::string name;
    int64_t type;
    std::vector<InputSide> shape;
    std::string_view expected;
  };
  const Declared rows[] = {
      {"Relu_0_result", 1, {{1, {}}, {0, "side"}, {6, {}}}, "fused_relu fused_sigmoid"},
      {"gone", 7, {{9, {}}}, "fused_relu fused_sigmoid"},
      {"Relu_0_result", 10, {}, "value 'Relu_0_result' is declared as float16, and the model computes float32"},
      {"Relu_0_result",
       1,
       {{1, {}}, {24, {}}},
       "node 'Relu_0' (Relu): value 'Relu_0_result' is declared as [1, 24], and the model computes [1, 4, 6]"},
  };
  for (const Declared& row : rows) {
    ModelBuilder m;
    m.output(m.node("Sigmoid", {m.node("Relu", {m.input("x", {1, 4, 6})})}));
    m.model.graph.values.push_back({row.name, element_type(row.type), row.shape, row.type});
    EXPECT_EQ(imported_operators(m), row.expected);
  }
}

TEST(Schema, ConstantsAreWhatTheyAreDeclaredAs) {
  ModelBuilder m;
  const std::string bias = m.reals({4}, {1, 2, 3, 4});
  m.output(m.node("Add", {m.input("x", {1, 4}), bias}));
  m.model.graph.values.push_back({bias, ElementType::f32, std::vector<InputSide>{{5, {}}}, 1});
  EXPECT_EQ(imported_operators(m), "value 'constant_0' is declared as [5], and the model computes [4]");
}

// ONNX: pads "cannot be used simultaneously with auto_pad". Zeros say nothing.
TEST(Schema, PadsBesideAutoPad) {
  for (const std::string word : {"SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"}) {
    for (const int64_t pad : {0, 1}) {
      ModelBuilder m;
      m.input("x", {1, 4, 6, 6});
      m.output(m.conv("x", {3, 4, 3, 3}, {{"auto_pad", word}, {"pads", std::vector<int64_t>{0, pad, 0, 0}}}));
      const std::string said = imported_operators(m);
      const std::string fault =
          fmt::format("it has both pads [0, 1, 0, 0] and auto_pad '{}', and ONNX allows only one of them", word);
      EXPECT_EQ(said.find(fault) != std::string::npos, pad == 1 && word != "NOTSET") << said;
    }
  }
}

}  // namespace
}  // namespace qgen::onnx::testing
