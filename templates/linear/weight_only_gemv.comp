// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sum of linear/weight_only_plain.comp for few rows of activations, where reading the weight is all the work.
//
// A team of neighbouring invocations owns tile_n rows of the weight: its lanes take the 16-byte loads of a row in turn,
// so that neighbours read neighbouring memory, and then add up. The activations of tile_m rows are staged in shared
// memory, a chunk of k at a time, as f32 in the order in which lanes read them.
//
//   shared   staged[m][quad of a load][load]: lanes read neighbouring vec4s. A row of loads has one more than a
//            chunk has, so that a load's quads, which neighbours write, fall into different banks
#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(weight_scales)}
${declare(bias)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/load_real.glsl"
$include "lib/store_real.glsl"
$include "lib/linear_finish.glsl"
$if form == weight_q4_rows
$include "lib/weight_q4_rows.glsl"
$else
$include "lib/weight_q8_rows.glsl"
$end

const uint kTeams = ${workgroup} / ${team};
const uint kChunkLoads = ${ceil_div(4096, tile_m)} / kPerLoad;
const uint kQuadsPerLoad = 4u * kQuads;
const uint kQuadStride = kChunkLoads + 1u;

shared vec4 staged[${tile_m} * kQuadsPerLoad * kQuadStride];
shared vec4 team_sums[${workgroup}];

uint quad_index(uint m, uint quad, uint load) { return (m * kQuadsPerLoad + quad) * kQuadStride + load; }

// Activations past k are 0: they meet the weight's padding.
void stage(uint first_m, uint first_k, uint count) {
  [[unroll]] for (uint m = 0u; m < ${tile_m}; ++m) {
    const uint row = min(first_m + m, problem.m - 1u) * problem.k;
    for (uint i = gl_LocalInvocationIndex; i < count; i += ${workgroup}) {
      const float x = first_k + i < problem.k ? load_real(row + first_k + i) : 0.0;
      const uint in_word = i % kPerWord;
      const uint quad = i % kPerLoad / kPerWord * kQuads + quad_of(in_word);
      staged[quad_index(m, quad, i / kPerLoad)][lane_of(in_word)] = x * kQuadScale[lane_of(in_word)];
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

vec4 sums[${tile_m}][${tile_n}];

// One load of each of the team's rows, against the staged activations that it meets.
void accumulate(uint first_n, uint chunk_begin, uint load) {
  const uint at = chunk_begin + load;
  const uint group = min(at * kPerLoad / problem.group_size, problem.groups - 1u);
  uvec4 weights[${tile_n}];
  float scales[${tile_n}];
  [[unroll]] for (uint n = 0u; n < ${tile_n}; ++n) {
    const uint row = min(first_n + n, problem.n - 1u);
    weights[n] = weight_loads[row * loads_per_row() + at];
    scales[n] = weight_scales_data[row * problem.groups + group];
  }
  vec4 parts[${tile_m}][${tile_n}];
  [[unroll]] for (uint quad = 0u; quad < kQuadsPerLoad; ++quad) {
    vec4 x[${tile_m}];
    [[unroll]] for (uint m = 0u; m < ${tile_m}; ++m) x[m] = staged[quad_index(m, quad, load)];
    [[unroll]] for (uint n = 0u; n < ${tile_n}; ++n) {
      const vec4 w = weight_quad(weights[n][quad / kQuads], quad % kQuads);
      [[unroll]] for (uint m = 0u; m < ${tile_m}; ++m) parts[m][n] = quad == 0u ? x[m] * w : parts[m][n] + x[m] * w;
    }
  }
  [[unroll]] for (uint m = 0u; m < ${tile_m}; ++m) {
    [[unroll]] for (uint n = 0u; n < ${tile_n}; ++n) sums[m][n] += scales[n] * parts[m][n];
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
    [[unroll]] for (uint n = 0u; n < ${tile_n}; ++n) sums[m][n] = vec4(0.0);
  }
  for (uint begin = 0u; begin < loads_per_row(); begin += kChunkLoads) {
    const uint loads = min(kChunkLoads, loads_per_row() - begin);
    barrier();
    stage(first_m, begin * kPerLoad, loads * kPerLoad);
    barrier();
    for (uint load = lane; load < loads; load += ${team}) accumulate(first_n, begin, load);
  }

  [[unroll]] for (uint m = 0u; m < ${tile_m}; ++m) {
    vec4 of_lane = vec4(0.0);
    [[unroll]] for (uint n = 0u; n < ${tile_n}; ++n) of_lane[n] = dot(sums[m][n], vec4(1.0));
    const vec4 total = team_sum(of_lane);
    [[unroll]] for (uint n = 0u; n < ${tile_n}; ++n) {
      const bool is_inside = lane == 0u && first_m + m < problem.m && first_n + n < problem.n;
      if (is_inside) store_real((first_m + m) * problem.n + first_n + n, finished(total[n], first_n + n));
    }
  }
}
