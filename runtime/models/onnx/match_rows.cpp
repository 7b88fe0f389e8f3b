// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/models/onnx/match.h"

namespace qgen::onnx::matching {
namespace {

// Operators work on the last dimension: the input's dimensions from the axis on are merged into one, and split again
// afterwards.
Expected<Pending> rows_from(Builder& builder, const Node& node, Arguments arguments, int64_t axis) {
  const auto real = real_at(builder, arguments, 0);
  if (!real) return real.error();
  const Dims& input = arguments[0]->shape;
  const auto rank = std::ssize(input);
  const int64_t first = axis < 0 ? axis + rank : axis;
  if (first < 0 || first >= rank)
    return refused(fmt::format("its axis is {}, and its input is {}", axis, to_text(input)));
  Pending pending{.name = node.name, .shape = input};
  if (first == rank - 1) {
    pending.operands.push_back({"input", *real, input});
    return pending;
  }
  Dims target(input.begin(), input.begin() + first);
  target.push_back({-1});
  auto shape = reshaped(input, target, false, builder.symbols.next);
  if (!shape) return shape.error();
  const auto rows = builder.reshape(node.name + " rows", real->value, *shape);
  if (!rows) return rows.error();
  pending.operands.push_back({"input", Real{*rows, real->dtype}, *shape});
  pending.shape = *std::move(shape);
  pending.reshaped = input;
  return pending;
}

}  // namespace

Expected<Pending> softmax(Builder& builder, const Node& node, Arguments arguments) {
  return rows_from(builder, node, arguments, node.integer("axis", builder.opset < 13 ? 1 : -1));
}

namespace {

// Of a LayerNormalization that join_layers() made: it says all of its axes.
Done check_last_axes(const Node& node, size_t rank) {
  std::vector<int64_t> axes = node.integers("axes");
  for (int64_t& axis : axes) axis += axis < 0 ? static_cast<int64_t>(rank) : 0;
  std::ranges::sort(axes);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<int64_t>(rank - axes.size() + i))
      return unsupported(fmt::format("it normalizes along axes [{}], and can along the last ones",
                                     fmt::join(node.integers("axes"), ", ")));
  }
  return std::monostate{};
}

}  // namespace

namespace {

// With as many of the operands weight and bias as the operator has.
Expected<Pending> normalized(Builder& builder, const Node& node, Arguments arguments, size_t most_operands) {
  if (const auto input = needed(arguments, 0); !input) return input.error();
  if (Done last = check_last_axes(node, arguments[0]->shape.size()); !last) return last.error();
  auto pending = rows_from(builder, node, arguments, node.integer("axis", -1));
  if (!pending) return pending;
  const DType dtype = std::get<Real>(pending->operands.front().value).dtype;
  const Dims row{pending->shape.back()};
  constexpr std::string_view kPorts[] = {"weight", "bias"};
  for (size_t i = 0; i < most_operands; ++i) {
    const Known* known = at(arguments, i + 1);
    if (!known) continue;
    const auto real = builder.real_of(*known, dtype);
    if (!real) return real.error();
    if (real->dtype != dtype) return unsupported(fmt::format("its {} has another type than its input", kPorts[i]));
    auto shape = reshaped(known->shape, {{-1}}, false, builder.symbols.next);
    if (!shape) return shape.error();
    if (*shape != row)
      return refused(
          fmt::format("its {} is {}, and must be {} as its rows", kPorts[i], to_text(known->shape), to_text(row)));
    const auto flat = builder.reshape(fmt::format("{} {}", node.name, kPorts[i]), real->value, row);
    if (!flat) return flat.error();
    pending->operands.push_back({kPorts[i], Real{*flat, dtype}, row});
  }
  pending->attributes.insert_or_assign("epsilon", AttributeValue(double{node.real("epsilon", 1e-5f)}));
  return pending;
}

}  // namespace

Expected<Pending> layer_norm(Builder& builder, const Node& node, Arguments arguments) {
  return normalized(builder, node, arguments, 2);
}

Expected<Pending> rms_norm(Builder& builder, const Node& node, Arguments arguments) {
  return normalized(builder, node, arguments, 1);
}

}  // namespace qgen::onnx::matching
