// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/operators/per_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "runtime/operators/attributes.h"

namespace qgen {

Done check_per_tensor(std::string_view operand, const PerTensor& params) {
  if (!(params.scale >= kLeastScale && params.scale <= kLargestScale)) {
    return Error{Error::Kind::invalid_argument,
                 fmt::format("{}_scale is {}, and can be 2^-125 to 2^119", operand, params.scale), ""};
  }
  if (params.zero_point < -128 || params.zero_point > 127) {
    return Error{Error::Kind::invalid_argument,
                 fmt::format("{}_zero_point is {}, and can be -128 to 127", operand, params.zero_point), ""};
  }
  return std::monostate{};
}

PerTensor per_tensor_attribute(const Request& request, std::string_view operand) {
  const auto zero_point = attribute<int64_t>(request, fmt::format("{}_zero_point", operand));
  return {static_cast<float>(attribute<double>(request, fmt::format("{}_scale", operand))),
          static_cast<int32_t>(std::clamp<int64_t>(zero_point, std::numeric_limits<int32_t>::min(),
                                                   std::numeric_limits<int32_t>::max()))};
}

}  // namespace qgen
