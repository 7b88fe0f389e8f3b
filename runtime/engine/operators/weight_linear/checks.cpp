// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/operators/weight_linear/checks.h"

#include <fmt/format.h>

#include "vocabulary/integer.h"

namespace qgen {

Expected<int64_t> checked_groups(const WeightKind& kind, const TensorDesc& weight, const TensorDesc& scales) {
  const int64_t n = weight.shape[0], k = weight.shape[1];
  const int64_t groups = scales.shape.size() == 2 ? scales.shape[1] : 1;
  if (groups == 1) return 1;
  if (kind.has_groups && groups > 0 && k % groups == 0) return groups;
  return refused(
      fmt::format("weight_scales has shape {}, and the weight has {}", to_text(scales.shape), to_text(weight.shape)),
      kind.has_groups ? fmt::format("scales must be [{}], or [{}, G] with a G that divides {}", n, n, k)
                      : fmt::format("scales must be [{}]", n));
}

Expected<int64_t> checked_groups(const WeightKind& kind, const TensorDesc& weight, const TensorDesc& scales,
                                 const std::optional<int64_t>& group_size) {
  const auto groups = checked_groups(kind, weight, scales);
  if (!groups || !group_size || Integer(*group_size) * Integer(*groups) == Integer(weight.shape[1])) return groups;
  return refused(fmt::format("group_size is {}, but weight_scales {} divide each row of the weight {} into {} groups",
                             *group_size, to_text(scales.shape), to_text(weight.shape), *groups),
                 "group_size times the number of scales of a row must be K");
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
  return refused(fmt::format("the weight {} cannot be packed as {}", to_text(weight.shape), name(kind.form)),
                 kind.bits == 4 ? "its integers must be from -8 to 7, and the form fit max_form_bytes"
                                : "the form must fit max_form_bytes");
}

}  // namespace qgen
