// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/upgrade.h"

#include <fmt/format.h>

#include <algorithm>

namespace qgen::onnx {
namespace {

constexpr int64_t kOldest = 1, kNewest = 7;

// Until opset 5 `to` was a word.
void upgrade_cast(Node& node) {
  struct Row {
    std::string_view word;
    int64_t number;  // of TensorProto.DataType
  };
  constexpr Row kTypes[] = {{"FLOAT", 1},    {"UINT8", 2},   {"INT8", 3},    {"UINT16", 4},
                            {"INT16", 5},    {"INT32", 6},   {"INT64", 7},   {"BOOL", 9},
                            {"FLOAT16", 10}, {"DOUBLE", 11}, {"UINT32", 12}, {"UINT64", 13}};
  const auto row = std::ranges::find(kTypes, node.word("to", ""), &Row::word);
  if (row != std::end(kTypes)) node.attributes.insert_or_assign("to", row->number);
}

// Until opset 4 the shape was an attribute.
void upgrade_reshape(ModelGraph& graph, Node& node) {
  const std::vector<int64_t> shape = node.integers("shape");
  const std::string name = node.name + " shape";
  graph.initializers.emplace(
      name, std::make_shared<const Tensor>(tensor_of<int64_t>(ElementType::i64, {std::ssize(shape)}, shape, name)));
  node.inputs.push_back(name);
  node.attributes.erase("shape");
}

Done upgrade_node(ModelGraph& graph, Node& node) {
  const bool trains = (node.op == "BatchNormalization" || node.op == "Dropout") && node.integer("is_test", 0) == 0;
  if (trains && node.op == "BatchNormalization")
    return unsupported("it trains: its attribute is_test is 0", "export the model for inference");
  if (node.find("broadcast") && node.find("axis")) {
    if (node.integer("broadcast", 0) != 0) node.broadcast_axis = node.integer("axis", 0);
    node.attributes.erase("axis");
  }
  for (const char* gone : {"consumed_inputs", "is_test", "broadcast"}) node.attributes.erase(gone);
  node.is_old = true;
  if (node.op == "Cast") upgrade_cast(node);
  if (node.op == "Reshape" && node.find("shape")) upgrade_reshape(graph, node);
  if (node.op == "Concat" && !node.find("axis")) node.attributes.emplace("axis", int64_t{1});
  if (node.op == "Pad" && node.find("paddings")) {
    AttributeData pads = *node.find("paddings");
    node.attributes.erase("paddings");
    node.attributes.insert_or_assign("pads", std::move(pads));
  }
  return std::monostate{};
}

}  // namespace

Done upgrade(Model& model) {
  const auto opset = model.opsets.find("");
  if (opset == model.opsets.end() || opset->second < kOldest || opset->second >= kNewest) return std::monostate{};
  for (Node& node : model.graph.nodes) {
    if (!node.domain.empty()) continue;
    if (Done done = upgrade_node(model.graph, node); !done)
      return unsupported(fmt::format("node '{}' ({}): {}", node.name, node.op, done.error().message),
                         done.error().hint);
  }
  opset->second = kNewest;
  return std::monostate{};
}

}  // namespace qgen::onnx
