// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/operators/per_tensor.h"

#include <fmt/format.h>

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

}  // namespace qgen
