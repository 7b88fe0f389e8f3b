// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// (x - mean) / sqrt(variance + epsilon) * weight + bias, in f32. The variance is a sum of squares, so it is never a
// difference of large numbers.
//
//   reduce shared, subgroup   a workgroup passes over its row for its mean, for its variance, and for the results
//   reduce held, team         a workgroup, or a subgroup, reads its row once (lib/held_row.glsl)
//   reduce native, part, streamed   lib/normalized_rows.glsl
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(output)}
${declare(weight)}
${declare(bias)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/real_elements.glsl" load
$include "lib/real_elements.glsl" store
$include "lib/workgroup_reduce.glsl"

$if reduce in (native, part, streamed)
const bool kCentred = true;
$include "lib/held_row.glsl"
${declare_vectors(weight)}
${declare_vectors(bias)}

void load_row_vector(uint first, uint at, out float x[kPerVector]) { unpack_vector(input_vectors[first + at], x); }
void keep_row_vector(uint first, uint at, float x[kPerVector]) {}
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
$include "lib/normalized_rows.glsl"
$elif reduce in (held, team)
$include "lib/held_row.glsl"
${declare_vectors(weight)}
${declare_vectors(bias)}

void normalize(uint row) {
  const uint of_row = problem.columns / kPerVector, first = row * of_row;
  float values[${vectors}][kPerVector];
  float sum = 0.0;
  [[unroll]] for (uint v = 0u; v < ${vectors}; ++v) {
    const uint at = v * members() + place();
    uvec4 words = uvec4(0u);
    if (at < of_row) words = input_vectors[first + at];
    unpack_vector(words, values[v]);
    [[unroll]] for (uint i = 0u; i < kPerVector; ++i) sum += values[v][i];
  }
  const float mean = workgroup_sum(sum) * problem.inverse_columns;

  float squares = 0.0;
  [[unroll]] for (uint v = 0u; v < ${vectors}; ++v) {
    const bool is_padding = v * members() + place() >= of_row;
    [[unroll]] for (uint i = 0u; i < kPerVector; ++i) {
      values[v][i] = is_padding ? 0.0 : values[v][i] - mean;
      squares += values[v][i] * values[v][i];
    }
  }
  const float factor = inversesqrt(workgroup_sum(squares) * problem.inverse_columns + problem.epsilon);

  [[unroll]] for (uint v = 0u; v < ${vectors}; ++v) {
    const uint at = v * members() + place();
    if (at >= of_row) continue;
    float other[kPerVector];
    [[unroll]] for (uint i = 0u; i < kPerVector; ++i) values[v][i] *= factor;
    if (problem.has_weight != 0u) {
      unpack_vector(weight_vectors[at], other);
      [[unroll]] for (uint i = 0u; i < kPerVector; ++i) values[v][i] *= other[i];
    }
    if (problem.has_bias != 0u) {
      unpack_vector(bias_vectors[at], other);
      [[unroll]] for (uint i = 0u; i < kPerVector; ++i) values[v][i] += other[i];
    }
    output_vectors[first + at] = pack_vector(values[v]);
  }
}

// The same rows for all members, so that none misses a barrier.
void main() {
  for (uint row = first_row(); row < problem.rows; row += row_stride()) normalize(row);
}
$else
$if input_dtype == f16
${declare_bits(weight)}
${declare_bits(bias)}
float weight_at(uint column) { return f16_to_f32(uint(weight_bits[column])); }
float bias_at(uint column) { return f16_to_f32(uint(bias_bits[column])); }
$else
float weight_at(uint column) { return weight_data[column]; }
float bias_at(uint column) { return bias_data[column]; }
$end

void main() {
  const uint row = workgroup_index();   // the same for all members, so that none misses a barrier
  if (row >= problem.rows) return;
  const uint first = row * problem.columns;

  float sum = 0.0;
  for (uint k = gl_LocalInvocationIndex; k < problem.columns; k += ${workgroup}) sum += load_real(first + k);
  const float mean = workgroup_sum(sum) * problem.inverse_columns;

  float squares = 0.0;
  for (uint k = gl_LocalInvocationIndex; k < problem.columns; k += ${workgroup}) {
    const float difference = load_real(first + k) - mean;
    squares += difference * difference;
  }
  const float factor = inversesqrt(workgroup_sum(squares) * problem.inverse_columns + problem.epsilon);

  for (uint k = gl_LocalInvocationIndex; k < problem.columns; k += ${workgroup}) {
    float y = (load_real(first + k) - mean) * factor;
    if (problem.has_weight != 0u) y *= weight_at(k);
    if (problem.has_bias != 0u) y += bias_at(k);
    store_real(first + k, y);
  }
}
$end
