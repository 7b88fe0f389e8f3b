// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// x / sqrt(mean of x^2 + epsilon) * weight, in f32 (lib/normalized_rows.glsl).
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(output)}
${declare(weight)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/real_elements.glsl" load
$include "lib/real_elements.glsl" store
$include "lib/workgroup_reduce.glsl"
const bool kCentred = false;

$if reduce in (held, native, team, part, streamed)
$include "lib/held_row.glsl"
${declare_vectors(weight)}

void load_row_vector(uint first, uint at, out float x[kPerVector]) { unpack_vector(input_vectors[first + at], x); }
void keep_row_vector(uint first, uint at, float x[kPerVector]) {}
void finish_vector(uint at, inout float x[kPerVector]) {
  if (problem.has_weight == 0u) return;
  float other[kPerVector];
  unpack_vector(weight_vectors[at], other);
  [[unroll]] for (uint i = 0u; i < kPerVector; ++i) x[i] *= other[i];
}
$else
$if input_dtype == f16
${declare_bits(weight)}
float weight_at(uint column) { return f16_to_f32(uint(weight_bits[column])); }
$else
float weight_at(uint column) { return weight_data[column]; }
$end

float load_row(uint first, uint k) { return load_real(first + k); }
void keep_row(uint first, uint k, float x) {}
float finish(uint k, float x) { return problem.has_weight != 0u ? x * weight_at(k) : x; }
$end
$include "lib/normalized_rows.glsl"
