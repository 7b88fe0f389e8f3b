// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// For the sources that write a node out as others: constants among their inputs, and the result.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/models/onnx/importer.h"

namespace qgen::onnx {

// nullopt: the node is not written out.
using Rewritten = Expected<std::optional<Known>>;

inline Rewritten as_other(Expected<Known> known) {
  if (!known) return known.error();
  return std::optional(*std::move(known));
}

inline Known constant_of(const std::string& name, const Shape& shape, const std::vector<float>& values) {
  return Known{std::make_shared<const Tensor>(tensor_of<float>(ElementType::f32, shape, values, name)), dims_of(shape)};
}
inline Known constant_of(const std::string& name, const Shape& shape, const std::vector<int64_t>& values) {
  return Known{std::make_shared<const Tensor>(tensor_of<int64_t>(ElementType::i64, shape, values, name)),
               dims_of(shape)};
}

inline Known number(const std::string& name, float value) {
  return constant_of(name, Shape(), std::vector<float>{value});
}
// An integer without dimensions.
inline Known number(int64_t value) { return Known{Numbers{{{value}}}, {}}; }

}  // namespace qgen::onnx
