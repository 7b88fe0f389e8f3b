// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Calls of specs/fused/fused_bmm.yaml: products of matrices, batch by batch. docs/fused.md has the formulas.
#include <fmt/format.h>

#include "fused_bmm.h"
#include "operators.h"
#include "runtime/engine/operators/broadcast.h"
#include "runtime/engine/operators/fused/checks.h"
#include "vocabulary/integer.h"

namespace qgen::generated::operators {
namespace {

bool is_byte(DType dtype) { return dtype == DType::i8 || dtype == DType::u8; }
uint32_t flip_of(DType dtype) { return dtype == DType::u8 ? 0x80 : 0; }

// The matrices, and facts about them after the checks.
struct Product {
  TensorDesc input, other;
  Shape shape;  // of the output
  CheckedOperands checked;
  // Innermost first; the first two are the matrices' own dimensions, and each operand has its own sizes there.
  FusedShape dimensions;
};

Expected<Product> product_of(const auto& inputs, const auto& attributes) {
  const auto shape = product_shape(inputs.input->shape, inputs.other->shape);
  if (!shape) return shape.error();
  const auto checked = checked_operands(inputs, attributes, other_of(inputs), *shape);
  if (!checked) return checked.error();
  const auto& [input, other, output] = checked->operands;
  return Product{inputs.input, inputs.other, *shape, *checked,
                 fused_shape({input.blocks, other.blocks, output.blocks})};
}

// Whether sums over K are integers that one scale of each operand goes with.
bool is_exact(const Product& product) {
  return is_byte(product.input.dtype) && is_byte(product.other.dtype) && product.input.shape.back() > 0 &&
         product.dimensions[0].operands[0].parameter_stride == 0 &&
         product.dimensions[1].operands[1].parameter_stride == 0;
}

fused_bmm::Problem problem_of(const Product& product) {
  const auto& [input, other, output] = product.checked.operands;
  const auto& [input_k, other_n, output_n] = product.dimensions[0].operands;
  const auto& [input_m, other_k, output_m] = product.dimensions[1].operands;
  const FusedShape batch = merged({product.dimensions.begin() + 2, product.dimensions.end()});
  const Shape& shape = product.shape;
  return {
      .bmm_sizes = {.batches = u32(element_count({shape.begin(), shape.end() - 2})),
                    .m = u32(shape[shape.size() - 2]),
                    .n = u32(shape.back()),
                    .k = u32(product.input.shape.back())},
      .is_exact = is_exact(product) ? 1u : 0u,
      .input_kind = kind_of(product.input.dtype),
      .other_kind = kind_of(product.other.dtype),
      .bmm_integers = {.input_flip = flip_of(product.input.dtype),
                       .other_flip = flip_of(product.other.dtype),
                       .input_zero_points = input.zero_points,
                       .other_zero_points = other.zero_points,
                       .output_zero_points = output.zero_points,
                       .quant_min = static_cast<int32_t>(product.checked.range.min),
                       .quant_max = static_cast<int32_t>(product.checked.range.max),
                       .input_m_block = u32(input_m.block),
                       .input_m_step = u32(input_m.parameter_stride)},
      .input_k_block = u32(input_k.block),
      .input_k_step = u32(input_k.parameter_stride),
      .other_k_block = u32(other_k.block),
      .other_k_step = u32(other_k.parameter_stride),
      .bmm_blocks = {.other_n_block = u32(other_n.block),
                     .other_n_step = u32(other_n.parameter_stride),
                     .output_m_block = u32(output_m.block),
                     .output_m_step = u32(output_m.parameter_stride),
                     .output_n_block = u32(output_n.block),
                     .output_n_step = u32(output_n.parameter_stride),
                     .batch_rank = static_cast<uint32_t>(batch.size()),
                     .batch_sizes = sizes_of<kBatchRank>(batch),
                     .input_strides = of_operand<kBatchRank>(batch, 0, &FusedSide::stride),
                     .input_blocks = of_operand<kBatchRank>(batch, 0, &FusedSide::block),
                     .input_parameter_strides = of_operand<kBatchRank>(batch, 0, &FusedSide::parameter_stride),
                     .other_strides = of_operand<kBatchRank>(batch, 1, &FusedSide::stride),
                     .other_blocks = of_operand<kBatchRank>(batch, 1, &FusedSide::block),
                     .other_parameter_strides = of_operand<kBatchRank>(batch, 1, &FusedSide::parameter_stride),
                     .output_blocks = of_operand<kBatchRank>(batch, 2, &FusedSide::block),
                     .output_parameter_strides = of_operand<kBatchRank>(batch, 2, &FusedSide::parameter_stride)},
  };
}

Expected<Call> product_call(const auto& inputs, const auto& attributes) {
  const auto product = product_of(inputs, attributes);
  if (!product) return product.error();
  return make_call(problem_of(*product), inputs, {.output = product->checked.output});
}

// Integer sums over K require one scale along K.
Done check_one_along_k(std::string_view operand, const TensorDesc& tensor, const TensorDesc& scale, size_t from_last) {
  const auto block = block_of(tensor.shape, scale.shape);
  if (!block) return block.error();
  const size_t d = tensor.shape.size() - from_last;
  if (tensor.shape[d] == 0 || (*block)[d] == tensor.shape[d]) return std::monostate{};
  return refused(fmt::format("{}_scale has shape {}, and bmm needs a single scale along K of {}", operand,
                             to_text(scale.shape), to_text(tensor.shape)),
                 "fused_bmm accepts several scales along K");
}

}  // namespace

Expected<Call> infer(const FusedBmmInputs<Described>& inputs, const FusedBmmAttributes& attributes) {
  return product_call(inputs, attributes);
}

Expected<Call> infer(const BmmInputs<Described>& inputs, const BmmAttributes& attributes) {
  if (Done one = check_one_along_k("input", inputs.input, inputs.input_scale, 1); !one) return one.error();
  if (Done one = check_one_along_k("other", inputs.other, inputs.other_scale, 2); !one) return one.error();
  return product_call(inputs, attributes);
}

}  // namespace qgen::generated::operators
