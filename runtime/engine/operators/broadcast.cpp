// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/operators/broadcast.h"

#include <fmt/format.h>

#include <algorithm>

namespace qgen {
namespace {

constexpr size_t kInner = 3;  // dimensions that are no part of the batch

// Counted from the innermost; 1 past the outermost.
int64_t side_of(const Shape& shape, size_t dimension) {
  return dimension < shape.size() ? shape[shape.size() - 1 - dimension] : 1;
}

std::vector<BatchPart> parts_of(const Broadcast& whole, const Shape& a, const Shape& b) {
  std::vector<BatchPart> parts;
  std::array<int64_t, 2> next = {1, 1};  // the stride of an operand's next dimension that it has
  for (size_t d = kInner; d < whole.shape.size(); ++d) {
    const int64_t side = side_of(whole.shape, d);
    if (side == 1) continue;
    const std::array<int64_t, 2> own = {side_of(a, d), side_of(b, d)};
    const std::array<int64_t, 2> strides = {own[0] == 1 ? 0 : next[0], own[1] == 1 ? 0 : next[1]};
    const bool goes_on = !parts.empty() && (parts.back().strides[0] == 0) == (strides[0] == 0) &&
                         (parts.back().strides[1] == 0) == (strides[1] == 0);
    if (goes_on) parts.back().side *= side;
    else parts.push_back({side, strides});
    for (size_t i = 0; i < own.size(); ++i) next[i] *= own[i];
  }
  return parts;
}

}  // namespace

Expected<Shape> common_shape(const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()));
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t one = side_of(a, d), other = side_of(b, d);
    if (one != other && one != 1 && other != 1) {
      return Error{Error::Kind::invalid_argument,
                   fmt::format("shapes {} and {} cannot be broadcast: a dimension is {} in one and {} in the other",
                               to_text(a), to_text(b), one, other),
                   "the dimensions must be equal, or one of them 1"};
    }
    shape[shape.size() - 1 - d] = one == 1 ? other : one;
  }
  return shape;
}

Expected<Broadcast> broadcast(const Shape& a, const Shape& b) {
  auto shape = common_shape(a, b);
  if (!shape) return shape.error();
  if (const Done sane = check_shape(*shape); !sane) return sane.error();
  Broadcast result{*std::move(shape), {sides_of(a), sides_of(b)}, {}};
  result.parts = parts_of(result, a, b);
  return result;
}

Expected<Shape> product_shape(const Shape& a, const Shape& b) {
  auto shape = common_shape({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
  if (!shape) return shape.error();
  shape->push_back(a[a.size() - 2]);
  shape->push_back(b.back());
  return shape;
}

}  // namespace qgen
