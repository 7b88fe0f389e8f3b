// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sum of linear/dynamic_plain.comp for few rows of activations, in one kernel: each workgroup quantizes the
// activations for itself, which costs less than another dispatch, and multiplies as linear/weight_only_gemv.comp does.
//
// A load of the weight becomes integers, then one float a group: sum (a - z) * w = sum a * w - z * sum w, both sums by
// dot products of four bytes.
//
//   shared   staged[m][vector of a load][load]: the bytes that meet a load, as uvec4s
#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
$if dot == packed
#extension GL_EXT_integer_dot_product : require
$end
${local_size(workgroup)}
${declare(input)}
${declare(weight_scales)}
${declare(bias)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/words.glsl"
$include "lib/affine.glsl"
$include "lib/extremes.glsl"
$include "lib/qparams.glsl"
$include "lib/team_shared.glsl"
$include "lib/load_real.glsl"
$include "lib/store_real.glsl"
$include "lib/linear_finish.glsl"
$include "lib/activation_rows.glsl"
$if form == weight_q4_rows
$include "lib/weight_q4_rows.glsl"
$else
$include "lib/weight_q8_rows.glsl"
$end
$include "lib/dot4.glsl"

const uint kTeams = ${workgroup} / ${team};
const uint kVectors = kPerLoad / 16u;  // of activations that meet a load
const uint kChunkLoads = ${ceil_div(16384, tile_m)} / kPerLoad;

shared uvec4 staged[${tile_m} * kVectors * kChunkLoads];
shared vec4 team_sums[${workgroup}];

Qparams rows[${tile_m}];

void stage(uint first_m, uint first_k, uint loads) {
  [[unroll]] for (uint m = 0u; m < ${tile_m}; ++m) {
    const uint row = min(first_m + m, problem.m - 1u);
    const float inverse_scale = quantizer(rows[m].scale);
    for (uint i = gl_LocalInvocationIndex; i < loads * 4u * kVectors; i += ${workgroup}) {
      const uint load = i / (4u * kVectors);
      const uint vector = i / 4u % kVectors;
      staged[(m * kVectors + vector) * kChunkLoads + load][i % 4u] =
          quantized_word(row, first_k + 4u * i, inverse_scale, rows[m].zero_point);
    }
  }
}

// The sum over the team, given to its first lane.
vec4 team_sum(vec4 mine) {
  const uint self = gl_LocalInvocationIndex;
  barrier();
  team_sums[self] = mine;
  barrier();
  for (uint distance = ${team} / 2u; distance > 0u; distance /= 2u) {
    if (self % ${team} < distance) team_sums[self] += team_sums[self + distance];
    barrier();
  }
  return team_sums[self];
}

float sums[${tile_m}][${tile_n}];

void accumulate(uint first_n, uint chunk_begin, uint load) {
  const uint at = chunk_begin + load;
  const uint group = min(at * kPerLoad / problem.group_size, problem.groups - 1u);
  uvec4 weights[${tile_n}];
  float scales[${tile_n}];
  [[unroll]] for (uint n = 0u; n < ${tile_n}; ++n) {
    const uint row = min(first_n + n, problem.n - 1u);
    weights[n] = weight_loads[row * loads_per_row() + at];
    scales[n] = weight_scales_data[row * problem.groups + group] * kByteFactor;
  }
  uvec4 a[${tile_m}][kVectors];
  [[unroll]] for (uint m = 0u; m < ${tile_m}; ++m) {
    [[unroll]] for (uint v = 0u; v < kVectors; ++v) a[m][v] = staged[(m * kVectors + v) * kChunkLoads + load];
  }
  [[unroll]] for (uint n = 0u; n < ${tile_n}; ++n) {
    int weight_sum = 0;
    int products[${tile_m}];
    [[unroll]] for (uint m = 0u; m < ${tile_m}; ++m) products[m] = 0;
    [[unroll]] for (uint i = 0u; i < 4u * kVectors; ++i) {
      const uint w = weight_bytes(weights[n][i / kVectors], i % kVectors);
      weight_sum += dot4(w, 0x01010101u);
      [[unroll]] for (uint m = 0u; m < ${tile_m}; ++m) products[m] += dot4(w, a[m][i / 4u][i % 4u]);
    }
    [[unroll]] for (uint m = 0u; m < ${tile_m}; ++m) {
      sums[m][n] += scales[n] * float(products[m] - rows[m].zero_point * weight_sum);
    }
  }
}

void main() {
  const uint columns = kTeams * ${tile_n};
  const uint groups_n = (problem.n + columns - 1u) / columns;
  const uint first_m = workgroup_index() / groups_n * ${tile_m};
  const uint first_n = workgroup_index() % groups_n * columns + gl_LocalInvocationIndex / ${team} * ${tile_n};
  const uint lane = gl_LocalInvocationIndex % ${team};
  if (first_m >= problem.m) return;

  [[unroll]] for (uint m = 0u; m < ${tile_m}; ++m) {
    rows[m] = qparams_of_row(min(first_m + m, problem.m - 1u));
    [[unroll]] for (uint n = 0u; n < ${tile_n}; ++n) sums[m][n] = 0.0;
  }
  for (uint begin = 0u; begin < loads_per_row(); begin += kChunkLoads) {
    const uint loads = min(kChunkLoads, loads_per_row() - begin);
    barrier();
    stage(first_m, begin * kPerLoad, loads);
    barrier();
    for (uint load = lane; load < loads; load += ${team}) accumulate(first_n, begin, load);
  }

  [[unroll]] for (uint m = 0u; m < ${tile_m}; ++m) {
    vec4 of_lane = vec4(0.0);
    [[unroll]] for (uint n = 0u; n < ${tile_n}; ++n) of_lane[n] = sums[m][n];
    const vec4 total = team_sum(of_lane) * rows[m].scale;
    [[unroll]] for (uint n = 0u; n < ${tile_n}; ++n) {
      const bool is_inside = lane == 0u && first_m + m < problem.m && first_n + n < problem.n;
      if (is_inside) store_real((first_m + m) * problem.n + first_n + n, finished(total[n], first_n + n));
    }
  }
}
