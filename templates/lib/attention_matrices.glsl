// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Attention on f16 cooperative matrices: the kernel of attention/attention_coopmat.comp (`real`), and the same with keys
// and values of int8 (`codes`).

$part real
// The kernel of attention/attention_coopmat.comp and attention/attention_coopmat_paged.comp.
//
//   KEY_AT, VALUE_AT   where keys and values are: lib/attention_scores.glsl
#define UNIT_OF_SUMS(i) 1.0
#define WEIGH(i, scale, greatest, total) weigh(row_of(i), scale, greatest, total)
$include "lib/attention_matrices.glsl" tile

// ---- a block of keys and values -------------------------------------------------------------------------------------

const uint kFetches = (kKeys * kVectors + kWorkgroup - 1u) / kWorkgroup;
uvec4 next_key[kFetches], next_value[kFetches];

void fetch(Tile tile, int block) {
  const uint first_key = tile.batch * problem.key_strides[0] + tile.key_head * problem.key_strides[1];
  const uint first_value = tile.batch * problem.value_strides[0] + tile.key_head * problem.value_strides[1];
  [[unroll]] for (uint i = 0u; i < kFetches; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kWorkgroup;
    const uint key = uint(block) + place / kVectors, vector = place % kVectors;
    const bool exists = int(key) < tile.end;
    next_key[i] = exists && vector < problem.width / 8u
                      ? key_vectors[KEY_AT(first_key, tile.batch, tile.key_head, key) / 8u + vector] : uvec4(0u);
    next_value[i] = exists && vector < problem.value_width / 8u
                        ? value_vectors[VALUE_AT(first_value, tile.batch, tile.key_head, key) / 8u + vector] : uvec4(0u);
  }
}

void put_down() {
  [[unroll]] for (uint i = 0u; i < kFetches; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kWorkgroup;
    if (kFetches * kWorkgroup == kKeys * kVectors || place < kKeys * kVectors) {
      const uint word = place / kVectors * kPitch + place % kVectors;
      tile_words[word] = next_key[i];
      tile_words[kValueTile + word] = next_value[i];
    }
  }
}

$include "lib/attention_matrices.glsl" products

// Puts down the weights and the factor of a row of the tile, and adds this member's weights to its total.
void weigh(uint r, float scale, inout float greatest, inout float total) {
  vec4 best4 = vec4(minus_infinity());
  [[unroll]] for (uint q = 0u; q < kQuads; ++q) {
    precise const vec4 scores = scores_at(r, q) * scale;
    best4 = max(best4, scores);
  }
  const float best = max(max(max(best4.x, best4.y), max(best4.z, best4.w)), greatest);
  // A row that has seen only -infinity has added up nothing.
  const bool is_empty = is_minus_infinity(best);
  const float factor = is_empty || is_minus_infinity(greatest) ? 0.0 : weight_of(greatest - best);
  greatest = best;
  if (member() == 0u) factors[r / 4u][r % 4u] = factor;
  vec4 sum = vec4(0.0);
  [[unroll]] for (uint o = 0u; o < kOwnQuads / 2u; ++o) {
    uvec4 halves;
    [[unroll]] for (uint h = 0u; h < 2u; ++h) {
      precise const vec4 scores = scores_at(r, member() * kOwnQuads + 2u * o + h) * scale;   // as for best
      const vec4 distances = scores - (is_empty ? 0.0 : best);
      const vec4 weights = exp2_or_nan(distances * kLog2E + kLift);
      sum += weights;
      halves[2u * h] = packHalf2x16(weights.xy);
      halves[2u * h + 1u] = packHalf2x16(weights.zw);
    }
    tile_words[r * kWeightPitch + member() * (kOwnQuads / 2u) + o] = halves;
  }
  total = total * factor + ((sum.x + sum.y) + (sum.z + sum.w));
}

$include "lib/attention_matrices.glsl" outputs

$part codes
// The kernel of attention/attention_coopmat_q8rs.comp and attention/attention_coopmat_paged_q8rs.comp.
//
// A code is exact in f16, so the products with keys are those of `real`, times the keys' scales. A weight times its
// value's scale may be any number. So the sums of a row have a unit: a power of two, by the row's largest scale so far.
// Weights times scales are at most 2^15 of them, and are stored as f16. The sum of weights has no unit.
#define KEYS_ARE_CODES
#define UNIT_OF_SUMS(i) unit_of_sums(i)
#define WEIGH(i, scale, greatest, total) weigh(i, scale, greatest, total)
$include "lib/attention_scores.glsl" scales
$include "lib/attention_matrices.glsl" tile

// ---- a block of keys and values -------------------------------------------------------------------------------------

const uint kCodeVectors = ${tile.width} / 16u;   // of a key: sixteen codes each
const uint kFetches = (kKeys * kCodeVectors + kWorkgroup - 1u) / kWorkgroup;
const uint kScaleFetches = (kKeys + kWorkgroup - 1u) / kWorkgroup;
uvec4 next_key[kFetches], next_value[kFetches];
vec2 next_scales[kScaleFetches];   // of a key, and of its value
shared vec4 key_scales[kKeys / 4u], value_scales[kKeys / 4u];

void fetch(Tile tile, int block) {
  const uint first_key = tile.batch * problem.key_strides[0] + tile.key_head * problem.key_strides[1];
  const uint first_value = tile.batch * problem.value_strides[0] + tile.key_head * problem.value_strides[1];
  [[unroll]] for (uint i = 0u; i < kFetches; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kWorkgroup;
    const uint key = uint(block) + place / kCodeVectors, vector = place % kCodeVectors;
    const bool exists = int(key) < tile.end;
    next_key[i] = exists && vector < problem.width / 16u
                      ? key_vectors[KEY_AT(first_key, tile.batch, tile.key_head, key) / 16u + vector] : uvec4(0u);
    next_value[i] = exists && vector < problem.value_width / 16u
                        ? value_vectors[VALUE_AT(first_value, tile.batch, tile.key_head, key) / 16u + vector]
                        : uvec4(0u);
  }
  [[unroll]] for (uint i = 0u; i < kScaleFetches; ++i) {
    const int key = block + int(gl_LocalInvocationIndex + i * kWorkgroup);
    next_scales[i] = vec2(0.0);
    if (key < min(block + int(kKeys), tile.end)) {
      next_scales[i] = vec2(key_scale(tile.batch, tile.key_head, key),
                            value_weight(1.0, tile.batch, tile.key_head, key, tile.end));
    }
  }
}

// Four codes as halves. 0x6400 is the f16 number 1024. With an integer below 1024 in its mantissa, here a code plus 128,
// it is 1024 plus the integer. A compiler must not know both constants: then a GPU needs one instruction for & and ^.
uvec2 halves_of_codes(uint word) {
  const uint bits = 0x64806480u | problem.width >> 31;
  const f16vec2 even = unpackFloat2x16(word & 0x00ff00ffu ^ bits) - float16_t(1152.0);
  const f16vec2 odd = unpackFloat2x16(word >> 8 & 0x00ff00ffu ^ bits) - float16_t(1152.0);
  return uvec2(packFloat2x16(f16vec2(even.x, odd.x)), packFloat2x16(f16vec2(even.y, odd.y)));
}

void put_codes(uint word, uvec4 codes) {
  tile_words[word] = uvec4(halves_of_codes(codes.x), halves_of_codes(codes.y));
  tile_words[word + 1u] = uvec4(halves_of_codes(codes.z), halves_of_codes(codes.w));
}

void put_down() {
  [[unroll]] for (uint i = 0u; i < kFetches; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kWorkgroup;
    if (kFetches * kWorkgroup == kKeys * kCodeVectors || place < kKeys * kCodeVectors) {
      const uint word = place / kCodeVectors * kPitch + 2u * (place % kCodeVectors);
      put_codes(word, next_key[i]);
      put_codes(kValueTile + word, next_value[i]);
    }
  }
  [[unroll]] for (uint i = 0u; i < kScaleFetches; ++i) {
    const uint key = gl_LocalInvocationIndex + i * kWorkgroup;
    if (key < kKeys) {
      key_scales[key / 4u][key % 4u] = next_scales[i].x;
      value_scales[key / 4u][key % 4u] = next_scales[i].y;
    }
  }
}

$include "lib/attention_matrices.glsl" products

// The exponent of a row's largest scale of a value, biased as in f32. Scales are below 2^(exponent - 126). The unit of
// the row's sums is 2^(exponent - 141). With the least exponent, the unit is the least number that is not subnormal.
uint scale_exponents[kRowsOfMember];
const uint kLeastExponent = 15u;

float power_of_two(uint biased) { return uintBitsToFloat(biased << 23); }
void begin_units() {
  [[unroll]] for (uint i = 0u; i < kRowsOfMember; ++i) scale_exponents[i] = kLeastExponent;
}
float unit_of_sums(uint i) { return power_of_two(scale_exponents[i] - 14u); }

// Puts down the weights and the factor of a row of the tile, and adds this member's weights to its total.
void weigh(uint i, float scale, inout float greatest, inout float total) {
  const uint r = row_of(i);
  vec4 best4 = vec4(minus_infinity()), largest4 = vec4(0.0);
  [[unroll]] for (uint q = 0u; q < kQuads; ++q) {
    precise const vec4 scores = scores_at(r, q) * scale;
    best4 = max(best4, scores);
    // Scales of keys that the row does not use are not its scales.
    const bvec4 is_unused = equal(floatBitsToUint(scores), uvec4(floatBitsToUint(minus_infinity())));
    largest4 = max(largest4, mix(abs(value_scales[q]), vec4(0.0), is_unused));
  }
  const float best = max(max(max(best4.x, best4.y), max(best4.z, best4.w)), greatest);
  const float largest = max(max(largest4.x, largest4.y), max(largest4.z, largest4.w));
  const uint exponent = max(floatBitsToUint(largest) >> 23 & 0xffu, scale_exponents[i]);
  const float unit_factor = power_of_two(uint(max(127 + int(scale_exponents[i]) - int(exponent), 0)));
  // A row that has seen only -infinity has added up nothing.
  const bool is_empty = is_minus_infinity(best);
  const float factor = is_empty || is_minus_infinity(greatest) ? 0.0 : weight_of(greatest - best);
  greatest = best;
  scale_exponents[i] = exponent;
  if (member() == 0u) factors[r / 4u][r % 4u] = factor * unit_factor;
  vec4 sum = vec4(0.0);
  [[unroll]] for (uint o = 0u; o < kOwnQuads / 2u; ++o) {
    uvec4 halves;
    [[unroll]] for (uint h = 0u; h < 2u; ++h) {
      const uint q = member() * kOwnQuads + 2u * o + h;
      precise const vec4 scores = scores_at(r, q) * scale;   // as for best
      const vec4 distances = scores - (is_empty ? 0.0 : best);
      const vec4 weights = exp2_or_nan(distances * kLog2E);
      sum += weights;
      // In this order: the scale of a key that the row does not use may be far above the unit.
      precise const vec4 of_value = weights * value_scales[q];
      precise const vec4 in_units = of_value * power_of_two(268u - exponent);
      halves[2u * h] = packHalf2x16(in_units.xy);
      halves[2u * h + 1u] = packHalf2x16(in_units.zw);
    }
    tile_words[r * kWeightPitch + member() * (kOwnQuads / 2u) + o] = halves;
  }
  total = total * factor + ((sum.x + sum.y) + (sum.z + sum.w));
}

$include "lib/attention_matrices.glsl" outputs

$part tile
// The tile of both, its shared memory and its matrices.
const uint kWorkgroup = ${tile.workgroup};
const uint kStrip = ${tile.blocks} * ${matrix.m}u;            // rows of a subgroup
const uint kRows = ${tile.m} * kStrip;
const uint kKeys = ${tile.keys};
const uint kVectors = ${tile.width} / 8u;                     // of a key
const uint kKeyMatrices = kKeys / (${tile.n} * ${matrix.n}u);   // of a subgroup, side by side
const uint kValueMatrices = ${tile.width} / (${tile.n} * ${matrix.n}u);
const uint kDepth = ${tile.width} / ${matrix.k}u;

const uint kPitch = kVectors + 1u;
const uint kWeightPitch = kKeys / 8u + 1u;
const uint kScorePitch = kKeys / 4u + 1u;
const uint kKeyWords = kKeys * kPitch;
const uint kWeightWords = kRows * kWeightPitch;
const uint kValueTile = kKeyWords > kWeightWords ? kKeyWords : kWeightWords;
const uint kScoreTile = kValueTile + kKeyWords;
const uint kBlockWords = kScoreTile + kRows * kScorePitch;
const uint kRowWords = kRows * kPitch;
shared uvec4 tile_words[kBlockWords > kRowWords ? kBlockWords : kRowWords];
shared vec4 factors[kRows / 4u];

// Invocations that share a row, and rows of an invocation.
const uint kMembers = kWorkgroup > kRows ? kWorkgroup / kRows : 1u;
const uint kRowsOfMember = kRows > kWorkgroup ? kRows / kWorkgroup : 1u;
shared float totals[kRowsOfMember * kWorkgroup];

const float kLog2E = 1.44269502162933349609375;
const float kLift = 15.0;   // weights are times 2^15

coopmat<float16_t, gl_ScopeSubgroup, ${matrix.m}, ${matrix.k}, gl_MatrixUseA> queries[${tile.blocks}][kDepth];
coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator>
    sums[${tile.blocks}][kValueMatrices];

struct Tile {
  uint slice, batch, key_head, first_row;
$if stage == slice
  uint slices;      // that have keys
$end
  int keys;         // of the batch
  int begin, end;   // keys of this slice that some row has
  ivec2 of_all;     // those that all rows have
};

uint head_of(Tile tile, uint row) { return tile.key_head * problem.group + row % problem.group; }
int query_of(uint row) { return int(row / problem.group); }
uint first_row_of_subgroup() { return gl_SubgroupID / ${tile.n} * kStrip; }
uint subgroup_column() { return gl_SubgroupID % ${tile.n}; }

$part products
// The products of both, and their scores.
void load_queries(Tile tile) {
  for (uint place = gl_LocalInvocationIndex; place < kRows * kVectors; place += kWorkgroup) {
    const uint r = place / kVectors, vector = place % kVectors, row = tile.first_row + r;
    uvec4 words = uvec4(0u);
    if (row < problem.rows && vector < problem.width / 8u) {
      const uint at = tile.batch * problem.query_strides[0] + head_of(tile, row) * problem.query_strides[1] +
                      row / problem.group * problem.query_strides[2];
      words = query_vectors[at / 8u + vector];
    }
    tile_words[r * kPitch + vector] = words;
  }
  barrier();
  [[unroll]] for (uint i = 0u; i < ${tile.blocks}; ++i) {
    [[unroll]] for (uint k = 0u; k < kDepth; ++k) {
      coopMatLoad(queries[i][k], tile_words,
                  (first_row_of_subgroup() + i * ${matrix.m}u) * kPitch + k * ${matrix.k / 8}u, kPitch,
                  gl_CooperativeMatrixLayoutRowMajor);
    }
  }
}

// ---- products -------------------------------------------------------------------------------------------------------

// The products of this subgroup's rows with its part of the keys.
void multiply_keys() {
  coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator>
      scores[${tile.blocks}][kKeyMatrices];
  [[unroll]] for (uint i = 0u; i < ${tile.blocks}; ++i) {
    [[unroll]] for (uint j = 0u; j < kKeyMatrices; ++j) {
      scores[i][j] = coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator>(0.0);
    }
  }
  const uint first_key = subgroup_column() * kKeyMatrices * ${matrix.n}u;
  [[unroll]] for (uint k = 0u; k < kDepth; ++k) {
    [[unroll]] for (uint j = 0u; j < kKeyMatrices; ++j) {
      coopmat<float16_t, gl_ScopeSubgroup, ${matrix.k}, ${matrix.n}, gl_MatrixUseB> keys;
      coopMatLoad(keys, tile_words, (first_key + j * ${matrix.n}u) * kPitch + k * ${matrix.k / 8}u, kPitch,
                  gl_CooperativeMatrixLayoutColumnMajor);
      [[unroll]] for (uint i = 0u; i < ${tile.blocks}; ++i) {
        scores[i][j] = coopMatMulAdd(queries[i][k], keys, scores[i][j]);
      }
    }
  }
#ifdef KEYS_ARE_CODES
  [[unroll]] for (uint j = 0u; j < kKeyMatrices; ++j) {
    coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator> of_keys;   // its rows are equal
    coopMatLoad(of_keys, key_scales, (first_key + j * ${matrix.n}u) / 4u, 0u, gl_CooperativeMatrixLayoutRowMajor);
    [[unroll]] for (uint i = 0u; i < ${tile.blocks}; ++i) scores[i][j] *= of_keys;
  }
#endif
  [[unroll]] for (uint i = 0u; i < ${tile.blocks}; ++i) {
    [[unroll]] for (uint j = 0u; j < kKeyMatrices; ++j) {
      coopMatStore(scores[i][j], tile_words,
                   kScoreTile + (first_row_of_subgroup() + i * ${matrix.m}u) * kScorePitch +
                       (first_key + j * ${matrix.n}u) / 4u,
                   kScorePitch, gl_CooperativeMatrixLayoutRowMajor);
    }
  }
}

// Multiplies the sums of each row by its factor.
void scale_sums() {
  [[unroll]] for (uint i = 0u; i < ${tile.blocks}; ++i) {
    coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator> of_rows;
    coopMatLoad(of_rows, factors, (first_row_of_subgroup() + i * ${matrix.m}u) / 4u, 0u,
                gl_CooperativeMatrixLayoutColumnMajor);
    [[unroll]] for (uint j = 0u; j < kValueMatrices; ++j) sums[i][j] *= of_rows;
  }
}

// Adds the products of this subgroup's rows of weights with its columns of the values.
void multiply_values() {
  const uint first_column = subgroup_column() * kValueMatrices * ${matrix.n}u;
  [[unroll]] for (uint k = 0u; k < kKeys / ${matrix.k}u; ++k) {
    coopmat<float16_t, gl_ScopeSubgroup, ${matrix.m}, ${matrix.k}, gl_MatrixUseA> weights[${tile.blocks}];
    [[unroll]] for (uint i = 0u; i < ${tile.blocks}; ++i) {
      coopMatLoad(weights[i], tile_words,
                  (first_row_of_subgroup() + i * ${matrix.m}u) * kWeightPitch + k * ${matrix.k / 8}u, kWeightPitch,
                  gl_CooperativeMatrixLayoutRowMajor);
    }
    [[unroll]] for (uint j = 0u; j < kValueMatrices; ++j) {
      coopmat<float16_t, gl_ScopeSubgroup, ${matrix.k}, ${matrix.n}, gl_MatrixUseB> values;
      coopMatLoad(values, tile_words,
                  kValueTile + k * ${matrix.k}u * kPitch + (first_column + j * ${matrix.n}u) / 8u, kPitch,
                  gl_CooperativeMatrixLayoutRowMajor);
      [[unroll]] for (uint i = 0u; i < ${tile.blocks}; ++i) sums[i][j] = coopMatMulAdd(weights[i], values, sums[i][j]);
    }
  }
}

// ---- weights --------------------------------------------------------------------------------------------------------

const uint kQuads = kKeys / 4u;               // scores of a row
const uint kOwnQuads = kQuads / kMembers;     // of one of its members

uint row_of(uint i) { return kMembers > 1u ? gl_LocalInvocationIndex % kRows : gl_LocalInvocationIndex + i * kWorkgroup; }
uint member() { return kMembers > 1u ? gl_LocalInvocationIndex / kRows : 0u; }

vec4 scores_at(uint r, uint quad) { return uintBitsToFloat(tile_words[kScoreTile + r * kScorePitch + quad]); }

// Makes scores of the products, -infinity for keys that a row does not have.
void finish_scores(Tile tile, int block) {
  [[unroll]] for (uint i = 0u; i < kRowsOfMember; ++i) {
    const uint r = row_of(i), row = min(tile.first_row + r, problem.rows - 1u);
    ivec2 of_row = keys_of_query(query_of(row), tile.keys);
    of_row.y = min(of_row.y, tile.end);   // of this slice
    for (uint q = member() * kOwnQuads; q < (member() + 1u) * kOwnQuads; ++q) {
      vec4 scores = scores_at(r, q);
      [[unroll]] for (uint e = 0u; e < 4u; ++e) {
        const int key = block + int(4u * q + e);
        scores[e] = key >= of_row.x && key < of_row.y
                        ? score_of(scores[e], tile.batch, head_of(tile, row), query_of(row), key) : minus_infinity();
      }
      tile_words[kScoreTile + r * kScorePitch + q] = floatBitsToUint(scores);
    }
  }
}

// 2^x, with NaN for NaN.
vec4 exp2_or_nan(vec4 x) { return mix(exp2(x), x, isnan(x)); }

$part outputs
// The main() of both, with what they define:
//
//   fetch, put_down   load a block of keys and values, and put it into shared memory
//   WEIGH             makes weights of this invocation's row `i`, of its scores times `scale`
//   UNIT_OF_SUMS      the sums of row `i` are in this unit; without KEYS_ARE_CODES, they are in that of the sum of weights
// ---- outputs --------------------------------------------------------------------------------------------------------

$if stage == slice
// Where the partial sums of a row begin.
uint vector_of(Tile tile, uint row) {
  const uint matrix = (tile.slice * problem.batches + tile.batch) * problem.key_heads + tile.key_head;
  return (matrix * problem.rows + row) * (problem.value_width / 4u + 1u);
}
$end

// Makes a factor of each row's sum of weights, or stores the sum and the greatest score.
void finish_rows(Tile tile, float own[kRowsOfMember], float greatest[kRowsOfMember]) {
  barrier();
  [[unroll]] for (uint i = 0u; i < kRowsOfMember; ++i) totals[member() * kRows + row_of(i)] = own[i];
  barrier();
  [[unroll]] for (uint i = 0u; i < kRowsOfMember; ++i) {
    const uint r = row_of(i), row = tile.first_row + r;
    if (member() > 0u) continue;
    float total = 0.0;
    for (uint m = 0u; m < kMembers; ++m) total += totals[m * kRows + r];
$if stage == whole
    factors[r / 4u][r % 4u] = total == 0.0 ? 0.0 : UNIT_OF_SUMS(i) / total;   // no key: zeros
$else
#ifdef KEYS_ARE_CODES
    factors[r / 4u][r % 4u] = UNIT_OF_SUMS(i);
#endif
    if (row < problem.rows) {
      output_vectors[vector_of(tile, row) + problem.value_width / 4u] =
          floatBitsToUint(vec4(greatest[i], total, tile.slices, 0.0));
    }
$end
  }
  barrier();
}

$if stage == whole
uvec4 halves_of(vec4 a, vec4 b) {
  return uvec4(f32_to_f16(a.x) | f32_to_f16(a.y) << 16, f32_to_f16(a.z) | f32_to_f16(a.w) << 16,
               f32_to_f16(b.x) | f32_to_f16(b.y) << 16, f32_to_f16(b.z) | f32_to_f16(b.w) << 16);
}

void store(Tile tile, uint row, uint column, uvec4 a, uvec4 b) {
  const uint at = tile.batch * problem.output_strides[0] + head_of(tile, row) * problem.output_strides[1] +
                  row / problem.group * problem.output_strides[2] + column;
  output_vectors[at / 8u] = halves_of(uintBitsToFloat(a), uintBitsToFloat(b));
}
$else
void store(Tile tile, uint row, uint column, uvec4 a, uvec4 b) {
  const uint at = vector_of(tile, row) + column / 4u;
  output_vectors[at] = a;
  output_vectors[at + 1u] = b;
}
$end

// Half of each subgroup's columns at a time, through shared memory.
void store_outputs(Tile tile) {
  const uint half_matrices = kValueMatrices / 2u, part = half_matrices * ${matrix.n}u;   // columns of a subgroup
  const uint octets = ${tile.n} * part / 8u;
  [[unroll]] for (uint h = 0u; h < 2u; ++h) {
    barrier();
    [[unroll]] for (uint i = 0u; i < ${tile.blocks}; ++i) {
      [[unroll]] for (uint j = 0u; j < kValueMatrices / 2u; ++j) {
        coopMatStore(sums[i][h * (kValueMatrices / 2u) + j], tile_words,
                     (first_row_of_subgroup() + i * ${matrix.m}u) * kPitch +
                         (subgroup_column() * part + j * ${matrix.n}u) / 4u,
                     kPitch, gl_CooperativeMatrixLayoutRowMajor);
      }
    }
    barrier();
    for (uint place = gl_LocalInvocationIndex; place < kRows * octets; place += kWorkgroup) {
      const uint r = place / octets, octet = place % octets, row = tile.first_row + r;
      const uint column = 8u * octet / part * (2u * part) + h * part + 8u * octet % part;
      if (row >= problem.rows || column >= problem.value_width) continue;
      const uint word = r * kPitch + 2u * octet;
      store(tile, row, column, tile_words[word], tile_words[word + 1u]);
    }
  }
}

$if stage == slice
$include "lib/attention_scores.glsl" slices
$end

// The tiles with the most keys come first, if causal.
Tile tile_of(uint index) {
  const uint matrices = problem.key_heads * problem.batches;
  const uint row_tiles = (problem.rows + kRows - 1u) / kRows;
  Tile tile;
  tile.slice = index / (matrices * row_tiles);
  tile.first_row = (row_tiles - 1u - index / matrices % row_tiles) * kRows;
  tile.key_head = index % matrices % problem.key_heads;
  tile.batch = index % matrices / problem.key_heads;
  tile.keys = keys_of_batch(tile.batch);
  const uint last_row = min(tile.first_row + kRows, problem.rows) - 1u;
  const ivec2 of_first = keys_of_query(query_of(tile.first_row), tile.keys);
  const ivec2 of_last = keys_of_query(query_of(last_row), tile.keys);
  tile.begin = of_first.x;
  tile.end = of_last.y;
$if stage == slice
  tile.slices = take_slice(tile.slice, tile.begin, tile.end);
$end
  tile.of_all = ivec2(of_last.x, min(of_first.y, tile.end));
  return tile;
}

void main() {
  const uint row_tiles = (problem.rows + kRows - 1u) / kRows;
  const uint index = workgroup_index();   // the same for all invocations, so that none misses a barrier
$if stage == whole
  if (index >= row_tiles * problem.key_heads * problem.batches) return;
  const Tile tile = tile_of(index);
$else
  if (index >= row_tiles * problem.key_heads * problem.batches * problem.slices) return;
  const Tile tile = tile_of(index);
  if (tile.slice >= max(tile.slices, 1u)) return;   // attention_join reads the first one, and those that have keys
$end
  fetch(tile, tile.begin);
  load_queries(tile);
  [[unroll]] for (uint i = 0u; i < ${tile.blocks}; ++i) {
    [[unroll]] for (uint j = 0u; j < kValueMatrices; ++j) {
      sums[i][j] = coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator>(0.0);
    }
  }
  float greatest[kRowsOfMember], own_totals[kRowsOfMember];
  [[unroll]] for (uint i = 0u; i < kRowsOfMember; ++i) {
    greatest[i] = minus_infinity();
    own_totals[i] = 0.0;
  }
#ifdef KEYS_ARE_CODES
  begin_units();
#endif
  for (int block = tile.begin; block < tile.end; block += int(kKeys)) {
    const bool is_plain =
        !${capped} && !${masked} && block >= tile.of_all.x && block + int(kKeys) <= tile.of_all.y;
    barrier();   // the queries, or the values of the block before, have been read
    put_down();
    barrier();
    fetch(tile, block + int(kKeys));
    multiply_keys();
    barrier();
    if (!is_plain) {
      finish_scores(tile, block);
      barrier();
    }
    [[unroll]] for (uint i = 0u; i < kRowsOfMember; ++i) {
      WEIGH(i, is_plain ? problem.scale : 1.0, greatest[i], own_totals[i]);
    }
    barrier();
    scale_sums();
    multiply_values();
  }
  finish_rows(tile, own_totals, greatest);
$if stage == whole
  scale_sums();
$else
#ifdef KEYS_ARE_CODES
  scale_sums();
#endif
$end
  store_outputs(tile);
}
