// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/signs.h"

#include <algorithm>

namespace qgen::onnx {
namespace {

enum class From : uint8_t { itself, first_input, all_inputs, any_input };

struct SignRow {
  std::string_view op;
  From from;  // the inputs that must be never below 0, so that the result is not
};
constexpr SignRow kSignRows[] = {
    {"Abs", From::itself},
    {"Add", From::all_inputs},
    {"AveragePool", From::first_input},
    {"Cast", From::first_input},
    {"Ceil", From::first_input},
    {"Concat", From::all_inputs},
    {"DepthToSpace", From::first_input},
    {"Dropout", From::first_input},
    {"Exp", From::itself},
    {"Expand", From::first_input},
    {"Flatten", From::first_input},
    {"Floor", From::first_input},
    {"Gather", From::first_input},
    {"GlobalAveragePool", From::first_input},
    {"GlobalMaxPool", From::first_input},
    {"HardSigmoid", From::itself},
    {"Identity", From::first_input},
    {"LeakyRelu", From::first_input},
    {"Max", From::any_input},
    {"MaxPool", From::first_input},
    {"Mean", From::all_inputs},
    {"Min", From::all_inputs},
    {"Mul", From::all_inputs},
    {"ReduceL1", From::itself},
    {"ReduceL2", From::itself},
    {"ReduceMax", From::first_input},
    {"ReduceMean", From::first_input},
    {"ReduceMin", From::first_input},
    {"ReduceSum", From::first_input},
    {"ReduceSumSquare", From::itself},
    {"Relu", From::itself},
    {"Reshape", From::first_input},
    {"Sigmoid", From::itself},
    {"Slice", From::first_input},
    {"Softmax", From::itself},
    {"Softplus", From::itself},
    {"SpaceToDepth", From::first_input},
    {"Split", From::first_input},
    {"Squeeze", From::first_input},
    {"Sum", From::all_inputs},
    {"Tile", From::first_input},
    {"Transpose", From::first_input},
    {"Unsqueeze", From::first_input},
    {"Upsample", From::first_input},
};

}  // namespace

bool Signs::is_never_negative(std::string_view value) const {
  if (never_negative_.contains(value)) return true;
  const auto constant = graph_.initializers.find(value);
  if (constant == graph_.initializers.end() || !is_real(constant->second->type)) return false;
  const auto [known, is_new] = constants_.try_emplace(constant->second.get(), true);
  for (int64_t i = 0; is_new && known->second && i < constant->second->size(); ++i)
    known->second = constant->second->real(i) >= 0;
  return known->second;
}

bool Signs::is_kept(const Node& node) const {
  const auto is_so = [this](const std::string& input) { return input.empty() || is_never_negative(input); };
  const auto at = [&](size_t i) { return node.has_input(i) && is_never_negative(node.inputs[i]); };
  if (node.op == "Clip") return at(0) || at(1) || node.real("min", -1) >= 0;
  if (node.op == "Where") return at(1) && at(2);
  if (node.op == "Pad") return at(0) && (!node.has_input(2) || at(2)) && node.real("value", 0) >= 0;
  if (node.op == "Resize")  // weights of other modes may be below 0
    return at(0) && node.word("mode", "nearest") != "cubic" && node.real("extrapolation_value", 0) >= 0;
  const auto row = std::ranges::find(kSignRows, node.op, &SignRow::op);
  if (row == std::end(kSignRows)) return false;
  switch (row->from) {
    case From::itself: return true;
    case From::first_input: return at(0);
    case From::all_inputs: return std::ranges::all_of(node.inputs, is_so);
    case From::any_input:
      return std::ranges::any_of(node.inputs,
                                 [&](const std::string& input) { return !input.empty() && is_never_negative(input); });
  }
  return false;
}

void Signs::add(const Node& node) {
  if (!node.domain.empty() || !is_kept(node)) return;
  for (const std::string& output : node.outputs) {
    if (!output.empty()) never_negative_.insert(output);
  }
}

}  // namespace qgen::onnx
