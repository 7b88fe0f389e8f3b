// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Computes a quantization block's scale and zero point from its least and greatest element: docs/affine.md has the
// definition.
//
//   asymmetric                  scale = (max - min) / (quant_max - quant_min)
//                               zero_point = clamp(quant_min - round_half_even(min / scale), quant_min, quant_max)
//   symmetric                   scale = max(-min, max) / ((quant_max - quant_min) / 2)
//   symmetric_no_clipping_err   scale = min / quant_min where that is the larger, else max / quant_max
//   both symmetric              zero_point = (quant_max + quant_min + 1) / 2, toward zero
//
// with scale raised to eps. The caller of the operator computes the values that depend on no data: the divisors and the
// symmetric zero point. NaN in a block makes its scale NaN; a NaN or undefined min / scale counts as 0. The part
// `extremes` is for kernels that look for these elements.
$include "lib/float32.glsl"
$gives struct Qparams
$gives Qparams qparams_of(ivec2 extremes)

float scale_of(ivec2 extremes) {
  const float lowest = -uintBitsToFloat(uint(extremes.y));
  const float highest = uintBitsToFloat(uint(extremes.x));
  if (problem.mapping == kMappingTypeAsymmetric) {
    precise const float width = highest - lowest;
    return divide(width, problem.range);
  }
  if (problem.mapping == kMappingTypeSymmetric) {
    return divide(intBitsToFloat(max(extremes.x, extremes.y)), problem.half_range);
  }
  const float by_lowest = divide(lowest, problem.quant_min_real);
  const float by_highest = divide(highest, problem.quant_max_real);
  return !is_nan(by_lowest) && !is_nan(by_highest) && by_lowest > by_highest ? by_lowest : by_highest;
}

// `lowest` is not above zero, so the steps from it to zero are the amount that is added to quant_min. They fit 32 bits
// if they do not reach quant_max: nothing saturates that the formula does not clamp.
int asymmetric_zero_point(float lowest, float scale) {
  const uint steps_below_zero = round_to_uint(divide(-lowest, scale));
  const uint steps = uint(problem.quant_max) - uint(problem.quant_min);
  return int(uint(problem.quant_min) + min(steps_below_zero, steps));
}

struct Qparams {
  float scale;
  int zero_point;
};

Qparams qparams_of(ivec2 extremes) {
  if (extremes.x < int(kSmallestNormal)) extremes.x = 0;
  if (extremes.y < int(kSmallestNormal)) extremes.y = 0;
  const bool is_asymmetric = problem.mapping == kMappingTypeAsymmetric;
  if (max(extremes.x, extremes.y) > int(kInfinity)) {
    return Qparams(uintBitsToFloat(kNan), is_asymmetric ? problem.quant_min : problem.symmetric_zero_point);
  }
  float scale = scale_of(extremes);
  scale = is_nan(scale) ? uintBitsToFloat(kNan) : scale > problem.eps ? scale : problem.eps;  // -0 gives way to +0
  const float lowest = -uintBitsToFloat(uint(extremes.y));
  return Qparams(scale, is_asymmetric ? asymmetric_zero_point(lowest, scale) : problem.symmetric_zero_point);
}

$part extremes
// The least and the greatest of some floats and 0, each as the bits of its absolute value (the least is 0 or
// negative). x has the bits of the greatest, y those of the least. Bits of positive floats, as integers, have their
// order. So max() of two ranges is the range of both sets together, exactly and in any order. The bits of NaN are above
// those of infinity, so the range of a set with NaN has NaN.
$gives ivec2 extremes_of(int bits, int sign_mask)
$gives ivec2 joined(ivec4 positive, ivec4 negative)

ivec2 extremes_of(int bits, int sign_mask) { return max(ivec2(bits, bits ^ sign_mask), ivec2(0)); }

// Of four lanes that each kept both magnitudes.
ivec2 joined(ivec4 positive, ivec4 negative) {
  positive.xy = max(positive.xy, positive.zw);
  negative.xy = max(negative.xy, negative.zw);
  return ivec2(max(positive.x, positive.y), max(negative.x, negative.y));
}
