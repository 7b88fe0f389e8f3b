// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// linear/weight_only_fragments.comp of one row, which each workgroup makes itself: with x = hidden + skip, the row is
// x / sqrt(mean of x^2 + epsilon) * norm_weight, rounded to f16. All workgroups do the same work: what they read is in a
// cache, and a kernel before this one would take longer. The first workgroup also stores x.
//
//   halves  native: the device converts f16, and keeps what is subnormal; bits: lib/float16.glsl does
//   turns   tiles that a workgroup computes one after the other, on the row that it has made once
//   at_once 4: a subgroup loads four blocks of k together, each of which is a group. The loads begin after the row is
//           made: begun before, they take registers, and 1 x 6144 x 4096 takes 9.4 us on an H200 in place of 7.1 us
//
// With a gate, the output is silu_mul of the product. The upper half of each matrix has eight rows of the first half of
// the weight, and the lower half has those of the second half that belong to them. So a workgroup has both factors of
// each output. It rounds them to f16, as if they had been stored.
#version 450
${extensions()}
#extension GL_KHR_shader_subgroup_arithmetic : require
$include "lib/weight_fragments.glsl" extensions
${local_size(team.workgroup)}
${declare_vectors(hidden)}
${declare_vectors(skip)}
${declare_vectors(norm_weight)}
${declare_vectors(sum)}
${declare(weight_scales)}
${declare_vectors(weight_scales)}
${declare(bias)}
${declare(output)}
${declare_problem()}
#define ROW_COUNT problem.m
const uint kPerVector = 8u;
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$if halves == native
$include "lib/unpack_vector.glsl" native
$else
$include "lib/unpack_vector.glsl"

uvec4 pack_vector(float x[kPerVector]) {
  uvec4 words;
  [[unroll]] for (uint i = 0u; i < 4u; ++i) words[i] = f32_to_f16(x[2u * i]) | f32_to_f16(x[2u * i + 1u]) << 16;
  return words;
}
$end
$include "lib/real_elements.glsl" store
$include "lib/linear_finish.glsl"
$include "lib/gate.glsl"
$include "lib/weight_rows.glsl" q4

const uint kVectors = kPerLoad / 8u;  // of activations that meet a load
const bool kIsOneRow = true;
const bool kByFour = ${at_once} == 4;
#define HAS_OTHER_MAIN  // in lib/weight_fragments.glsl
const uint kOfMatrix = ${with_gate} ? 8u : ${matrix.m}u;  // outputs
#define WEIGHT_ROW(first_n, i, lower) first_n + kOfMatrix * i + (${with_gate} ? problem.n / 2u : 8u) * lower
$include "lib/weight_fragments.glsl"
#define STAGED_VECTORS (${held} == 0u ? 1u : ${held} / 16u)
$include "lib/staged_row.glsl"

uint staged_vector(uint vector) { return staged_at(vector / kVectors, vector % kVectors); }

void stage_vector(uint vector, uvec4 words) {
  staged_row[staged_vector(vector)] = uvec4(pairs_of(words.xy), pairs_of(words.zw));
}

float staged_activation(uint k) {
  const uint word = staged_row[staged_vector(k / 8u)][k / 4u % 2u * 2u + k % 2u];
  return f16_to_f32(bitfieldExtract(word, int(k / 2u % 2u * 16u), 16));
}

// ---- the row --------------------------------------------------------------------------------------------------------

shared float subgroup_squares[${team.workgroup} / 4u];  // subgroups of four and more
const uint kMine = (${held} / 16u + ${team.workgroup} - 1u) / ${team.workgroup};  // vectors of an invocation

uint my_vector(uint i) { return i * ${team.workgroup} + gl_LocalInvocationIndex; }

// hidden + skip; past the end of the row, zeros.
void load_sums(out float x[kMine][kPerVector]) {
  [[unroll]] for (uint i = 0u; i < kMine; ++i) {
    const uint at = min(my_vector(i), problem.k / kPerVector - 1u);
    float other[kPerVector];
    unpack_vector(hidden_vectors[at], x[i]);
    unpack_vector(skip_vectors[at], other);
    [[unroll]] for (uint e = 0u; e < kPerVector; ++e) {
      x[i][e] = my_vector(i) < problem.k / kPerVector ? x[i][e] + other[e] : 0.0;
    }
  }
}

float root_factor(float x[kMine][kPerVector]) {
  float squares = 0.0;
  [[unroll]] for (uint i = 0u; i < kMine; ++i) {
    [[unroll]] for (uint e = 0u; e < kPerVector; ++e) squares += x[i][e] * x[i][e];
  }
  squares = subgroupAdd(squares);
  if (subgroupElect()) subgroup_squares[gl_SubgroupID] = squares;
  barrier();
  float all = 0.0;
  for (uint s = 0u; s < gl_NumSubgroups; ++s) all += subgroup_squares[s];
  return inversesqrt(all * problem.inverse_columns + problem.epsilon);
}

void begin_rows(uint first_m) {
  float x[kMine][kPerVector];
  load_sums(x);
  const float factor = root_factor(x);
  [[unroll]] for (uint i = 0u; i < kMine; ++i) {
    const uint at = my_vector(i);
    if (at >= problem.k / kPerVector) continue;
    if (workgroup_index() == 0u) sum_vectors[at] = pack_vector(x[i]);
    float other[kPerVector];
    [[unroll]] for (uint e = 0u; e < kPerVector; ++e) x[i][e] *= factor;
    if (problem.has_norm_weight != 0u) {
      unpack_vector(norm_weight_vectors[at], other);
      [[unroll]] for (uint e = 0u; e < kPerVector; ++e) x[i][e] *= other[e];
    }
    stage_vector(at, pack_vector(x[i]));
  }
  barrier();
}

uvec4 activation_vector(uint row, uint load, uint i) { return staged_row[staged_at(load, i)]; }
$include "lib/staged_row.glsl" pairs

float activation(uint m, uint k) { return staged_activation(k); }
float row_scale(uint m) { return 1.0; }

// ---- tiles ----------------------------------------------------------------------------------------------------------

const uint kOutputs = ${blocks.m} * kOfMatrix;  // of a tile

// Of output i of a tile: the sum, or those of both factors. n is the output's number.
float[2] sums_of(bool by_matrices, uint i, uint n) {
  if (!${with_gate}) return float[](by_matrices ? total_of(i) : plain_sum(0u, n), 0.0);
  const uint column = i / 8u * 16u + i % 8u;
  return float[](by_matrices ? total_of(column) : plain_sum(0u, n),
                 by_matrices ? total_of(column + 8u) : plain_sum(0u, n + problem.n / 2u));
}

float rounded(float x) { return f16_to_f32(f32_to_f16(x)); }

float output_of(float both[2], uint n) {
  const float x = finished(both[0], n);
  return ${with_gate} ? gated(rounded(x), rounded(finished(both[1], n + problem.n / 2u))) : x;
}

// A workgroup computes some tiles one after the other. If it takes single blocks, it fetches the first block of the next
// tile before it joins the sums of one. The outputs of each tile belong to other invocations. Gates are computed after the
// last tile, all at once: 1 x 28672 x 4096 takes 23.1 us on an H200, and 25.1 us if they are computed tile by tile.
void main() {
  const uint column_tiles = (problem.n + kColumns - 1u) / kColumns;
  const uint stride = (column_tiles + ${turns} - 1u) / ${turns};   // workgroups that have a tile
  const uint blocks = loads_per_row() / 4u;
  uint tile = workgroup_index();
  if (tile >= stride) return;

  // The turn and the output of this invocation.
  const uint own_turn = gl_LocalInvocationIndex / kOutputs, own = gl_LocalInvocationIndex % kOutputs;
  const uint n = (tile + own_turn * stride) * kOutputs + own;
  const bool has_output = own_turn < ${turns} && n < (${with_gate} ? problem.n / 2u : problem.n);
  float both[2];

  if (!kByFour) fetch_weights(tile * kOutputs, gl_SubgroupID);
  begin_rows(0u);
  const bool by_matrices = has_mapping();
  for (uint turn = 0u; tile < column_tiles; ++turn) {
    const uint first_n = tile * kOutputs;
    tile += stride;
    if (by_matrices) {
      [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) sums[i][0] = SUMS(0.0);
      if (!kByFour) {
        for (uint block = gl_SubgroupID; block < blocks; block += gl_NumSubgroups) {
          const uint next = block + gl_NumSubgroups;
          const bool is_of_next = tile < column_tiles && next >= blocks;
          add_block(0u, is_of_next ? tile * kOutputs : first_n, block, is_of_next ? gl_SubgroupID : next);
        }
      } else {
        add_all_by_four(0u, first_n);
      }
      put_sums();
    }
    barrier();
    if (has_output && turn == own_turn) {
      both = sums_of(by_matrices, own, n);
      if (!${with_gate}) store_real(n, output_of(both, n));
    }
    if (${turns} > 1u) barrier();  // before the next sums
  }
  if (${with_gate} && has_output) store_real(n, output_of(both, n));
}
