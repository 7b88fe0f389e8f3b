// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Products of floating-point matrices, as docs/matmul.md defines them: one output at a time, where a dimension of
// length 1 repeats its element.
#include "runtime/engine/calls/attributes.h"
#include "runtime/engine/operators/broadcast.h"
#include "runtime/workshop/reference/linear_requests.h"
#include "runtime/workshop/reference/real_sums.h"
#include "runtime/workshop/reference/rows.h"

namespace qgen::reference {
namespace {

// The matrix of `tensor` that output batch `batch` of `output` reads, among all of them.
int64_t matrix_of(const Shape& tensor, const Shape& output, int64_t batch) {
  int64_t matrix = 0, stride = 1;
  for (size_t d = 3; d <= output.size(); ++d) {  // from the innermost
    const int64_t side = output[output.size() - d], own = d <= tensor.size() ? tensor[tensor.size() - d] : 1;
    matrix += (own == 1 ? 0 : batch % side) * stride;
    stride *= own;
    batch /= side;
  }
  return matrix;
}

// y[b, m, n] = act(sum over k of x[b, m, k] * w[b, k, n] + bias[n]), w[b, n, k] if it is transposed
Answer matmul(const Request& request) {
  const HostTensor &x = request.inputs.at("input"), &w = request.inputs.at("other");
  const HostTensor* bias = find_input(request, "bias");
  const bool is_transposed = attribute<bool>(request, "transpose_other");
  Shape matrices = w.shape;
  if (is_transposed) std::swap(matrices.back(), matrices[matrices.size() - 2]);
  const Shape shape = *product_shape(x.shape, matrices);
  const int64_t rows = shape[shape.size() - 2], columns = shape.back(), depth = x.shape.back();

  const HostTensor x_floats = rounded_to(DType::f32, x), w_floats = rounded_to(DType::f32, w);
  const auto x_reals = x_floats.as<float>(), w_reals = w_floats.as<float>();
  RealOutputs outputs(x.dtype, shape);
  for (int64_t i = 0; i < element_count(shape); ++i) {
    const int64_t batch = i / columns / rows, m = i / columns % rows, n = i % columns;
    const int64_t of_x = (matrix_of(x.shape, shape, batch) * rows + m) * depth;
    const int64_t of_w = matrix_of(matrices, shape, batch) * depth * columns;
    RealSum sum{.absolute = 2 * kSmallestNormal};
    for (int64_t k = 0; k < depth; ++k)
      sum.add_product(x_reals[of_x + k], w_reals[of_w + (is_transposed ? n * depth + k : k * columns + n)]);
    outputs.add(sum, depth + 9, bias ? element(*bias, n) : 0, activation_of(request));
  }
  ExactOutput made = std::move(outputs).result();
  return {{{"output", std::move(made.output)}}, {{"output", std::move(made.exact)}}};
}

}  // namespace

std::span<const Row> matmul_rows() {
  static constexpr Row kRows[] = {exact_row<matmul>("matmul")};
  return kRows;
}

}  // namespace qgen::reference
