// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Joins the slices of attention/attention_vectors.comp. A workgroup has a row. Of each slice that has keys, it has the
// sums of values, the greatest score m and the sum of weights. The first slice says how many have keys. With M the
// greatest m, it multiplies both sums by exp(m - M), adds them up over the slices and divides.
//
// Teams of invocations take the slices in turn. An invocation has four columns.
#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
${local_size(workgroup)}
${declare(partial, 4)}
${declare_words(output, bytes(output_dtype))}   // four elements
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/exponential.glsl"

const uint kAtOnce = 4u;   // slices of an invocation
const uint kQuads = ${quads} == 0u ? 1u : ${quads};
const uint kTeams = ${workgroup} / kQuads;
shared vec4 sums[${workgroup}];
shared float totals[${workgroup}];

uint place_of(uint slice, uint row) {
  return (slice * problem.batches * problem.key_heads * problem.rows + row) * (kQuads + 1u);
}

uint team() { return gl_LocalInvocationIndex / kQuads; }
uint quad() { return gl_LocalInvocationIndex % kQuads; }

// What some slices of a team have. The first ones are loaded before it is known how many slices have keys.
struct Sums {
  vec4 scores[kAtOnce];   // the greatest score, the sum of weights, and how many slices of the row have keys
  vec4 values[kAtOnce];   // sums of values
};

Sums load_sums(uint first, uint row) {
  Sums loaded;
  [[unroll]] for (uint i = 0u; i < kAtOnce; ++i) {
    const uint at = place_of(min(first + i * kTeams, problem.slices - 1u), row);
    loaded.scores[i] = partial_data[at + kQuads];
    loaded.values[i] = partial_data[at + quad()];
  }
  return loaded;
}

// The greatest score of `count` slices.
float greatest_of(Sums loaded, uint count, uint row) {
  float best = minus_infinity();
  [[unroll]] for (uint i = 0u; i < kAtOnce; ++i) {
    if (team() + i * kTeams < count) best = max(best, loaded.scores[i].x);
  }
  for (uint slice = team() + kAtOnce * kTeams; slice < count; slice += kTeams) {
    best = max(best, partial_data[place_of(slice, row) + kQuads].x);
  }
  if (quad() == 0u && team() < kTeams) totals[team()] = best;
  barrier();
  for (uint i = 0u; i < kTeams; ++i) best = max(best, totals[i]);
  barrier();
  return best;
}

void add_slices(Sums loaded, uint count, uint row, float greatest, inout vec4 sum, inout float total) {
  if (team() >= kTeams) return;
  for (uint first = team(); first < count; first += kAtOnce * kTeams) {
    if (first != team()) loaded = load_sums(first, row);
    [[unroll]] for (uint i = 0u; i < kAtOnce; ++i) {
      // A slice without a key of this row has a sum of 0.
      if (first + i * kTeams >= count || loaded.scores[i].y == 0.0) continue;
      const float weight = weight_of(loaded.scores[i].x - greatest);
      sum += weight * loaded.values[i];
      total += weight * loaded.scores[i].y;
    }
  }
}

void store(uint row, uint quad, vec4 x) {
  const uint matrix = row / problem.rows, r = row % problem.rows;
  const uint head = matrix % problem.key_heads * problem.group + r % problem.group;
  const uint at = matrix / problem.key_heads * problem.output_strides[0] + head * problem.output_strides[1] +
                  r / problem.group * problem.output_strides[2];
$if output_dtype == f16
  output_words[at / 4u + quad] =
      uvec2(f32_to_f16(x.x) | f32_to_f16(x.y) << 16, f32_to_f16(x.z) | f32_to_f16(x.w) << 16);
$else
  output_words[at / 4u + quad] = floatBitsToUint(x);
$end
}

void main() {
  const uint row = workgroup_index();   // of all heads and batches; the same for all invocations
  if (row >= problem.batches * problem.key_heads * problem.rows) return;
  const uint here = gl_LocalInvocationIndex;
  const Sums loaded = load_sums(team(), row);
  const uint count = uint(partial_data[place_of(0u, row) + kQuads].z);
  const float greatest = greatest_of(loaded, count, row);
  vec4 sum = vec4(0.0);
  float total = 0.0;
  add_slices(loaded, count, row, greatest, sum, total);
  sums[here] = sum;
  totals[here] = total;
  barrier();
  if (here >= kQuads) return;
  for (uint team = 1u; team < kTeams; ++team) {
    sum += sums[team * kQuads + here];
    total += totals[team * kQuads + here];
  }
  store(row, here, sum * (total == 0.0 ? 0.0 : 1.0 / total));   // no key: zeros
}
