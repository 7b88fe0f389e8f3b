// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sum of linear/weight_only_plain.comp for few rows of activations: its time is the time of reading the weight
// once. The activations are read with each load of weights; all teams find them in a cache.
//
//   reduce  subgroup: sums are joined by subgroups first; shared: through shared memory alone
//   halves  native: the device converts activations of f16, and keeps what is subnormal; bits: lib/float16.glsl does
#version 450
${extensions()}
#extension GL_EXT_control_flow_attributes : require
$if reduce == subgroup
#extension GL_KHR_shader_subgroup_arithmetic : require
$end
${local_size(group.workgroup)}
${declare_words(input, bytes(input_dtype))}
$if form == weight_q4_rows and input_dtype == f16
${declare_vectors(input)}
$end
${declare(weight_scales)}
${declare(bias)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/words.glsl"
$if halves == native
$include "lib/unpack_vector.glsl" native_halves
$end
$include "lib/real_elements.glsl" store
$include "lib/linear_finish.glsl"
$include "lib/weight_rows.glsl" form

$include "lib/weight_gemv.glsl"
$include "lib/weight_rows.glsl" groups

// Four neighbouring activations of a row. Past k they are 0, and meet the weight's padding.
vec4 activations(uint row, uint quad) {
  if (quad >= problem.k / 4u) return vec4(0.0);
  const uint place = min(row, problem.m - 1u) * (problem.k / 4u) + quad;
$if halves == native
  return unpack_native_f16(input_words[place]);
$else
  return unpack_${input_dtype}(input_words[place]);
$end
}

// One load of each of the team's columns, against the activations that it meets.
void accumulate(uint first_m, uint column, uint load) {
  const uint group = group_of_load(load);
  uvec4 weights[${columns}];
  float scales[${columns}];
  [[unroll]] for (uint c = 0u; c < ${columns}; ++c) {
    const uint n = min(column + c, problem.n - 1u);
    weights[c] = weight_loads[n * loads_per_row() + load];
    scales[c] = weight_scales_data[n * problem.groups + group];
  }
  float parts[${rows}][${columns}];
  [[unroll]] for (uint m = 0u; m < ${rows}u; ++m) {
    [[unroll]] for (uint c = 0u; c < ${columns}; ++c) parts[m][c] = 0.0;
  }
  [[unroll]] for (uint word = 0u; word < 4u; ++word) {
    vec4 w[${columns}][kQuads];
    [[unroll]] for (uint c = 0u; c < ${columns}; ++c) {
      [[unroll]] for (uint quad = 0u; quad < kQuads; ++quad) w[c][quad] = weight_quad(weights[c][word], quad);
    }
    [[unroll]] for (uint m = 0u; m < ${rows}u; ++m) {
      vec4 x[kQuads];
$if form == weight_q4_rows and input_dtype == f16
      // One load and no branch, for rows of whole loads: 15.0 -> 14.0 us for 1 x 14336 x 4096 on an H100.
      const uvec4 halves = input_vectors[min(first_m + m, problem.m - 1u) * (problem.k / 8u) + 4u * load + word];
$if halves == native
      x[0] = unpack_native_f16(halves.xy);
      x[1] = unpack_native_f16(halves.zw);
$else
      x[0] = unpack_f16(halves.xy);
      x[1] = unpack_f16(halves.zw);
$end
$else
      [[unroll]] for (uint i = 0u; i < kQuads; ++i) x[i] = activations(first_m + m, (4u * load + word) * kQuads + i);
$end
      [[unroll]] for (uint quad = 0u; quad < kQuads; ++quad) {
        vec4 met;
        [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
          const uint element = quad_element(quad, lane);
          met[lane] = x[element / 4u][element % 4u];
        }
        met *= kQuadScale;
        [[unroll]] for (uint c = 0u; c < ${columns}; ++c) {
          const vec4 weight = w[c][quad];
          [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) parts[m][c] = fma(met[lane], weight[lane], parts[m][c]);
        }
      }
    }
  }
  [[unroll]] for (uint m = 0u; m < ${rows}u; ++m) {
    [[unroll]] for (uint c = 0u; c < ${columns}; ++c) {
      sums[(m * ${columns} + c) / 4u][c % 4u] += scales[c] * parts[m][c];
    }
  }
}

void begin_rows(uint first_m, uint column) {}

vec4 of_row(vec4 total, uint m) { return total; }
