// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Nodes of two operands that are a function of one byte. A tool that quantizes every node writes x * Clip(x + 3, 0, 6) / 6
// as four nodes, each between DequantizeLinear and QuantizeLinear. Each result has at most 256 values, which the bytes of
// x determine. So all of them are one lookup table of x, with the roundings of the model in it:
//
//   x -> Add 3 -> Q -> DQ -> Clip -> Q -> DQ -> Mul x -> Q -> DQ -> Div 6 -> Q        becomes q8ta_table(x)
//
// The builder remembers of which bytes each table is (BytesOf).
#include <algorithm>
#include <cmath>

#include "runtime/models/onnx/importer.h"

namespace qgen::onnx {
namespace {

using RealOperation = float (*)(float a, float b);
struct ByteOperation {
  std::string_view op;
  RealOperation of;
};
constexpr ByteOperation kByteOperations[] = {
    {"Add", [](float a, float b) { return a + b; }},          {"Div", [](float a, float b) { return a / b; }},
    {"Max", [](float a, float b) { return std::max(a, b); }}, {"Min", [](float a, float b) { return std::min(a, b); }},
    {"Mul", [](float a, float b) { return a * b; }},          {"Sub", [](float a, float b) { return a - b; }},
};

// The value of an operand for each byte of the root; the same for all, if it is a number.
using RealOfByte = std::array<float, 256>;

std::optional<RealOfByte> values_of_number(const Known& known) {
  RealOfByte values;
  if (const TensorPtr tensor = known.tensor(); tensor && tensor->size() == 1 && tensor->type == ElementType::f32) {
    values.fill(static_cast<float>(tensor->real(0)));
    return values;
  }
  const auto* constant = known.as<QuantizedConstant>();
  if (!constant || constant->codes->size() != 1 || !constant->parameters.is_per_tensor()) return std::nullopt;
  const HostTensor exact = dequantized(*constant);
  values.fill(exact.as<float>()[0]);
  return values;
}

RealOfByte values_of(const View& view, const ByteTable& table) {
  RealOfByte values;
  for (size_t i = 0; i < values.size(); ++i) values[i] = qgen::dequantized(table[i], view.quantization);
  return values;
}

}  // namespace

std::optional<Known> Importer::of_one_byte(const Node& node, Arguments arguments) const {
  const auto row = std::ranges::find(kByteOperations, node.op, &ByteOperation::op);
  const bool has_two = arguments.size() == 2 && arguments[0] && arguments[1];
  if (!builder_.fuses || !node.domain.empty() || row == std::end(kByteOperations) || !has_two) return std::nullopt;
  const auto uses = order_.uses.find(node.outputs.front());
  if (uses == order_.uses.end() || uses->second.all != uses->second.quantizes) return std::nullopt;

  std::optional<ValueId> root;
  RealOfByte values[2];
  for (size_t i = 0; i < 2; ++i) {
    if (const auto number = values_of_number(*arguments[i])) {
      values[i] = *number;
      continue;
    }
    const auto* view = arguments[i]->as<View>();
    if (!view) return std::nullopt;
    const BytesOf bytes = builder_.bytes_of(view->codes);
    if (root && *root != bytes.root) return std::nullopt;
    root = bytes.root;
    values[i] = values_of(*view, bytes.table);
  }
  if (!root) return std::nullopt;
  const Dims& shape = builder_.shapes[*root];
  for (const Known* argument : arguments) {
    if (argument->shape.size() > shape.size()) return std::nullopt;
  }
  RealOfByte results;
  for (size_t i = 0; i < results.size(); ++i) results[i] = row->of(values[0][i], values[1][i]);
  if (!std::ranges::all_of(results, [](float result) { return std::isfinite(result); })) return std::nullopt;
  // The argument of the function is the byte itself: a scale of 1.
  Pending pending = identity(View{*root, {1, 0}}, shape);
  pending.name = node.name;
  const Function function{
      .of = [results](double q) { return results[static_cast<size_t>(static_cast<int>(q) + 128)]; }};
  pending.functions.push_back({node.name, node.op, function});
  return Known{std::make_shared<Pending>(std::move(pending)), shape};
}

}  // namespace qgen::onnx
