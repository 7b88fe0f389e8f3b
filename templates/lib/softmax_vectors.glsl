// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The elements of softmax in vectors of 16 bytes: the greatest element of vectors, and their weights.
$include "lib/softmax_weights.glsl"
$needs const uint kPerVector
$needs uvec4 pack_vector(float x[kPerVector])
$needs void unpack_vector(uvec4 words, out float x[kPerVector])
$gives const uvec4 kUndefined
$gives const uvec4 kNothing
$gives Greatest
$gives Greatest greatest_of_nothing()
$gives void include_vector(inout Greatest greatest, uvec4 words)
$gives int key_of_greatest(Greatest greatest)
$gives float weigh(uvec4 words, float greatest, out float x[kPerVector])
$gives uvec4 scaled_vector(float x[kPerVector], float factor)
$gives bool has_result(int key)

$if input_dtype == f16
const uvec4 kUndefined = uvec4(0x7e007e00u);
const uvec4 kNothing = uvec4(0xfc00fc00u);  // -infinity, which counts for nothing

// The greatest element, and whether there is a NaN: the maximum does not keep it.
struct Greatest { f16vec2 pair; uint nans; };
Greatest greatest_of_nothing() { return Greatest(unpackFloat2x16(kNothing.x), 0u); }

void include_vector(inout Greatest greatest, uvec4 words) {
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    greatest.nans |= (words[i] & 0x7fff7fffu) + 0x03ff03ffu;  // a NaN is above 0x7c00, and its sum has the highest bit
    greatest.pair = max(greatest.pair, unpackFloat2x16(words[i]));
  }
}

int key_of_greatest(Greatest greatest) {
  const float larger = max(float(greatest.pair.x), float(greatest.pair.y));
  return (greatest.nans & 0x80008000u) != 0u ? kLargestInt : ordered(floatBitsToInt(larger));
}

void unpack_row_vector(uvec4 words, out float x[kPerVector]) { unpack_vector(words, x); }
$else
const uvec4 kUndefined = uvec4(kNan);
const uvec4 kNothing = uvec4(0xff800000u);

struct Greatest { int least, greatest; };  // keys: a NaN with a sign is below -infinity
Greatest greatest_of_nothing() { return Greatest(kLargestInt, kLeastKey); }

void include_vector(inout Greatest greatest, uvec4 words) {
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    const int key = ordered(floatBitsToInt(flush_subnormal(uintBitsToFloat(words[i]))));
    greatest.least = min(greatest.least, key);
    greatest.greatest = max(greatest.greatest, key);
  }
}

int key_of_greatest(Greatest greatest) { return greatest.least < kLeastKey ? kLargestInt : greatest.greatest; }

void unpack_row_vector(uvec4 words, out float x[kPerVector]) {
  unpack_vector(words, x);
  [[unroll]] for (uint i = 0u; i < kPerVector; ++i) x[i] = flush_subnormal(x[i]);
}
$end

// The weights of a vector; gives their sum.
float weigh(uvec4 words, float greatest, out float x[kPerVector]) {
  unpack_row_vector(words, x);
  float sum = 0.0;
  [[unroll]] for (uint i = 0u; i < kPerVector; ++i) {
    x[i] = weight_of(x[i], greatest);
    sum += x[i];
  }
  return sum;
}

uvec4 scaled_vector(float x[kPerVector], float factor) {
  [[unroll]] for (uint i = 0u; i < kPerVector; ++i) x[i] *= factor;
  return pack_vector(x);
}

bool has_result(int key) { return key != kLeastKey && key < kInfinityKey; }
