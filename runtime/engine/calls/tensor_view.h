// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A view of a tensor with strides: the result of transposing, slicing or repeating, without moving data.
//
//   ViewedTensor(x)                                  all of x, row-major
//   ViewedTensor(x, {{3, 2}, {1, 3}, 0})             a [2, 3] tensor, transposed
//   ViewedTensor(x, {{4}, {-1}, 3})                  its first four elements, backwards
#pragma once

#include "runtime/engine/calls/call.h"

namespace qgen {

// The element at coordinate c is at offset + sum of c[d] * strides[d], counted in elements.
struct View {
  Shape shape;
  Strides strides;  // may be 0 or negative
  int64_t offset = 0;
};

// Any tensor is one: all of it, row-major.
struct ViewedTensor {
  const DeviceTensor* tensor;  // not null
  View view;

  ViewedTensor(const DeviceTensor& all);
  ViewedTensor(const DeviceTensor& of, View seen) : tensor(&of), view(std::move(seen)) {}
};

// The same without its memory.
struct ViewedDesc {
  TensorDesc tensor;
  View view;

  ViewedDesc(TensorDesc all);
  ViewedDesc(TensorDesc of, View seen) : tensor(std::move(of)), view(std::move(seen)) {}
};
ViewedDesc desc_of(const ViewedTensor& viewed);

bool is_row_major(const View& view);

// A view has as many strides as dimensions and stays inside its tensor; of a texture, it is the tensor. Errors start
// with `operand`, the name of the viewed tensor.
Done check_view(std::string_view operand, const ViewedDesc& viewed);
// For a view that is written: no two of its elements may share a location. Refuses cases that it cannot prove.
Done check_is_injective(std::string_view operand, const View& view);

}  // namespace qgen
