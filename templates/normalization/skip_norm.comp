// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// sum = input + skip + sum_bias, and (sum - mean) / sqrt(mean of its square + epsilon) * weight + bias, with a mean of
// 0 unless `centred`; in f32 (lib/normalized_rows.glsl). The normalization reads the sum before it is rounded to the
// output's dtype.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(skip)}
${declare(sum_bias)}
${declare(weight)}
${declare(bias)}
${declare(output)}
${declare(sum)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/real_elements.glsl" load
$include "lib/real_elements.glsl" store
$include "lib/workgroup_reduce.glsl"
const bool kCentred = ${centred};

$if reduce in (held, native, team, part, streamed)
$include "lib/held_row.glsl"
${declare_vectors(skip)}
${declare_vectors(sum_bias)}
${declare_vectors(weight)}
${declare_vectors(bias)}
${declare_vectors(sum)}

void load_row_vector(uint first, uint at, out float x[kPerVector]) {
  float other[kPerVector];
  unpack_vector(input_vectors[first + at], x);
  unpack_vector(skip_vectors[first + at], other);
  [[unroll]] for (uint i = 0u; i < kPerVector; ++i) x[i] += other[i];
  if (problem.has_sum_bias != 0u) {
    unpack_vector(sum_bias_vectors[at], other);
    [[unroll]] for (uint i = 0u; i < kPerVector; ++i) x[i] += other[i];
  }
}
void keep_row_vector(uint first, uint at, float x[kPerVector]) { sum_vectors[first + at] = pack_vector(x); }
void finish_vector(uint at, inout float x[kPerVector]) {
  float other[kPerVector];
  if (problem.has_weight != 0u) {
    unpack_vector(weight_vectors[at], other);
    [[unroll]] for (uint i = 0u; i < kPerVector; ++i) x[i] *= other[i];
  }
  if (problem.has_bias != 0u) {
    unpack_vector(bias_vectors[at], other);
    [[unroll]] for (uint i = 0u; i < kPerVector; ++i) x[i] += other[i];
  }
}
$else
$if input_dtype == f16
${declare_bits(skip)}
${declare_bits(sum_bias)}
${declare_bits(weight)}
${declare_bits(bias)}
${declare_bits(sum)}
float skip_at(uint index) { return f16_to_f32(uint(skip_bits[index])); }
float sum_bias_at(uint column) { return f16_to_f32(uint(sum_bias_bits[column])); }
float weight_at(uint column) { return f16_to_f32(uint(weight_bits[column])); }
float bias_at(uint column) { return f16_to_f32(uint(bias_bits[column])); }
void keep_row(uint first, uint k, float x) { sum_bits[first + k] = uint16_t(f32_to_f16(x)); }
$else
float skip_at(uint index) { return skip_data[index]; }
float sum_bias_at(uint column) { return sum_bias_data[column]; }
float weight_at(uint column) { return weight_data[column]; }
float bias_at(uint column) { return bias_data[column]; }
void keep_row(uint first, uint k, float x) { sum_data[first + k] = x; }
$end

float load_row(uint first, uint k) {
  float x = load_real(first + k) + skip_at(first + k);
  if (problem.has_sum_bias != 0u) x += sum_bias_at(k);
  return x;
}
float finish(uint k, float x) {
  if (problem.has_weight != 0u) x *= weight_at(k);
  if (problem.has_bias != 0u) x += bias_at(k);
  return x;
}
$end
$include "lib/normalized_rows.glsl"
