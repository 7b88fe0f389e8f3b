// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// exp(x - m) / sum of exp(x - m), where m is the greatest element of the row; in f32, by lib/exponential.glsl. The
// greatest element is found among integers that have the order of the floats, where NaN is above all others.
//
//   reduce shared, subgroup           a workgroup passes three times over its row
//   reduce streamed                   the same in vectors, several at once
//   reduce held, native, team, part   a workgroup, a subgroup or a part of one reads its row once (lib/held_row.glsl)
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/float32.glsl"
$include "lib/real_elements.glsl" load
$include "lib/real_elements.glsl" store
$include "lib/exponential.glsl"
$if reduce in (native, part, streamed)
#define EXPONENTIAL short_exponential
$else
#define EXPONENTIAL exponential
$end
$include "lib/workgroup_reduce.glsl"
$include "lib/softmax_vectors.glsl" weights

$if reduce in (native, part, streamed)
$include "lib/held_row.glsl"
$include "lib/softmax_vectors.glsl"

$if reduce == streamed
const uint kAtOnce = ${vectors};
// Of the row that begins at vector `first`, from vector `begin` on.
void load_vectors(uint first, uint begin, uint of_row, out uvec4 words[kAtOnce]) {
  [[unroll]] for (uint v = 0u; v < kAtOnce; ++v) {
    const uint at = begin + v * members();
    words[v] = input_vectors[first + min(at, of_row - 1u)];  // no branch, so that all loads are in flight
    if (at >= of_row) words[v] = kNothing;
  }
}

void normalize(uint row) {
  const uint of_row = problem.columns / kPerVector, first = row * of_row, step = kAtOnce * members();
  uvec4 words[kAtOnce];
  float x[kPerVector];
  Greatest mine = greatest_of_nothing();
  for (uint begin = place(); begin < of_row; begin += step) {
    load_vectors(first, begin, of_row, words);
    [[unroll]] for (uint v = 0u; v < kAtOnce; ++v) include_vector(mine, words[v]);
  }
  const int key = workgroup_max(key_of_greatest(mine));
  const float greatest = intBitsToFloat(ordered(key));

  float sum = 0.0;
  for (uint begin = place(); begin < of_row; begin += step) {
    load_vectors(first, begin, of_row, words);
    [[unroll]] for (uint v = 0u; v < kAtOnce; ++v) sum += weigh(words[v], greatest, x);
  }
  const float factor = reciprocal(workgroup_sum(sum));

  for (uint begin = place(); begin < of_row; begin += step) {
    load_vectors(first, begin, of_row, words);
    [[unroll]] for (uint v = 0u; v < kAtOnce; ++v) {
      const uint at = begin + v * members();
      weigh(words[v], greatest, x);
      if (at < of_row) output_vectors[first + at] = has_result(key) ? scaled_vector(x, factor) : kUndefined;
    }
  }
}
$else
void normalize(uint row) {
  const uint of_row = problem.columns / kPerVector, first = row * of_row;
  uvec4 words[${vectors}];
  Greatest mine = greatest_of_nothing();
  [[unroll]] for (uint v = 0u; v < ${vectors}; ++v) {
    const uint at = v * members() + place();
    words[v] = kNothing;
    if (at < of_row) words[v] = input_vectors[first + at];
  }
  [[unroll]] for (uint v = 0u; v < ${vectors}; ++v) include_vector(mine, words[v]);
  const int key = workgroup_max(key_of_greatest(mine));

  float x[${vectors}][kPerVector];
  float sum = 0.0;
  [[unroll]] for (uint v = 0u; v < ${vectors}; ++v) sum += weigh(words[v], intBitsToFloat(ordered(key)), x[v]);
  const float factor = reciprocal(workgroup_sum(sum));

  [[unroll]] for (uint v = 0u; v < ${vectors}; ++v) {
    const uint at = v * members() + place();
    if (at < of_row) output_vectors[first + at] = has_result(key) ? scaled_vector(x[v], factor) : kUndefined;
  }
}
$end

// The same rows for all members, so that none misses a barrier.
void main() {
  for (uint row = first_row(); row < problem.rows; row += row_stride()) normalize(row);
}
$elif reduce in (held, team)
$include "lib/held_row.glsl"

$if output_dtype == f16
// Of a real from 0 to 1, rounded half to even: f32_to_f16() without sign, infinities and NaN.
uint unit_to_f16(float x) {
  const uint bits = floatBitsToUint(x);
  const uint rounded = (bits + 0x0fffu + (bits >> 13 & 1u) - 0x38000000u) >> 13;
  precise const float shifted = x + 0.5;
  const uint subnormal = floatBitsToUint(shifted) - 0x3f000000u;
  return mix(rounded, subnormal, bits < 0x38800000u);
}

uvec4 pack_units(float x[kPerVector]) {
  uvec4 words;
  [[unroll]] for (uint i = 0u; i < 4u; ++i) words[i] = unit_to_f16(x[2u * i]) | unit_to_f16(x[2u * i + 1u]) << 16;
  return words;
}
const uvec4 kUndefined = uvec4(0x7e007e00u);
const uvec4 kNothing = uvec4(0xfc00fc00u);  // -infinity, which counts for nothing
$else
uvec4 pack_units(float x[kPerVector]) { return pack_vector(x); }
const uvec4 kUndefined = uvec4(kNan);
const uvec4 kNothing = uvec4(0xff800000u);
$end

void normalize(uint row) {
  const uint of_row = problem.columns / kPerVector, first = row * of_row;
  float values[${vectors}][kPerVector];
  [[unroll]] for (uint v = 0u; v < ${vectors}; ++v) {
    const uint at = v * members() + place();
    uvec4 words = kNothing;
    if (at < of_row) words = input_vectors[first + at];
    unpack_vector(words, values[v]);
  }

  int least = kLargestInt, greatest_key = kLeastKey;
  [[unroll]] for (uint v = 0u; v < ${vectors}; ++v) {
    [[unroll]] for (uint i = 0u; i < kPerVector; ++i) {
$if input_dtype == f32
      values[v][i] = flush_subnormal(values[v][i]);
$end
      const int key = ordered(floatBitsToInt(values[v][i]));
      least = min(least, key);
      greatest_key = max(greatest_key, key);
    }
  }
  // A NaN with a sign is below -infinity.
  const int key = workgroup_max(least < kLeastKey ? kLargestInt : greatest_key);
  const bool is_undefined = key == kLeastKey || key >= kInfinityKey;
  const float greatest = intBitsToFloat(ordered(key));

  float sum = 0.0;
  [[unroll]] for (uint v = 0u; v < ${vectors}; ++v) {
    [[unroll]] for (uint i = 0u; i < kPerVector; ++i) {
      values[v][i] = weight_of(values[v][i], greatest);
      sum += values[v][i];
    }
  }
  const float factor = reciprocal(workgroup_sum(sum));

  [[unroll]] for (uint v = 0u; v < ${vectors}; ++v) {
    const uint at = v * members() + place();
    [[unroll]] for (uint i = 0u; i < kPerVector; ++i) values[v][i] *= factor;
    if (at < of_row) output_vectors[first + at] = is_undefined ? kUndefined : pack_units(values[v]);
  }
}

// The same rows for all members, so that none misses a barrier.
void main() {
  for (uint row = first_row(); row < problem.rows; row += row_stride()) normalize(row);
}
$else
void main() {
  const uint row = workgroup_index();   // the same for all members, so that none misses a barrier
  if (row >= problem.rows) return;
  const uint begin = row * problem.columns + gl_LocalInvocationIndex, end = row * problem.columns + problem.columns;

  int key = kLeastKey;
  for (uint i = begin; i < end; i += ${workgroup}) key = max(key, key_of(flush_subnormal(load_real(i))));
  key = workgroup_max(key);
  const bool is_undefined = key == kLeastKey || key >= kInfinityKey;
  const float greatest = intBitsToFloat(ordered(key));

  float sum = 0.0;
  for (uint i = begin; i < end; i += ${workgroup}) sum += weight_of(flush_subnormal(load_real(i)), greatest);
  const float factor = reciprocal(workgroup_sum(sum));

  for (uint i = begin; i < end; i += ${workgroup}) {
    const float y = weight_of(flush_subnormal(load_real(i)), greatest) * factor;
    store_real(i, is_undefined ? uintBitsToFloat(kNan) : y);
  }
}
$end
