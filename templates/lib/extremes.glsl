// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The range of a set of floats, extended to include zero, as two integers in the floats' order. x is the magnitude of
// the largest positive, y the magnitude of the most negative, each as the float's bits, with 0 for none. Bits of
// positive floats have the order of the floats, so the range of a union is max() of the ranges. That is exact, in any
// order, and NaN wins, whose bits are above infinity's.
$gives ivec2 extremes_of(int bits, int sign_mask)
$gives ivec2 joined(ivec4 positive, ivec4 negative)

ivec2 extremes_of(int bits, int sign_mask) { return max(ivec2(bits, bits ^ sign_mask), ivec2(0)); }

// Of four lanes that each kept both magnitudes.
ivec2 joined(ivec4 positive, ivec4 negative) {
  positive.xy = max(positive.xy, positive.zw);
  negative.xy = max(negative.xy, negative.zw);
  return ivec2(max(positive.x, positive.y), max(negative.x, negative.y));
}
