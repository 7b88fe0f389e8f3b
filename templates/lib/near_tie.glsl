// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Whether the product x * (1 / scale) is so near to a tie that the quotient x / scale may round to another integer. Near
// means within 2^-22 of the product. The differences are exact up to 2^22; all larger products count as near.
$include "lib/float32.glsl" rounding_shift
$gives bvec4 is_near_tie(vec4 product)

bvec4 is_near_tie(vec4 product) {
  precise const vec4 nearest = (product + kRoundingShift) - kRoundingShift;
  precise const vec4 gap = 0.5 - abs(product - nearest);
  precise const vec4 doubt = abs(product) * 2.384185791015625e-07;
  return lessThanEqual(gap, doubt);
}
