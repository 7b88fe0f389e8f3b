// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// exp(x - m) of an element x of softmax, where m is the greatest element of its row, or of a slice of the row. m is found
// among keys: integers that have the order of the floats, where NaN is above all others.
$include "lib/float32.glsl"
$needs EXPONENTIAL   // of a float from -87 to 0
$gives int ordered(int bits)
$gives int key_of(float x)
$gives const int kLeastKey
$gives const int kInfinityKey
$gives float weight_of(float x, float greatest)

int ordered(int bits) { return bits ^ (bits >> 31 & kLargestInt); }  // its own inverse

const int kLeastKey = int(0x807fffffu);  // of -infinity
const int kInfinityKey = int(kInfinity);

int key_of(float x) { return is_nan(x) ? kLargestInt : ordered(floatBitsToInt(x)); }

// Elements that are smaller than the greatest by more than 87 count for nothing.
float weight_of(float x, float greatest) {
  precise const float difference = x - greatest;
  return mix(0.0, EXPONENTIAL(difference), difference >= -87.0);
}
