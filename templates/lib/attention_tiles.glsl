// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Attention where four invocations share a key: the kernel of attention/attention_vectors.comp (`real`), and the same
// with keys and values of int8 (`codes`). lib/attention_tiles_main.glsl has the main() of both.

$part real
// The kernel of attention/attention_vectors.comp and attention/attention_vectors_paged.comp.
const uint kPerVector = ${16 / bytes(input_dtype)}u;
$if halves == native
$include "lib/unpack_vector.glsl" native
$else
$include "lib/unpack_vector.glsl"
$end
const uint kMostJoined = 512u;
#define LOAD_QUERY(at, vector, x) unpack_vector(query_vectors[vector], x)
#define KEY_PRODUCT(product, batch, head, key) product
#define VALUE_WEIGHT(weight, batch, head, key, end) weight
$include "lib/attention_tiles.glsl" sums

void store_outputs(Tile tile, uint row, uint vector, float sums[kPerVector], float factor) {
  const uint at = tile.batch * problem.output_strides[0] + head_of(tile, row) * problem.output_strides[1] +
                  row / problem.group * problem.output_strides[2];
  uvec4 words;
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
$if input_dtype == f16
    words[i] = f32_to_f16(sums[2u * i] * factor) | f32_to_f16(sums[2u * i + 1u] * factor) << 16;
$else
    words[i] = floatBitsToUint(sums[i] * factor);
$end
  }
  output_vectors[at / kPerVector + vector] = words;
}

$include "lib/attention_tiles_main.glsl"

$part codes
// The kernel of attention/attention_vectors_q8rs.comp and attention/attention_vectors_paged_q8rs.comp.
$include "lib/attention_scores.glsl" scales

const uint kPerVector = 16u;
#define VECTORS_ARE_CODES  // in lib/unpack_vector.glsl
$include "lib/unpack_vector.glsl"

// Sixteen elements.
void load_query(uint at, out float x[kPerVector]) {
  [[unroll]] for (uint i = 0u; i < kPerVector; ++i) {
$if input_dtype == f16
    x[i] = real_of(query_words[(at + i) / 2u] >> (16u * (i % 2u)) & 0xffffu);
$else
    x[i] = real_of(query_words[at + i]);
$end
  }
}

const uint kMostJoined = 256u;
#define LOAD_QUERY(at, vector, x) load_query(at, x)
#define KEY_PRODUCT(product, batch, head, key) (product) * key_scale(batch, head, key)
#define VALUE_WEIGHT(weight, batch, head, key, end) value_weight(weight, batch, head, key, end)
$include "lib/attention_tiles.glsl" sums

void store_outputs(Tile tile, uint row, uint vector, float sums[kPerVector], float factor) {
  const uint at = tile.batch * problem.output_strides[0] + head_of(tile, row) * problem.output_strides[1] +
                  row / problem.group * problem.output_strides[2];
  const uint kOutputs = ${16 / bytes(input_dtype)}u;   // in a vector
  [[unroll]] for (uint first = 0u; first < kPerVector; first += kOutputs) {
    uvec4 words;
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
$if input_dtype == f16
      words[i] = f32_to_f16(sums[first + 2u * i] * factor) | f32_to_f16(sums[first + 2u * i + 1u] * factor) << 16;
$else
      words[i] = floatBitsToUint(sums[first + i] * factor);
$end
    }
    output_vectors[(at + vector * kPerVector + first) / kOutputs] = words;
  }
}

$include "lib/attention_tiles_main.glsl"

$part sums
// The sums of both, with what they define:
//
//   kPerVector     elements of a key in 16 bytes
//   kMostJoined    invocations times rows, of which sums are in shared memory at once
//   LOAD_QUERY     elements of a query
//   KEY_PRODUCT    the product with a key, of the product with its elements
//   VALUE_WEIGHT   the factor of the elements of a value, of the key's weight
//   KEY_AT, VALUE_AT   where keys and values are: lib/attention_scores.glsl
#extension GL_EXT_control_flow_attributes : require
const uint kWorkgroup = ${tile.workgroup};
const uint kRows = ${tile.rows};
const uint kBlock = 128u;                   // keys
const uint kQuads = kPerVector / 4u;
const uint kMostVectors = 256u / kPerVector;

// Products.
const uint kKeyVectors = ${key_width} / kPerVector;
const uint kLanes = 4u;                     // invocations that share a key
const uint kKeysAtOnce = kWorkgroup / kLanes;
const uint kLaneVectors = kKeyVectors == 0u ? 1u : (kKeyVectors + kLanes - 1u) / kLanes;
const uint kKeysOfLane = kLaneVectors > 8u ? 1u : 2u;   // at a time
shared vec4 queries[kRows * kMostVectors * kQuads];

// Weights. Paddings let lanes, and invocations of several rows, begin in different banks.
const uint kMembers = kWorkgroup / kRows;   // invocations that share a row
const uint kScores = kBlock / kMembers;     // of an invocation
const uint kRowPitch = kBlock + 32u / kRows;
const uint kLanePitch = kRows * kRowPitch + 8u;
shared float weights[kBlock * kRows];
shared vec4 members[kWorkgroup / 4u];       // a value of each invocation, row by row
shared float factors[kRows];

// Outputs. Sums of teams are joined some rows at a time, in the memory of the products.
const uint kColumnVectors = ${column_count} == 0u ? 1u : ${column_count} / kPerVector;
const uint kTeams = kWorkgroup / kColumnVectors;
const uint kSteps = (kBlock + kTeams - 1u) / kTeams;   // values of an invocation
const uint kAhead = kSteps > 16u ? 16u : kSteps;       // that it loads at once
const uint kRowsAtOnce = kRows * kWorkgroup > kMostJoined ? kMostJoined / kWorkgroup : kRows;
const uint kProducts = kLanes * kLanePitch;
const uint kJoined = kRowsAtOnce * kPerVector * kWorkgroup;
shared float parts[kProducts > kJoined ? kProducts : kJoined];

$include "lib/attention_tiles.glsl" tile

void load_queries(Tile tile) {
  for (uint e = gl_LocalInvocationIndex; e < kRows * kKeyVectors; e += kWorkgroup) {
    const uint r = e / kKeyVectors, v = e % kKeyVectors, row = tile.first_row + r;
    float x[kPerVector];
    [[unroll]] for (uint i = 0u; i < kPerVector; ++i) x[i] = 0.0;
    if (row < problem.rows) {
      const uint at = tile.batch * problem.query_strides[0] + head_of(tile, row) * problem.query_strides[1] +
                      row / problem.group * problem.query_strides[2];
      LOAD_QUERY(at + v * kPerVector, at / kPerVector + v, x);
    }
    [[unroll]] for (uint q = 0u; q < kQuads; ++q) {
      queries[(r * kMostVectors + v) * kQuads + q] = vec4(x[4u * q], x[4u * q + 1u], x[4u * q + 2u], x[4u * q + 3u]);
    }
  }
}

// The products of this lane's vectors of kKeysOfLane keys, kKeysAtOnce apart, with all rows.
void multiply(Tile tile, int block, uint first) {
  const uint lane = gl_LocalInvocationIndex % kLanes;
  uvec4 vectors[kKeysOfLane][kLaneVectors];
  [[unroll]] for (uint u = 0u; u < kKeysOfLane; ++u) {
    const uint key = uint(block) + first + u * kKeysAtOnce;
    const uint at = KEY_AT(tile.batch * problem.key_strides[0] + tile.key_head * problem.key_strides[1], tile.batch,
                           tile.key_head, key);
    [[unroll]] for (uint j = 0u; j < kLaneVectors; ++j) {
      const uint v = j * kLanes + lane;
      vectors[u][j] = int(key) < tile.end && v < kKeyVectors ? key_vectors[at / kPerVector + v] : uvec4(0u);
    }
  }
  float sums[kKeysOfLane][kRows];
  [[unroll]] for (uint u = 0u; u < kKeysOfLane; ++u) {
    [[unroll]] for (uint r = 0u; r < kRows; ++r) sums[u][r] = 0.0;
  }
  [[unroll]] for (uint j = 0u; j < kLaneVectors; ++j) {
    const uint v = min(j * kLanes + lane, kMostVectors - 1u);
    float x[kKeysOfLane][kPerVector];
    [[unroll]] for (uint u = 0u; u < kKeysOfLane; ++u) unpack_vector(vectors[u][j], x[u]);
    [[unroll]] for (uint r = 0u; r < kRows; ++r) {
      [[unroll]] for (uint q = 0u; q < kQuads; ++q) {
        const vec4 y = j * kLanes + lane < kKeyVectors ? queries[(r * kMostVectors + v) * kQuads + q] : vec4(0.0);
        [[unroll]] for (uint u = 0u; u < kKeysOfLane; ++u) {
          sums[u][r] += dot(y, vec4(x[u][4u * q], x[u][4u * q + 1u], x[u][4u * q + 2u], x[u][4u * q + 3u]));
        }
      }
    }
  }
  [[unroll]] for (uint u = 0u; u < kKeysOfLane; ++u) {
    [[unroll]] for (uint r = 0u; r < kRows; ++r) {
      parts[lane * kLanePitch + r * kRowPitch + first + u * kKeysAtOnce] = sums[u][r];
    }
  }
}

// The scores of the row and the keys that this invocation has.
void add_parts(Tile tile, int block, out float scores[kScores]) {
  const uint r = gl_LocalInvocationIndex % kRows, row = tile.first_row + r;
  ivec2 of_row = row < problem.rows ? keys_of_query(query_of(row), tile.keys) : ivec2(0);
  of_row.y = min(of_row.y, tile.end);   // of this slice
  [[unroll]] for (uint i = 0u; i < kScores; ++i) {
    const uint at = gl_LocalInvocationIndex / kRows + i * kMembers;
    const int key = block + int(at);
    scores[i] = minus_infinity();
    if (key >= of_row.x && key < of_row.y) {
      float product = 0.0;
      [[unroll]] for (uint lane = 0u; lane < kLanes; ++lane) product += parts[lane * kLanePitch + r * kRowPitch + at];
      scores[i] = score_of(KEY_PRODUCT(product, tile.batch, tile.key_head, key), tile.batch, head_of(tile, row),
                           query_of(row), key);
    }
  }
}

void put_member(float x) {
  const uint place = gl_LocalInvocationIndex % kRows * kMembers + gl_LocalInvocationIndex / kRows;
  members[place / 4u][place % 4u] = x;
}

float greatest_member(uint row) {
  vec4 best = vec4(minus_infinity());
  for (uint i = 0u; i < kMembers / 4u; ++i) best = max(best, members[row * (kMembers / 4u) + i]);
  return max(max(best.x, best.y), max(best.z, best.w));
}

float sum_of_members(uint row) {
  vec4 sum = vec4(0.0);
  for (uint i = 0u; i < kMembers / 4u; ++i) sum += members[row * (kMembers / 4u) + i];
  return (sum.x + sum.y) + (sum.z + sum.w);
}

// Puts down the weights of a block; `greatest` and `total` are of the row and the invocation.
void weigh(Tile tile, int block, inout float greatest, inout float total) {
  const uint r = gl_LocalInvocationIndex % kRows, member = gl_LocalInvocationIndex / kRows;
  float scores[kScores];
  add_parts(tile, block, scores);
  float best = minus_infinity();
  [[unroll]] for (uint i = 0u; i < kScores; ++i) best = max(best, scores[i]);
  put_member(best);
  barrier();
  best = max(greatest_member(r), greatest);
  // A row that has seen only -infinity has added up nothing.
  const bool is_empty = is_minus_infinity(best);
  const float factor = is_empty || is_minus_infinity(greatest) ? 0.0 : weight_of(greatest - best);
  greatest = best;
  total *= factor;
  [[unroll]] for (uint i = 0u; i < kScores; ++i) {
    const float weight = is_minus_infinity(scores[i]) ? 0.0 : weight_of(scores[i] - (is_empty ? 0.0 : best));
    total += weight;
    const int key = block + int(member + i * kMembers);
    weights[(member + i * kMembers) * kRows + r] =
        VALUE_WEIGHT(weight, tile.batch, tile.key_head, key, tile.end);
  }
  if (member == 0u) factors[r] = factor;
}

struct Values {
  uint first;   // value of the tile's matrix
  uint team, vector;
};

// Loads some of the block's values, from step `step` on.
void fetch(Tile tile, Values values, int block, uint step, out uvec4 ahead[kAhead]) {
  [[unroll]] for (uint i = 0u; i < kAhead; ++i) {
    const uint key = (step + i) * kTeams + values.team;
    const bool exists = values.team < kTeams && key < kBlock && block + int(key) < tile.end;
    const uint at = VALUE_AT(values.first, tile.batch, tile.key_head, uint(block) + key) / kPerVector + values.vector;
    ahead[i] = exists ? value_vectors[at] : uvec4(0u);
  }
}

// Adds their products with the weights to the sums of all rows.
void add_values(Values values, uint step, uvec4 ahead[kAhead], inout vec4 sums[kRows][kQuads]) {
  [[unroll]] for (uint i = 0u; i < kAhead; ++i) {
    const uint key = (step + i) * kTeams + values.team;
    if (values.team >= kTeams || key >= kBlock) continue;
    float x[kPerVector];
    unpack_vector(ahead[i], x);
    [[unroll]] for (uint r = 0u; r < kRows; ++r) {
      [[unroll]] for (uint q = 0u; q < kQuads; ++q) {
        sums[r][q] += weights[key * kRows + r] * vec4(x[4u * q], x[4u * q + 1u], x[4u * q + 2u], x[4u * q + 3u]);
      }
    }
  }
}

// Of one slice's row; the row counts through all slices.
void store_sums(uint row, uint vector, float sums[kPerVector]) {
  [[unroll]] for (uint q = 0u; q < kQuads; ++q) {
    output_vectors[row * (problem.value_width / 4u + 1u) + vector * kQuads + q] = floatBitsToUint(
        vec4(sums[4u * q], sums[4u * q + 1u], sums[4u * q + 2u], sums[4u * q + 3u]));
  }
}

$part tile
// The rows of queries, and their keys, that a workgroup or a team has; and the head and the query of a row.
struct Tile {
  uint batch, key_head, first_row;
  int begin, end;   // keys that some row has
  int keys;         // of the batch
};

uint head_of(Tile tile, uint row) { return tile.key_head * problem.group + row % problem.group; }
int query_of(uint row) { return int(row / problem.group); }
