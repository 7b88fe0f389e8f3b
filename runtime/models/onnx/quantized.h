// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The quantization of a value in a model: the scale and the zero point of a QuantizeLinear or DequantizeLinear.
// Operators use signed bytes. An unsigned byte becomes signed by subtracting 128 from it and from its zero point, which
// does not change the value that it stands for.
//
// Integers of four bits are bytes as they are.
//
//   QuantizedConstant weight = ...;           // of DequantizeLinear(constant): int8 [K, N], scales [1, N]
//   weight = transposed(weight, {1, 0});      // [N, K], scales [N, 1]
//   dequantized(weight)                       // the reals that it stands for
#pragma once

#include <optional>
#include <vector>

#include "runtime/engine/operators/per_tensor.h"
#include "runtime/models/onnx/model.h"

namespace qgen::onnx {

// Scales and zero points as blocks along each dimension: runtime/engine/tensor/quant_params.h.
struct Parameters {
  Shape shape;  // one, or of the data's rank
  std::vector<float> scales;
  std::vector<int32_t> zero_points;  // as many
  ElementType type = ElementType::u8;

  bool is_per_tensor() const { return scales.size() == 1; }
};

// The other inputs of a QuantizeLinear or DequantizeLinear, with the data's shape; `type`: the type of the integers
// without a zero point. A rank is needed only where there are several scales.
Expected<Parameters> parameters_of(const Node& node, const TensorPtr& scale, const TensorPtr& zero_point,
                                   ElementType type, const std::optional<Shape>& data);
// The same of operators that have neither axis nor blocks: one, or one along `axis` of the data's rank.
Expected<Parameters> parameters_along(size_t axis, size_t rank, const TensorPtr& scale, const TensorPtr& zero_point,
                                      ElementType type);

// The same for blocks along `axis` with an incomplete last one: smaller blocks that are all complete.
Parameters in_whole_blocks(const Parameters& parameters, size_t axis, int64_t block, int64_t side);

// Of a tensor of bytes, as operators take it. Errors: several scales, integers of more than a byte, a scale outside
// 2^-125 to 2^119.
Expected<PerTensor> per_tensor_of(const Parameters& parameters);

struct QuantizedConstant {
  TensorPtr codes;  // as the model has them
  Parameters parameters;
};
Expected<TensorPtr> quantized(const Tensor& reals, const Parameters& parameters);  // as ONNX divides and rounds
HostTensor dequantized(const QuantizedConstant& constant);                         // f32
// A floating-point constant, in one of the operators' dtypes.
HostTensor reals_of(const Tensor& tensor, DType dtype);

// Errors: scales that would be cut apart.
Expected<QuantizedConstant> reshaped(const QuantizedConstant& constant, const Shape& shape);
QuantizedConstant transposed(const QuantizedConstant& constant, const std::vector<int64_t>& order);
Tensor transposed(const Tensor& tensor, const std::vector<int64_t>& order);

// Integers of up to 8 bits with a scale for each position along `axis`, minus their zero points: the form of weights.
// Errors: the difference exceeds int8, scales along other axes.
struct SymmetricWeight {
  HostTensor codes;   // i8
  HostTensor scales;  // f32 [side]
};
Expected<SymmetricWeight> symmetric_along(const QuantizedConstant& constant, size_t axis);
// The same for integers up to 255 away from their zero points, along the first axis. They become sums of int8 values,
// which are consecutive along the second axis: [O, I, ...] becomes [O, copies * I, ...], for an input that is repeated
// as often.
struct RepeatedWeight {
  SymmetricWeight weight;
  int64_t copies;
};
Expected<RepeatedWeight> symmetric_in_copies(const QuantizedConstant& constant);
// Of a matrix [N, K] of four bits, with a scale for groups along K: scales [N, G].
Expected<SymmetricWeight> symmetric_groups(const QuantizedConstant& constant);

// Bytes as signed ones.
HostTensor signed_codes(const Tensor& codes);
bool is_byte(ElementType type);
bool is_unsigned_byte(ElementType type);
bool is_code(ElementType type);  // of 8 or 4 bits: the graph has it as a signed byte
// How much less that byte is.
int32_t shift_of(ElementType type);
// The least and the greatest; nullopt: it is no type of integers that are quantized to.
std::optional<IntegerRange> range_of(ElementType type);

}  // namespace qgen::onnx
