// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Call of specs/matmul/matmul.yaml: products of floating-point matrices, batch by batch. docs/matmul.md has the
// formulas.
#include <fmt/format.h>

#include <utility>

#include "matmul.h"
#include "operators.h"
#include "runtime/engine/calls/placement.h"
#include "runtime/engine/operators/broadcast.h"
#include "runtime/engine/operators/fused/shape.h"
#include "runtime/engine/operators/same_as.h"

namespace qgen::generated::operators {
namespace {

Shape transposed(Shape shape) {
  std::swap(shape.back(), shape[shape.size() - 2]);
  return shape;
}

// The matrices [M, K], [K, N] and [M, N], and the batch of them.
struct Product {
  int64_t batches, m, n, k;
  FusedShape batch;
};

// Merges what `other` repeats into rows: [B, M, K] times one [K, N] is [B * M, K] times it.
Product product_of(const Shape& input, const Shape& other, const Shape& output) {
  Product product{
      element_count({output.begin(), output.end() - 2}), output[output.size() - 2], output.back(), input.back(), {}};
  // Floating-point operands have no parameters: a block is the whole operand.
  const FusedShape dimensions = fused_shape({BlockedOperand{input, input}, {other, other}, {output, output}});
  product.batch = merged({dimensions.begin() + 2, dimensions.end()});
  if (product.batch.empty()) return product;
  const auto& [side, operands] = product.batch.front();
  if (operands[0].stride != product.m * product.k || operands[1].stride != 0) return product;
  product.m *= side;
  product.batches /= side;
  product.batch.erase(product.batch.begin());
  return product;
}

}  // namespace

Expected<Call> infer(const MatmulInputs<Described>& inputs, const MatmulAttributes& attributes) {
  const TensorDesc &input = inputs.input, &other = inputs.other;
  if (Done alike = check_one_dtype("input", input, "other", other); !alike) return alike.error();
  const Shape matrices = attributes.transpose_other ? transposed(other.shape) : other.shape;
  if (matrices[matrices.size() - 2] != input.shape.back()) {
    return refused(fmt::format("other has shape {}", to_text(other.shape)),
                   fmt::format("{} transpose_other it must be {}, and K of input is {}",
                               attributes.transpose_other ? "with" : "without",
                               attributes.transpose_other ? "[..., N, K]" : "[..., K, N]", input.shape.back()));
  }
  const auto shape = product_shape(input.shape, matrices);
  if (!shape) return shape.error();
  const TensorDesc output{input.dtype, *shape};
  if (Done size = check_size("output", output); !size) return size.error();
  const Product product = product_of(input.shape, matrices, *shape);
  const matmul::Problem fields{
      .bmm_sizes = {u32(product.batches), u32(product.m), u32(product.n), u32(product.k)},
      .matmul_kernel = {.transpose_other = attributes.transpose_other ? 1u : 0u,
                        .weight_bits = 8 * u32(bytes(other.dtype))},
      .epilogue = {.has_bias = inputs.bias ? 1u : 0u, .activation = attributes.activation},
      .matmul_batches = {.batch_rank = u32(std::ssize(product.batch)),
                         .batch_sizes = sizes_of<kBatchRank>(product.batch),
                         .input_batch_strides = of_operand<kBatchRank>(product.batch, 0, &FusedSide::stride),
                         .other_batch_strides = of_operand<kBatchRank>(product.batch, 1, &FusedSide::stride)},
  };
  return make_call(fields, inputs, {.output = output});
}

}  // namespace qgen::generated::operators
