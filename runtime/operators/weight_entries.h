// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Inputs and attributes that entries of operators on weights with scales have in common.
#pragma once

#include "runtime/operators/prepare.h"

namespace qgen {

inline constexpr TensorInfo kWeightOfEightBits{"weight", false, "i8 [N, K], symmetric", true};
inline constexpr TensorInfo kWeightOfFourBits{"weight", false, "i8 [N, K] of -8 to 7, symmetric", true};
inline constexpr TensorInfo kScalesOfRows{"weight_scales", false, "f32 [N], one a row"};
inline constexpr TensorInfo kScalesOfGroups{"weight_scales", false, "f32 [N, K / group_size], or [N], one a row"};
inline constexpr AttributeInfo kGroupSize{"group_size",
                                          AttributeInfo::Kind::integer,
                                          "(from the scales' shape)",
                                          "neighbours along K that share a scale",
                                          {}};

// The weight and its scales, on the device; they belong to `prepared`. Errors: a group size that says something else
// than the scales' shape, and those of Weight.
struct UploadedWeight {
  Weight* codes;
  const DeviceTensor* scales;
};
Expected<UploadedWeight> upload_weight(Context& context, const Request& request, PreparedCall& prepared);

// What linear layers read; the bias as f32, null without one.
inline constexpr TensorInfo kBias{"bias", true, "f32 [N]; without: 0"};
struct LinearInputs {
  const DeviceTensor* input = nullptr;
  Weight* weight = nullptr;
  const DeviceTensor* scales = nullptr;
  const DeviceTensor* bias = nullptr;
};
Expected<LinearInputs> upload_linear_inputs(Context& context, const Request& request, PreparedCall& prepared);

}  // namespace qgen
