// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The main() of kernels with the sums of lib/attention_tiles.glsl.
// Joins the sums of all teams.
void finish(Tile tile, uint first_partial, vec4 sums[kRows][kQuads]) {
  [[unroll]] for (uint first = 0u; first < kRows; first += kRowsAtOnce) {
    barrier();
    [[unroll]] for (uint r = 0u; r < kRowsAtOnce; ++r) {
      [[unroll]] for (uint i = 0u; i < kPerVector; ++i) {
        parts[(r * kPerVector + i) * kWorkgroup + gl_LocalInvocationIndex] = sums[first + r][i / 4u][i % 4u];
      }
    }
    barrier();
    for (uint e = gl_LocalInvocationIndex; e < kRowsAtOnce * kColumnVectors; e += kWorkgroup) {
      const uint r = e / kColumnVectors, vector = e % kColumnVectors, row = tile.first_row + first + r;
      if (row >= problem.rows) continue;
      float x[kPerVector];
      [[unroll]] for (uint i = 0u; i < kPerVector; ++i) {
        x[i] = 0.0;
        for (uint t = 0u; t < kTeams; ++t) {
          x[i] += parts[(r * kPerVector + i) * kWorkgroup + t * kColumnVectors + vector];
        }
      }
$if stage == whole
      store_outputs(tile, row, vector, x, factors[first + r]);
$else
      store_sums(first_partial + row, vector, x);
$end
    }
  }
}

$if stage == slice
$include "lib/attention_scores.glsl" slices
$end

// The tile of this workgroup.
Tile tile_of(uint index) {
  const uint row_tiles = problem.rows / kRows + uint(problem.rows % kRows != 0u);
  Tile tile;
  tile.first_row = index % row_tiles * kRows;
  const uint matrix = index / row_tiles % (problem.key_heads * problem.batches);
  tile.key_head = matrix % problem.key_heads;
  tile.batch = matrix / problem.key_heads;
  tile.keys = keys_of_batch(tile.batch);
  const uint last_row = min(tile.first_row + kRows, problem.rows) - 1u;
  tile.begin = keys_of_query(query_of(tile.first_row), tile.keys).x;
  tile.end = keys_of_query(query_of(last_row), tile.keys).y;
  return tile;
}

void main() {
  const uint row_tiles = problem.rows / kRows + uint(problem.rows % kRows != 0u);
  const uint index = workgroup_index();   // the same for all invocations, so that none misses a barrier
$if stage == whole
  if (index >= row_tiles * problem.key_heads * problem.batches) return;
  const Tile tile = tile_of(index);
  load_queries(tile);
$else
  if (index >= row_tiles * problem.key_heads * problem.batches * problem.slices) return;
  Tile tile = tile_of(index);
  load_queries(tile);   // before the length of the sequence is here
  const uint slice = index / row_tiles / (problem.key_heads * problem.batches);
  const uint slices = take_slice(slice, tile.begin, tile.end);
  if (slice >= max(slices, 1u)) return;   // attention_join reads the first one, and those that have keys
$end

  vec4 sums[kRows][kQuads];
  [[unroll]] for (uint r = 0u; r < kRows; ++r) {
    [[unroll]] for (uint q = 0u; q < kQuads; ++q) sums[r][q] = vec4(0.0);
  }
  const uint here = gl_LocalInvocationIndex;
  const Values values = Values(tile.batch * problem.value_strides[0] + tile.key_head * problem.value_strides[1],
                               here / kColumnVectors, here % kColumnVectors);
  float greatest = minus_infinity(), total = 0.0;
  for (int block = tile.begin; block < tile.end; block += int(kBlock)) {
    uvec4 ahead[kAhead];   // loaded now, so that they arrive while the weights are computed
    fetch(tile, values, block, 0u, ahead);
    barrier();
    for (uint i = 0u; i < kBlock / kKeysAtOnce; i += kKeysOfLane) {
      multiply(tile, block, here / kLanes + i * kKeysAtOnce);
    }
    barrier();
    weigh(tile, block, greatest, total);
    barrier();
    [[unroll]] for (uint r = 0u; r < kRows; ++r) {
      [[unroll]] for (uint q = 0u; q < kQuads; ++q) sums[r][q] *= factors[r];
    }
    for (uint step = 0u; step < kSteps; step += kAhead) {
      if (step > 0u) fetch(tile, values, block, step, ahead);
      add_values(values, step, ahead, sums);
    }
  }

  put_member(total);
  barrier();
  const uint first_partial = index / row_tiles * problem.rows;
  if (here < kRows) {
    const float all = sum_of_members(here);
$if stage == whole
    factors[here] = all == 0.0 ? 0.0 : 1.0 / all;   // no key: zeros
$else
    if (tile.first_row + here < problem.rows) {
      const uint at = (first_partial + tile.first_row + here + 1u) * (problem.value_width / 4u + 1u) - 1u;
      output_vectors[at] = floatBitsToUint(vec4(greatest, all, slices, 0.0));
    }
$end
  }
  finish(tile, first_partial, sums);
}
