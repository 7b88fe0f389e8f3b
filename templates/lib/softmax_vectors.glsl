// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The elements of softmax in vectors of 16 bytes: the greatest element of vectors, and their weights. Kernels of single
// elements include the part `weights` alone; those of slices of a row include `slices`.
$include "lib/softmax_vectors.glsl" weights
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

$part weights
// exp(x - m) of an element x of softmax, where m is the greatest element of its row, or of a slice of the row. m is
// found among keys: integers that have the order of the floats, where NaN is above all others.
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

$part slices
// A workgroup for each slice of a row of softmax. Its invocations hold the slice in vectors of 16 bytes, and convert
// f16 by the device's instructions. All slices of a row but the last have problem.slice_columns elements.
$include "lib/grid.glsl"
$include "lib/exponential.glsl"
#define EXPONENTIAL short_exponential
$gives const uint kVectors
$gives uint first_vector()
$gives uint vectors_of_slice()
$gives void load_slice(out uvec4 words[kVectors])
$gives uint place()
$gives uint members()
$gives const uint kPerVector
$gives EXPONENTIAL

#extension GL_EXT_control_flow_attributes : require
${declare_vectors(input)}
${declare_vectors(output)}
const uint kPerVector = ${16 / bytes(input_dtype)}u;
const uint kVectors = ${vectors};   // of an invocation
$if input_dtype == f16
$include "lib/unpack_vector.glsl" native
$else
$include "lib/unpack_vector.glsl"
uvec4 pack_vector(float x[kPerVector]) {
  return uvec4(floatBitsToUint(x[0]), floatBitsToUint(x[1]), floatBitsToUint(x[2]), floatBitsToUint(x[3]));
}
$end
$include "lib/softmax_vectors.glsl"

uint place() { return gl_LocalInvocationIndex; }
uint members() { return ${workgroup}; }
uint row_vectors() { return problem.columns / kPerVector; }
uint place_in_row() { return workgroup_index() % problem.slices * (problem.slice_columns / kPerVector); }
uint first_vector() { return workgroup_index() / problem.slices * row_vectors() + place_in_row(); }
uint vectors_of_slice() { return min(problem.slice_columns / kPerVector, row_vectors() - place_in_row()); }

void load_slice(out uvec4 words[kVectors]) {
  const uint first = first_vector(), count = vectors_of_slice();
  [[unroll]] for (uint v = 0u; v < kVectors; ++v) {
    const uint at = v * members() + place();
    words[v] = input_vectors[first + min(at, count - 1u)];  // no branch, so that all loads are in flight
    if (at >= count) words[v] = kNothing;
  }
}
