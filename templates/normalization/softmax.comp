// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// exp(x - m) / sum of exp(x - m), with m the greatest element of the row; in f32, by lib/exponential.glsl. A workgroup
// owns a row. The greatest is found among integers that are ordered as floats are, above which NaN stands.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/float32.glsl"
$include "lib/load_real.glsl"
$include "lib/store_real.glsl"
$include "lib/exponential.glsl"
$include "lib/workgroup_reduce.glsl"

int ordered(int bits) { return bits ^ (bits >> 31 & kLargestInt); }  // its own inverse

const int kLeastKey = int(0x807fffffu);  // of -infinity
const int kInfinityKey = int(kInfinity);

int key_of(float x) { return is_nan(x) ? kLargestInt : ordered(floatBitsToInt(x)); }

// Elements that are smaller than the greatest by more than 87 count for nothing.
float weight_of(float x, float greatest) {
  precise const float difference = x - greatest;
  return difference >= -87.0 ? exponential(difference) : 0.0;
}

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
