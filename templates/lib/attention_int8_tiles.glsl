// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The kernel of attention/attention_vectors_q8rs.comp and attention/attention_vectors_paged_q8rs.comp.
$include "lib/attention_scales.glsl"

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
$include "lib/attention_tiles.glsl"

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
