// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Few rows of activations times an integer weight, on f16 cooperative matrices with f32 sums. In its main() a workgroup
// computes one tile of outputs. A template with another main() defines HAS_OTHER_MAIN.
//
// A subgroup computes blocks.m times 16 columns of the output for blocks.n times 8 rows, over its share of k. It fills
// matrices element by element: the weight goes from the loads of an invocation into its elements, without shared
// memory. For 8 x 4096 x 4096 in int4 this takes 7.9 us on an H200, and 13.8 us through shared memory.
//
// Vulkan does not define which invocation holds which element. This kernel assumes the mapping of NVIDIA's GPUs. In it,
// invocation 4 * g + t holds these elements, in this order:
//
//   of a weight matrix (16 x 16)   rows g, g + 8, of each columns 2t, 2t + 1, 2t + 8, 2t + 9
//   of activations (16 x 8)        rows 2t, 2t + 1, 2t + 8, 2t + 9 of column g
//   of sums (16 x 8)               rows g, g + 8, of each columns 2t, 2t + 1
//
// First it multiplies two known matrices. If their product is not what it should be, the device has another mapping,
// and the kernel computes its outputs without matrices. That is slow and right.
//
// Columns of a matrix may be any 16 values of k, if its activations have the same. So an invocation loads 16 bytes of a
// row, and its elements are always four neighbours: 0, 2, 1 and 3, as two masks unpack them. Four loads of a row, one
// for each t, are a block of k. It lies in one group.
$include "lib/weight_rows.glsl" groups
$include "lib/weight_rows.glsl" halves
$needs const uint kPerLoad
$needs uint loads_per_row()
$needs int weight_at(uint n, uint k)
$needs float finished(float sum, uint n)
$needs void store_real(uint index, float value)
$needs uint workgroup_index()
$needs const uint kVectors                                          // of activations that meet a load
$needs const bool kIsOneRow                                         // of activations: vectors are free to load
$needs const bool kByFour                                           // whether a subgroup takes four blocks at once
$needs void begin_rows(uint first_m)                                // fetches what it wants to know of the rows
$needs uvec4 activation_vector(uint row, uint load, uint i)
$needs uvec2 activation_pairs(uvec4 vectors[kVectors], uint quad, uint j)
$needs float activation(uint m, uint k)                             // one
$needs float row_scale(uint m)                                      // of sums
$gives uint in_row()
$gives uint in_column()
$gives const uint kRows
$gives const uint kSumRows
$gives const uint kColumns
$gives const uint kSubgroups
$gives const uint kAtOnce
$gives SUMS
$gives sums
$gives bool has_mapping()
$gives void fetch_weights(uint first_n, uint block)
$gives void add_block(uint first_m, uint next_n, uint block, uint next_block)
$gives void add_all_by_four(uint first_m, uint first_n)
$gives void put_sums()
$gives float total_of(uint i)
$gives float plain_sum(uint m, uint n)

void begin_rows(uint first_m);
uvec4 activation_vector(uint row, uint load, uint i);
uvec2 activation_pairs(uvec4 vectors[kVectors], uint quad, uint j);
float activation(uint m, uint k);
float row_scale(uint m);

const uint kRows = ${blocks.n} * ${matrix.n}u;       // of activations
const uint kSumRows = kIsOneRow ? 1u : kRows;        // that have different sums
const uint kColumns = ${blocks.m} * ${matrix.m}u;    // of the output: rows of the weight
const uint kQuadsPerLoad = kPerLoad / 4u;
const uint kSubgroups = ${team.workgroup} / 32u;

// The first of eight neighbouring rows of the weight, which are the upper or the lower half of the i-th matrix. A
// template may define another one.
#ifndef WEIGHT_ROW
#define WEIGHT_ROW(first_n, i, lower) first_n + ${matrix.m}u * i + 8u * lower
#endif

// What a subgroup does before it multiplies four blocks, while they are fetched. A template may define something.
#ifndef BEGIN_BLOCKS
#define BEGIN_BLOCKS(block)
#endif

#define WEIGHTS coopmat<float16_t, gl_ScopeSubgroup, ${matrix.m}, ${matrix.k}, gl_MatrixUseA>
#define ACTIVATIONS coopmat<float16_t, gl_ScopeSubgroup, ${matrix.k}, ${matrix.n}, gl_MatrixUseB>
#define SUMS coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator>

// ---- the mapping ----------------------------------------------------------------------------------------------------

uint in_row() { return gl_SubgroupInvocationID / 4u; }      // g
uint in_column() { return gl_SubgroupInvocationID % 4u; }   // t

// Weight element (r, c) is 16 * r + c. Activation (r, c) is 1 if r = c, and 3 if r = c + 8. So sum (r, c) is
// 64 * r + 4 * c + 24, a different number for each.
bool has_mapping() {
  const uint g = in_row(), t = in_column();
  WEIGHTS a = WEIGHTS(0.0);
  ACTIVATIONS b = ACTIVATIONS(0.0);
  [[unroll]] for (uint i = 0u; i < 8u; ++i) {
    a[i] = float16_t(16u * (g + i / 4u * 8u) + 2u * t + i % 2u + i / 2u % 2u * 8u);
  }
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    b[i] = float16_t(2u * t + i % 2u == g ? (i < 2u ? 1.0 : 3.0) : 0.0);
  }
  const SUMS products = coopMatMulAdd(a, b, SUMS(0.0));
  bool is_right = gl_SubgroupSize == 32u && gl_NumSubgroups == kSubgroups;
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    is_right = is_right && products[i] == float(64u * (g + i / 2u * 8u) + 4u * (2u * t + i % 2u) + 24u);
  }
  return subgroupAll(is_right);
}

// ---- one block of k -------------------------------------------------------------------------------------------------

uvec4 next_weights[${blocks.m}][2];
float next_scales[${blocks.m}][2];

void fetch_weights(uint first_n, uint block) {
  const uint load = min(4u * block + in_column(), loads_per_row() - 1u);
  const uint group = group_of_load(load);
  [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
    [[unroll]] for (uint lower = 0u; lower < 2u; ++lower) {
      const uint n = min(WEIGHT_ROW(first_n, i, lower) + in_row(), problem.n - 1u);
      next_weights[i][lower] = weight_loads[n * loads_per_row() + load];
      next_scales[i][lower] = weight_scales_data[n * problem.groups + group];
    }
  }
}

// Weights 0 and 2, then 1 and 3, of the quad-th four of a load.
uvec2 weight_pairs(uvec4 load, uint quad) {
$if form == weight_q4_rows
  const uint word = load[quad / 2u];
  return quad % 2u == 0u ? uvec2(low_halves(word), low_halves(word >> 8))
                         : uvec2(high_halves(word), high_halves(word >> 8));
$else
  const uint word = load[quad] ^ 0x80808080u;  // plus 128
  return uvec2(byte_halves(word), byte_halves(word >> 8));
$end
}

WEIGHTS weight_matrix(uvec4 loads[2], uint quad) {
  WEIGHTS a;
  [[unroll]] for (uint lower = 0u; lower < 2u; ++lower) {
    const uvec2 pairs = weight_pairs(loads[lower], quad);
    const f16vec2 first = unpackFloat2x16(pairs.x), second = unpackFloat2x16(pairs.y);
    a[4u * lower] = first.x;
    a[4u * lower + 1u] = first.y;
    a[4u * lower + 2u] = second.x;
    a[4u * lower + 3u] = second.y;
  }
  return a;
}

ACTIVATIONS activation_matrix(uvec2 pairs) {
  const f16vec2 first = unpackFloat2x16(pairs.x), second = unpackFloat2x16(pairs.y);
  ACTIVATIONS b;
  b[0] = first.x;
  b[1] = first.y;
  b[2] = second.x;
  b[3] = second.y;
  return b;
}

SUMS sums[${blocks.m}][${blocks.n}];

void multiply_block(uint first_m, uint block, uvec4 weights[${blocks.m}][2], float scales[${blocks.m}][2]) {
  uvec4 x[${blocks.n}][kVectors];
  [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
    const uint row = first_m + ${matrix.n}u * j + in_row();
    const uint load = 4u * block + in_column();
    if (kIsOneRow) {
      // All columns of the matrix are this row. Their sums are the same, and only the first are stored.
      [[unroll]] for (uint i = 0u; i < kVectors; ++i) x[j][i] = activation_vector(0u, load, i);
    } else {
      // Rows past the last are zero without a load.
      [[unroll]] for (uint i = 0u; i < kVectors; ++i) x[j][i] = uvec4(0u);
      if (row < problem.m) {
        [[unroll]] for (uint i = 0u; i < kVectors; ++i) x[j][i] = activation_vector(row, load, i);
      }
    }
  }
  SUMS of_block[${blocks.m}][${blocks.n}];
  [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) of_block[i][j] = SUMS(0.0);
  }
  [[unroll]] for (uint quad = 0u; quad < kQuadsPerLoad; ++quad) {
    ACTIVATIONS b[${blocks.n}];
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
      b[j] = activation_matrix(activation_pairs(x[j], quad, j));
    }
    [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
      const WEIGHTS a = weight_matrix(weights[i], quad);
      [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) of_block[i][j] = coopMatMulAdd(a, b[j], of_block[i][j]);
    }
  }
  [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
      [[unroll]] for (uint e = 0u; e < 4u; ++e) sums[i][j][e] += of_block[i][j][e] * scales[i][e / 2u];
    }
  }
}

// Meanwhile it fetches `next_block`, of the columns from next_n on.
void add_block(uint first_m, uint next_n, uint block, uint next_block) {
  uvec4 weights[${blocks.m}][2];
  float scales[${blocks.m}][2];
  [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
    [[unroll]] for (uint lower = 0u; lower < 2u; ++lower) {
      weights[i][lower] = next_weights[i][lower];
      scales[i][lower] = next_scales[i][lower];
    }
  }
  // Behind a branch, a fetch is slower. Without it, the last fetch reads the last block again.
  if (${skip_last} == 0 || next_block < loads_per_row() / 4u) fetch_weights(next_n, next_block);
  multiply_block(first_m, block, weights, scales);
}

// ---- four blocks of k at once ---------------------------------------------------------------------------------------

// Neighbours. Each is a group, so their four scales are one load. Nothing is fetched ahead: that would take registers,
// and fewer workgroups would run at once. For 1 x 6144 x 4096 in int4, weight_only_fragments takes 6.2 us on an H200 by
// fours, and 7.2 us by single blocks.
const uint kAtOnce = 4u;
uvec4 fetched_weights[kAtOnce][${blocks.m}][2];
uvec4 fetched_scales[${blocks.m}][2];

void fetch_blocks(uint first_n, uint block) {
  [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
    [[unroll]] for (uint lower = 0u; lower < 2u; ++lower) {
      const uint n = min(WEIGHT_ROW(first_n, i, lower) + in_row(), problem.n - 1u);
      [[unroll]] for (uint b = 0u; b < kAtOnce; ++b) {
        fetched_weights[b][i][lower] = weight_loads[n * loads_per_row() + 4u * (block + b) + in_column()];
      }
      fetched_scales[i][lower] = weight_scales_vectors[(n * problem.groups + block) / 4u];
    }
  }
}

void add_fetched_blocks(uint first_m, uint block) {
  [[unroll]] for (uint b = 0u; b < kAtOnce; ++b) {
    float scales[${blocks.m}][2];
    [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
      [[unroll]] for (uint lower = 0u; lower < 2u; ++lower) {
        scales[i][lower] = uintBitsToFloat(fetched_scales[i][lower][b]);
      }
    }
    multiply_block(first_m, block + b, fetched_weights[b], scales);
  }
}

// This subgroup's share of k, which is a multiple of four blocks.
void add_all_by_four(uint first_m, uint first_n) {
  const uint blocks = loads_per_row() / 4u;
  for (uint block = kAtOnce * gl_SubgroupID; block < blocks; block += kAtOnce * gl_NumSubgroups) {
    fetch_blocks(first_n, block);
    BEGIN_BLOCKS(block);
    add_fetched_blocks(first_m, block);
  }
}

// ---- outputs --------------------------------------------------------------------------------------------------------

// Of each subgroup: [row of activations][column].
shared float partial_sums[kSubgroups * kSumRows * kColumns];

void put_sums() {
  const uint first = gl_SubgroupID * kSumRows * kColumns;
  [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
      [[unroll]] for (uint e = 0u; e < 4u; ++e) {
        const uint row = ${matrix.n}u * j + 2u * in_column() + e % 2u;
        const uint column = ${matrix.m}u * i + 8u * (e / 2u) + in_row();
        if (row < kSumRows) partial_sums[first + row * kColumns + column] = sums[i][j][e];
      }
    }
  }
}

float total_of(uint i) {
  float total = 0.0;
  for (uint s = 0u; s < gl_NumSubgroups; ++s) total += partial_sums[s * kSumRows * kColumns + i];
  return total;
}

// Without matrices, by aligned runs of sixteen.
float plain_sum(uint m, uint n) {
  float sum = 0.0;
  for (uint g = 0u; g < problem.groups; ++g) {
    const uint length = problem.groups > 1u ? problem.group_size : problem.k;
    float of_group = 0.0;
    for (uint first = g * length; first < (g + 1u) * length; first += 16u) {
      float of_run = 0.0;
      for (uint k = first; k < first + 16u; ++k) of_run += activation(m, k) * float(weight_at(n, k));
      of_group += of_run;
    }
    sum += of_group * weight_scales_data[n * problem.groups + g];
  }
  return sum;
}

// ---- one tile for each workgroup ------------------------------------------------------------------------------------

#ifndef HAS_OTHER_MAIN
void main() {
  const uint column_tiles = (problem.n + kColumns - 1u) / kColumns;
  const uint first_n = workgroup_index() % column_tiles * kColumns;
  const uint first_m = workgroup_index() / column_tiles * kRows;
  if (first_m >= problem.m) return;

  if (!kByFour) fetch_weights(first_n, gl_SubgroupID);
  begin_rows(first_m);
  const bool by_matrices = has_mapping();
  if (by_matrices) {
    [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
      [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) sums[i][j] = SUMS(0.0);
    }
    const uint blocks = loads_per_row() / 4u;
    if (!kByFour) {
      for (uint block = gl_SubgroupID; block < blocks; block += gl_NumSubgroups) {
        add_block(first_m, first_n, block, block + gl_NumSubgroups);
      }
    } else {
      add_all_by_four(first_m, first_n);
    }
    put_sums();
  }
  barrier();
  for (uint i = gl_LocalInvocationIndex; i < kSumRows * kColumns; i += ${team.workgroup}) {
    const uint m = first_m + i / kColumns, n = first_n + i % kColumns;
    if (m >= problem.m || n >= problem.n) continue;
    const float sum = by_matrices ? total_of(i) : plain_sum(m, n);
    store_real(m * problem.n + n, finished(sum * row_scale(m), n));
  }
}
#endif

$part extensions
// What templates need before their first declaration.
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_control_flow_attributes : require
