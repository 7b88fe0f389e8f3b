// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Affine quantization, in one representation for every granularity. scale and zero_point are a singleton or have the
// rank of the data, and block[d] = data[d] / scale[d]:
//
//   data [3, 4, 10]   scale []         per tensor      block [3, 4, 10]
//                     scale [1, 4, 1]  per channel 1   block [3, 1, 10]
//                     scale [3, 4, 1]  per token       block [1, 1, 10]
//                     scale [3, 4, 2]  per group of 5  block [1, 1, 5]
//
//   real = (q - zero_point) * scale        q = clamp(round_half_even(real / scale) + zero_point, quant_min, quant_max)
#pragma once

#include <optional>
#include <string>

#include "runtime/engine/tensor/tensor.h"

namespace qgen {

struct QuantParams {
  HostTensor scale;                      // f32
  std::optional<HostTensor> zero_point;  // i32, scale's shape or a singleton; absent: 0
  DType dtype = DType::i8;
  int64_t quant_min = -128;
  int64_t quant_max = 127;
};

// Elements per block and dimension. Errors show both shapes: ranks that do not match (a singleton of any rank does),
// dimensions that do not divide, a parameter dimension larger than the data's.
//
// A side without elements takes 0 parameters in blocks of 1, or 1 parameter for all of it: a block of 0.
Expected<Shape> block_of(const Shape& data, const Shape& params);
// The parameters' shape for a block size: data[d] / block[d]. The inverse of block_of() for shapes of the data's rank.
Expected<Shape> params_shape(const Shape& data, const Shape& block);

// By the parameters' shape alone: a singleton is per tensor, whatever its rank.
bool is_per_tensor(const Shape& params);
// The dimension along which a per-channel or single-axis shape varies; nullopt for a singleton and for more than one.
std::optional<size_t> channel_axis(const Shape& params);

// Checks everything that the struct promises against the data's shape. Errors name the field and show both shapes.
Done check(const QuantParams& params, const Shape& data);

// The index into the row-major parameters of the element at row-major `index` of data, whose sides are not 0.
int64_t param_index(const Shape& data, const Shape& block, int64_t index);

}  // namespace qgen
