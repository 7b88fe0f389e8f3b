// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
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
