// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// y = sum over keys of exp(s - m) * v / sum over keys of exp(s - m), with the scores s of a row and their greatest, m:
// docs/attention.md. A workgroup has some rows of the heads that share a head of keys, and goes through the keys once,
// a block at a time. If a block has a greater score than all before, the sums are multiplied by the exponential of the
// difference. All in f32.
//
//   scores     an invocation has a key, and multiplies it by all rows of queries, which are in shared memory
//   weights    some invocations share a row: its greatest score, and exp(s - m) in place of s
//   outputs    an invocation has some columns of all rows, and adds up the block's values
//
// Keys that no row of the tile uses are not loaded, so the memory after key_lengths may have any content.
//
//   wide   keys are whole vectors of 16 bytes
#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
${local_size(tile.workgroup)}
${declare_bits(query)}
${declare_bits(key)}
${declare_bits(value)}
${declare_bits(mask)}
${declare(key_lengths)}
${declare_bits(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/exponential.glsl"

const uint kWorkgroup = ${tile.workgroup};
const uint kRows = ${tile.rows};
const uint kWidth = ${tile.width};
const uint kColumns = ${tile.columns};
const uint kMembers = kWorkgroup / kRows;   // invocations that share a row
const uint kMinusInfinity = 0xff800000u;

shared float queries[kRows * kWidth];
shared float scores[kRows * kWorkgroup];   // then weights
shared float parts[kWorkgroup];
shared float factors[kRows];

$if input_dtype == f16
float real_of(uint bits) { return f16_to_f32(bits); }
void store(uint index, float value) { output_bits[index] = uint16_t(f32_to_f16(value)); }
$else
float real_of(uint bits) { return uintBitsToFloat(bits); }
void store(uint index, float value) { output_bits[index] = floatBitsToUint(value); }
$end
$if wide
${declare_vectors(key)}
const uint kPerVector = ${16 / bytes(input_dtype)}u;
$include "lib/unpack_vector.glsl"
$end

bool is_minus_infinity(float x) { return floatBitsToUint(x) == kMinusInfinity; }

// exp(x) for x up to 0; less than -87 counts as 0, and NaN stays.
float weight_of(float x) { return x < -87.0 ? 0.0 : exponential(x); }

// 1 - 2 e / (1 + e), with e = exp(-2 |x|).
float tangent(float x) {
  const float e = weight_of(-2.0 * min(abs(x), 44.0));
  const float t = (1.0 - e) / (1.0 + e);
  return isnan(x) ? x : x < 0.0 ? -t : t;
}

// The products of key `at` and the rows of queries.
void multiply(uint at, inout float sums[kRows]) {
$if wide
  for (uint v = 0u; v < problem.width / kPerVector; ++v) {
    float x[kPerVector];
    unpack_vector(key_vectors[at / kPerVector + v], x);
    [[unroll]] for (uint r = 0u; r < kRows; ++r) {
      [[unroll]] for (uint i = 0u; i < kPerVector; ++i) sums[r] += x[i] * queries[r * kWidth + v * kPerVector + i];
    }
  }
$else
  for (uint d = 0u; d < problem.width; ++d) {
    const float x = real_of(uint(key_bits[at + d]));
    [[unroll]] for (uint r = 0u; r < kRows; ++r) sums[r] += x * queries[r * kWidth + d];
  }
$end
}

void main() {
  const uint row_tiles = problem.rows / kRows + uint(problem.rows % kRows != 0u);
  const uint index = workgroup_index();   // the same for all invocations, so that none misses a barrier
  if (index >= row_tiles * problem.key_heads * problem.batches) return;
  const uint first_row = index % row_tiles * kRows, matrix = index / row_tiles;
  const uint key_head = matrix % problem.key_heads, batch = matrix / problem.key_heads;
  const uint first_head = key_head * problem.group;
  const uint here = gl_LocalInvocationIndex;

  for (uint e = here; e < kRows * kWidth; e += kWorkgroup) {
    const uint row = first_row + e / kWidth, d = e % kWidth;
    float x = 0.0;
    if (row < problem.rows && d < problem.width) {
      x = real_of(uint(query_bits[batch * problem.query_strides[0] +
                                  (first_head + row % problem.group) * problem.query_strides[1] +
                                  row / problem.group * problem.query_strides[2] + d]));
    }
    queries[e] = x;
  }

  // Row i has the keys [begin, end) with begin = i + 1 + offset - window and end = i + 1 + offset, if causal.
  int keys = int(problem.keys);
  if (problem.has_lengths != 0u) keys = clamp(key_lengths_data[batch], 0, keys);
  const int offset = problem.causal == kCausalToLast ? keys - int(problem.queries) : 0;
  const bool is_causal = problem.causal != kCausalNone, has_window = is_causal && problem.window != 0u;
  const uint last_row = min(first_row + kRows, problem.rows) - 1u;
  const int first_query = int(first_row / problem.group), last_query = int(last_row / problem.group);
  const int tile_begin = has_window ? max(0, first_query + 1 + offset - int(problem.window)) : 0;
  const int tile_end = is_causal ? min(keys, last_query + 1 + offset) : keys;

  float sums[kRows][kColumns];
  [[unroll]] for (uint r = 0u; r < kRows; ++r) {
    [[unroll]] for (uint n = 0u; n < kColumns; ++n) sums[r][n] = 0.0;
  }
  // Of the row that this invocation shares.
  const uint own_row = here / kMembers, member = here % kMembers;
  float greatest = uintBitsToFloat(kMinusInfinity), total = 0.0;
  barrier();

  for (int block = tile_begin; block < tile_end; block += int(kWorkgroup)) {
    const int key = block + int(here);
    float products[kRows];
    [[unroll]] for (uint r = 0u; r < kRows; ++r) products[r] = 0.0;
    if (key < tile_end) {
      multiply(batch * problem.key_strides[0] + key_head * problem.key_strides[1] + uint(key) * problem.key_strides[2],
               products);
    }
    [[unroll]] for (uint r = 0u; r < kRows; ++r) {
      const uint row = first_row + r;
      const int query = int(row / problem.group);
      const int end = is_causal ? min(keys, query + 1 + offset) : keys;
      const int begin = has_window ? query + 1 + offset - int(problem.window) : 0;
      float score = products[r] * problem.scale;
      if (${capped}) score = problem.softcap * tangent(score / problem.softcap);
      if (row < problem.rows && key >= begin && key < end) {
        if (${masked}) {
          const uint at = batch * problem.mask_strides[0] +
                          (first_head + row % problem.group) * problem.mask_strides[1] +
                          uint(query) * problem.mask_strides[2] + uint(key) * problem.mask_strides[3];
          score += real_of(uint(mask_bits[at]));
        }
      } else {
        score = uintBitsToFloat(kMinusInfinity);
      }
      scores[r * kWorkgroup + here] = score;
    }
    barrier();

    float best = uintBitsToFloat(kMinusInfinity);
    [[unroll]] for (uint i = 0u; i < kRows; ++i)
      best = max(best, scores[own_row * kWorkgroup + i * kMembers + member]);
    parts[here] = best;
    barrier();
    for (uint i = 0u; i < kMembers; ++i) best = max(best, parts[own_row * kMembers + i]);
    best = max(best, greatest);
    // A row that has seen only -infinity has added up nothing.
    const bool is_empty = is_minus_infinity(best);
    const float factor = is_empty || is_minus_infinity(greatest) ? 0.0 : weight_of(greatest - best);
    greatest = best;
    total *= factor;
    [[unroll]] for (uint i = 0u; i < kRows; ++i) {
      const uint at = own_row * kWorkgroup + i * kMembers + member;
      const float score = scores[at];
      const float weight = is_minus_infinity(score) ? 0.0 : weight_of(score - (is_empty ? 0.0 : best));
      total += weight;
      scores[at] = weight;
    }
    if (member == 0u) factors[own_row] = factor;
    barrier();

    const uint count = uint(min(tile_end - block, int(kWorkgroup)));
    [[unroll]] for (uint n = 0u; n < kColumns; ++n) {
      const uint column = n * kWorkgroup + here;
      if (column >= problem.value_width) continue;
      [[unroll]] for (uint r = 0u; r < kRows; ++r) sums[r][n] *= factors[r];
      uint at = batch * problem.value_strides[0] + key_head * problem.value_strides[1] +
                uint(block) * problem.value_strides[2] + column;
      for (uint c = 0u; c < count; ++c) {
        const float x = real_of(uint(value_bits[at]));
        at += problem.value_strides[2];
        [[unroll]] for (uint r = 0u; r < kRows; ++r) sums[r][n] += scores[r * kWorkgroup + c] * x;
      }
    }
    barrier();
  }

  parts[here] = total;
  barrier();
  if (member == 0u) {
    float all = 0.0;
    for (uint i = 0u; i < kMembers; ++i) all += parts[here + i];
    factors[own_row] = all == 0.0 ? 0.0 : 1.0 / all;   // no key: zeros
  }
  barrier();
  [[unroll]] for (uint n = 0u; n < kColumns; ++n) {
    const uint column = n * kWorkgroup + here;
    if (column >= problem.value_width) continue;
    [[unroll]] for (uint r = 0u; r < kRows; ++r) {
      const uint row = first_row + r;
      if (row >= problem.rows) continue;
      store(batch * problem.output_strides[0] + (first_head + row % problem.group) * problem.output_strides[1] +
                row / problem.group * problem.output_strides[2] + column,
            sums[r][n] * factors[r]);
    }
  }
}
