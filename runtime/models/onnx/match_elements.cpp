// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>

#include "runtime/models/onnx/match.h"

namespace qgen::onnx::matching {
namespace {

Expected<Pending> binary(Builder& builder, const Node& node, Arguments arguments, bool are_bytes) {
  Pending pending{.name = node.name};
  const DType constants_are = dtype_of_constants(arguments);
  for (size_t i = 0; i < 2; ++i) {
    const auto known = needed(arguments, i);
    if (!known) return known.error();
    if (are_bytes && !builder.view_of(**known))
      return unsupported(fmt::format("input {} is not quantized to 8 or 4 bits with one scale", i));
  }
  for (size_t i = 0; i < 2; ++i) {
    auto operand = builder.operand_of(i == 0 ? "input" : "other", *arguments[i], constants_are);
    if (!operand) return operand.error();
    pending.operands.push_back(*std::move(operand));
  }
  auto shape = broadcast(arguments[0]->shape, arguments[1]->shape);
  if (!shape) return shape.error();
  pending.shape = *std::move(shape);
  return pending;
}

}  // namespace

Expected<Pending> both_bytes(Builder& builder, const Node& node, Arguments arguments) {
  return binary(builder, node, arguments, true);
}

Expected<Pending> of_any(Builder& builder, const Node& node, Arguments arguments) {
  return binary(builder, node, arguments, false);
}

namespace {

// Sums with a factor of -1, which q8ta_add and fused_add both have.
Expected<Pending> difference(Expected<Pending> pending) {
  if (pending) pending->attributes.insert_or_assign("alpha", AttributeValue(-1.0));
  return pending;
}

}  // namespace

Expected<Pending> difference_of_bytes(Builder& builder, const Node& node, Arguments arguments) {
  return difference(binary(builder, node, arguments, true));
}

Expected<Pending> difference_of_any(Builder& builder, const Node& node, Arguments arguments) {
  return difference(binary(builder, node, arguments, false));
}

// Of a Concat. Quantizing each part is quantizing the whole, so that parts may be real.
Expected<Pending> parts(Builder& builder, const Node& node, Arguments arguments) {
  Pending pending{.name = node.name};
  const auto first = needed(arguments, 0);
  if (!first) return first.error();
  pending.shape = (*first)->shape;
  const auto rank = std::ssize(pending.shape);
  const int64_t said = node.integer("axis", 1), axis = said < 0 ? said + rank : said;
  if (axis < 0 || axis >= rank)
    return refused(fmt::format("its axis is {}, and its input is {}", said, to_text(pending.shape)));
  pending.attributes.insert_or_assign("axis", AttributeValue(axis));
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto part = needed(arguments, i);
    if (!part) return part.error();
    if (i > 0) {
      auto shape = joined(pending.shape, (*part)->shape, static_cast<size_t>(axis), builder.symbols.next);
      if (!shape) return shape.error();
      pending.shape = *std::move(shape);
    }
    if (const auto view = builder.view_of(**part)) {
      pending.operands.push_back({"", *view, (*part)->shape});
      continue;
    }
    const auto real = builder.real_of(**part, dtype_of_constants(arguments));
    if (!real) return real.error();
    pending.operands.push_back({"", *real, (*part)->shape});
  }
  return pending;
}

}  // namespace qgen::onnx::matching
