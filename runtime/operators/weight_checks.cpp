// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/operators/weight_checks.h"

#include <fmt/format.h>

#include <limits>

#include "runtime/library/integer.h"

namespace qgen {
Done check_plain(std::string_view operand, const TensorDesc& given, DType dtype) {
  const bool is_plain = given.storage == Storage::buffer && given.layout == Layout::strided;
  if (given.dtype == dtype && is_plain) return check_shape(given.shape);
  return refused(fmt::format("{} is {} in a {}{}, and must be {} in a plain buffer", operand, name(given.dtype),
                             name(given.storage), is_plain ? "" : fmt::format(" as {}", name(given.layout)),
                             name(dtype)));
}

Done check_count(std::string_view operand, const Shape& shape) {
  if (Done sane = check_shape(shape); !sane) return sane;
  constexpr int64_t kMostElements = std::numeric_limits<uint32_t>::max();
  if (element_count(shape) <= kMostElements) return std::monostate{};
  return refused(fmt::format("{} of shape {} has {} elements, and kernels count to {}", operand, to_text(shape),
                             element_count(shape), kMostElements),
                 "split the batch");
}

Expected<int64_t> checked_groups(const WeightKind& kind, const TensorDesc& weight, const TensorDesc& scales) {
  if (Done real = check_plain("weight_scales", scales, DType::f32); !real) return real.error();
  if (weight.shape.size() != 2)
    return refused(fmt::format("the weight has shape {}, and is [N, K]", to_text(weight.shape)));
  if (Done sane = check_shape(weight.shape); !sane) return sane.error();
  const int64_t n = weight.shape[0], k = weight.shape[1];
  const Shape& shape = scales.shape;
  if (shape == Shape{n} || shape == Shape{n, 1}) return 1;
  const bool divides = shape.size() == 2 && shape[0] == n && shape[1] > 0 && k % shape[1] == 0;
  if (kind.has_groups && divides) return shape[1];
  return refused(fmt::format("weight_scales has shape {}, and the weight {}", to_text(shape), to_text(weight.shape)),
                 kind.has_groups ? fmt::format("scales are [{}], or [{}, G] where G divides {}", n, n, k)
                                 : fmt::format("scales are [{}]", n));
}

Done check_group_size(const std::optional<int64_t>& group_size, const TensorDesc& weight, const TensorDesc& scales) {
  if (!group_size || weight.shape.size() != 2) return std::monostate{};
  const int64_t groups = scales.shape.size() == 2 ? scales.shape[1] : 1;
  if (Integer(*group_size) * Integer(groups) == Integer(weight.shape[1])) return std::monostate{};
  return refused(fmt::format("group_size is {}, and weight_scales {} cut the weight {} into {} groups a row",
                             *group_size, to_text(scales.shape), to_text(weight.shape), groups),
                 "group_size times the scales of a row is K");
}

Expected<TensorDesc> checked_form(const WeightKind& kind, const TensorDesc& weight) {
  const bool has_form =
      weight.layout == kind.form || (weight.other_layouts >> static_cast<unsigned>(kind.form) & 1) != 0;
  if (has_form) {
    TensorDesc desc = weight;
    desc.layout = kind.form;
    desc.other_layouts = 0;
    return desc;
  }
  return refused(fmt::format("the weight {} cannot be had as {}", to_text(weight.shape), name(kind.form)),
                 kind.bits == 4 ? "its integers must be from -8 to 7, and the form fit max_form_bytes"
                                : "the form must fit max_form_bytes");
}

}  // namespace qgen
