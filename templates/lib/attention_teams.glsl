// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Attention of many rows without cooperative matrices: the kernel of attention/attention_subgroups.comp (`real`), and the
// same with keys and values of int8 (`codes`).

$part real
// The kernel of attention/attention_subgroups.comp and attention/attention_subgroups_paged.comp.
const uint kPerVector = ${16 / bytes(input_dtype)}u;
$if halves == native
$include "lib/unpack_vector.glsl" native
$else
$include "lib/unpack_vector.glsl"
$end
#define LOAD_QUERY(at, x) unpack_vector(query_vectors[(at) / kPerVector], x)
#define KEY_PRODUCT(product, batch, head, key) product
#define VALUE_WEIGHT(weight, batch, head, key, end) weight
$include "lib/attention_teams.glsl" sums

$part codes
// The kernel of attention/attention_subgroups_q8rs.comp and attention/attention_subgroups_paged_q8rs.comp.
$include "lib/attention_scores.glsl" scales

const uint kPerVector = 16u;
$if input_dtype == f16
#define UNPACK_HALVES unpack_halves
$include "lib/unpack_vector.glsl" halves
$end
#define VECTORS_ARE_CODES  // in lib/unpack_vector.glsl
$include "lib/unpack_vector.glsl"
$if input_dtype == f16
#define LOAD_QUERY(at, x) unpack_halves(query_vectors[(at) / 8u], x)
$else
void unpack_floats(uvec4 words, out float x[4]) {
  [[unroll]] for (uint i = 0u; i < 4u; ++i) x[i] = uintBitsToFloat(words[i]);
}
#define LOAD_QUERY(at, x) unpack_floats(query_vectors[(at) / 4u], x)
$end
#define KEY_PRODUCT(product, batch, head, key) (product) * key_scale(batch, head, key)
#define VALUE_WEIGHT(weight, batch, head, key, end) value_weight(weight, batch, head, key, end)
$include "lib/attention_teams.glsl" sums

$part sums
// The main() of both, with what they define:
//
//   kPerVector     elements of a key in 16 bytes
//   LOAD_QUERY     the elements of a vector of a query
//   KEY_PRODUCT    the product with a key, of the product with its elements
//   VALUE_WEIGHT   the factor of the elements of a value, of the key's weight
//   KEY_AT, VALUE_AT   where keys and values are: lib/attention_scores.glsl
//
// A team is kLanes neighbours in a subgroup. The subgroups of a workgroup must be full.
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
const uint kWorkgroup = ${tile.workgroup};
const uint kLanes = ${tile.lanes};
const uint kRows = ${tile.rows};             // of a team
const uint kKeys = ${tile.keys};             // of a lane
const uint kBlock = kLanes * kKeys;          // keys
const uint kQuads = kPerVector / 4u;
const uint kPerQuery = ${16 / bytes(input_dtype)}u;   // elements of a query in 16 bytes
const uint kKeyVectors = ${key_width} / kPerVector;
const uint kValueVectors = ${column_count} / kPerVector;
const uint kMostVectors = kKeyVectors > kValueVectors ? kKeyVectors : kValueVectors;

// The keys of a block, then its values. The padding lets neighbouring rows begin in different banks.
const uint kPitch = kMostVectors * kQuads + 1u;
shared vec4 block_quads[kBlock * kPitch];

// A block's vectors that an invocation loads.
const uint kLoads = kMostVectors == 0u ? 1u : (kBlock * kMostVectors + kWorkgroup - 1u) / kWorkgroup;

// Outputs. A lane has every kLanes-th quad of the columns.
const uint kColumnQuads = kValueVectors * kQuads;
const uint kLaneQuads = kColumnQuads == 0u ? 1u : (kColumnQuads + kLanes - 1u) / kLanes;

// first_row is the team's, and the keys are those that some row of the workgroup has.
$include "lib/attention_tiles.glsl" tile

uint lane_of() { return gl_SubgroupInvocationID % kLanes; }
uint team_of() { return gl_SubgroupID * (gl_SubgroupSize / kLanes) + gl_SubgroupInvocationID / kLanes; }

// The last rows come first: with `causal` they have the most keys.
Tile tile_of(uint index, uint row_tiles) {
  const uint tile_rows = kWorkgroup / kLanes * kRows, matrices = problem.key_heads * problem.batches;
  const uint first_row = (row_tiles - 1u - index / matrices) * tile_rows, matrix = index % matrices;
  const uint last_row = min(first_row + tile_rows, problem.rows) - 1u;
  Tile tile;
  tile.key_head = matrix % problem.key_heads;
  tile.batch = matrix / problem.key_heads;
  tile.first_row = first_row + team_of() * kRows;
  tile.keys = keys_of_batch(tile.batch);
  tile.begin = keys_of_query(query_of(first_row), tile.keys).x;
  tile.end = keys_of_query(query_of(last_row), tile.keys).y;
  return tile;
}

void load_keys(Tile tile, int block, out uvec4 words[kLoads]) {
  const uint first = tile.batch * problem.key_strides[0] + tile.key_head * problem.key_strides[1];
  [[unroll]] for (uint i = 0u; i < kLoads; ++i) {
    const uint e = i * kWorkgroup + gl_LocalInvocationIndex;
    const uint key = kKeyVectors == 0u ? kBlock : e / kKeyVectors, at = uint(block) + key;
    words[i] = uvec4(0u);
    if (key < kBlock && int(at) < tile.end)
      words[i] = key_vectors[KEY_AT(first, tile.batch, tile.key_head, at) / kPerVector + e % kKeyVectors];
  }
}

void load_values(Tile tile, int block, out uvec4 words[kLoads]) {
  const uint first = tile.batch * problem.value_strides[0] + tile.key_head * problem.value_strides[1];
  [[unroll]] for (uint i = 0u; i < kLoads; ++i) {
    const uint e = i * kWorkgroup + gl_LocalInvocationIndex;
    const uint key = kValueVectors == 0u ? kBlock : e / kValueVectors, at = uint(block) + key;
    words[i] = uvec4(0u);
    if (key < kBlock && int(at) < tile.end)
      words[i] = value_vectors[VALUE_AT(first, tile.batch, tile.key_head, at) / kPerVector + e % kValueVectors];
  }
}

// Puts down the block of keys or values, each of which has `vectors` vectors.
void put_block(uvec4 words[kLoads], uint vectors) {
  [[unroll]] for (uint i = 0u; i < kLoads; ++i) {
    const uint e = i * kWorkgroup + gl_LocalInvocationIndex;
    if (e >= kBlock * vectors) continue;
    float x[kPerVector];
    unpack_vector(words[i], x);
    [[unroll]] for (uint q = 0u; q < kQuads; ++q) {
      block_quads[e / vectors * kPitch + e % vectors * kQuads + q] =
          vec4(x[4u * q], x[4u * q + 1u], x[4u * q + 2u], x[4u * q + 3u]);
    }
  }
}

// The products of the team's rows with this lane's keys.
void multiply(Tile tile, out float products[kRows][kKeys]) {
  uint queries[kRows];
  [[unroll]] for (uint r = 0u; r < kRows; ++r) {
    const uint row = min(tile.first_row + r, problem.rows - 1u);
    queries[r] = tile.batch * problem.query_strides[0] + head_of(tile, row) * problem.query_strides[1] +
                 row / problem.group * problem.query_strides[2];
    [[unroll]] for (uint u = 0u; u < kKeys; ++u) products[r][u] = 0.0;
  }
  for (uint d = 0u; d < kKeyVectors * kPerVector; d += kPerQuery) {
    float x[kRows][kPerQuery];
    [[unroll]] for (uint r = 0u; r < kRows; ++r) LOAD_QUERY(queries[r] + d, x[r]);
    [[unroll]] for (uint q = 0u; q < kPerQuery / 4u; ++q) {
      [[unroll]] for (uint u = 0u; u < kKeys; ++u) {
        const vec4 key = block_quads[(u * kLanes + lane_of()) * kPitch + d / 4u + q];
        [[unroll]] for (uint r = 0u; r < kRows; ++r) {
          products[r][u] += dot(key, vec4(x[r][4u * q], x[r][4u * q + 1u], x[r][4u * q + 2u], x[r][4u * q + 3u]));
        }
      }
    }
  }
}

float team_greatest(float x) {
  [[unroll]] for (uint distance = 1u; distance < kLanes; distance *= 2u) x = max(x, subgroupShuffleXor(x, distance));
  return x;
}

float team_sum(float x) {
  [[unroll]] for (uint distance = 1u; distance < kLanes; distance *= 2u) x += subgroupShuffleXor(x, distance);
  return x;
}

// Replaces the products of row r by the weights of its keys; `greatest` is of the row, `total` also of the lane. Gives
// the factor of what was added up before.
float weigh(Tile tile, uint r, int block, inout float products[kKeys], inout float greatest, inout float total) {
  const uint row = tile.first_row + r;
  const ivec2 of_row = row < problem.rows ? keys_of_query(query_of(row), tile.keys) : ivec2(0);
  float best = minus_infinity();
  [[unroll]] for (uint u = 0u; u < kKeys; ++u) {
    const int key = block + int(u * kLanes + lane_of());
    float score = minus_infinity();
    if (key >= of_row.x && key < of_row.y) {
      score = score_of(KEY_PRODUCT(products[u], tile.batch, tile.key_head, key), tile.batch, head_of(tile, row),
                       query_of(row), key);
    }
    products[u] = score;
    best = max(best, score);
  }
  best = max(team_greatest(best), greatest);
  // A row that has seen only -infinity has added up nothing.
  const bool is_empty = is_minus_infinity(best);
  const float factor = is_empty || is_minus_infinity(greatest) ? 0.0 : weight_of(greatest - best);
  greatest = best;
  total *= factor;
  [[unroll]] for (uint u = 0u; u < kKeys; ++u) {
    const float score = products[u];
    const float weight = is_minus_infinity(score) ? 0.0 : weight_of(score - (is_empty ? 0.0 : best));
    total += weight;
    const int key = block + int(u * kLanes + lane_of());
    products[u] = VALUE_WEIGHT(weight, tile.batch, tile.key_head, key, tile.end);
  }
  return factor;
}

// Adds the block's values, times their weights, to this lane's columns of the team's rows.
void add_values(float weights[kRows][kKeys], inout vec4 sums[kRows][kLaneQuads]) {
  const uint first_lane = gl_SubgroupInvocationID - lane_of();
  [[unroll]] for (uint u = 0u; u < kKeys; ++u) {
    for (uint lane = 0u; lane < kLanes; ++lane) {
      float of_key[kRows];
      [[unroll]] for (uint r = 0u; r < kRows; ++r) of_key[r] = subgroupShuffle(weights[r][u], first_lane + lane);
      [[unroll]] for (uint n = 0u; n < kLaneQuads; ++n) {
        const vec4 value = block_quads[(u * kLanes + lane) * kPitch + min(n * kLanes + lane_of(), kPitch - 1u)];
        [[unroll]] for (uint r = 0u; r < kRows; ++r) sums[r][n] += of_key[r] * value;
      }
    }
  }
}

void store_row(Tile tile, uint row, vec4 sums[kLaneQuads]) {
  const uint first = tile.batch * problem.output_strides[0] + head_of(tile, row) * problem.output_strides[1] +
                     row / problem.group * problem.output_strides[2];
  [[unroll]] for (uint n = 0u; n < kLaneQuads; ++n) {
    const uint quad = n * kLanes + lane_of();
    if (quad >= kColumnQuads) continue;
$if input_dtype == f16
    const uint at = (first + 4u * quad) / 2u;
    output_words[at] = f32_to_f16(sums[n].x) | f32_to_f16(sums[n].y) << 16;
    output_words[at + 1u] = f32_to_f16(sums[n].z) | f32_to_f16(sums[n].w) << 16;
$else
    [[unroll]] for (uint i = 0u; i < 4u; ++i) output_words[first + 4u * quad + i] = floatBitsToUint(sums[n][i]);
$end
  }
}

void main() {
  const uint tile_rows = kWorkgroup / kLanes * kRows;
  const uint row_tiles = problem.rows / tile_rows + uint(problem.rows % tile_rows != 0u);
  const uint index = workgroup_index();   // the same for all invocations, so that none misses a barrier
  if (index >= row_tiles * problem.key_heads * problem.batches) return;
  const Tile tile = tile_of(index, row_tiles);

  vec4 sums[kRows][kLaneQuads];
  float greatest[kRows], total[kRows];
  [[unroll]] for (uint r = 0u; r < kRows; ++r) {
    greatest[r] = minus_infinity();
    total[r] = 0.0;
    [[unroll]] for (uint n = 0u; n < kLaneQuads; ++n) sums[r][n] = vec4(0.0);
  }

  uvec4 words[kLoads];   // loaded ahead, so that they arrive while the block before is computed
  load_keys(tile, tile.begin, words);
  // Once even without keys: llvmpipe 26 reads through a null pointer in a loop that no invocation enters.
  int block = tile.begin;
  do {
    put_block(words, kKeyVectors);
    load_values(tile, block, words);
    barrier();
    float weights[kRows][kKeys];
    multiply(tile, weights);
    [[unroll]] for (uint r = 0u; r < kRows; ++r) {
      const float factor = weigh(tile, r, block, weights[r], greatest[r], total[r]);
      [[unroll]] for (uint n = 0u; n < kLaneQuads; ++n) sums[r][n] *= factor;
    }
    barrier();
    put_block(words, kValueVectors);
    load_keys(tile, block + int(kBlock), words);
    barrier();
    add_values(weights, sums);
    barrier();
    block += int(kBlock);
  } while (block < tile.end);

  [[unroll]] for (uint r = 0u; r < kRows; ++r) {
    const float all = team_sum(total[r]);
    const float factor = all == 0.0 ? 0.0 : 1.0 / all;   // no key: zeros
    [[unroll]] for (uint n = 0u; n < kLaneQuads; ++n) sums[r][n] *= factor;
    if (tile.first_row + r < problem.rows) store_row(tile, tile.first_row + r, sums[r]);
  }
}
