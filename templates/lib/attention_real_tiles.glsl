// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The kernel of attention/attention_vectors.comp and attention/attention_vectors_paged.comp.
const uint kPerVector = ${16 / bytes(input_dtype)}u;
$if halves == native
$include "lib/native_vectors.glsl"
$else
$include "lib/unpack_vector.glsl"
$end
const uint kMostJoined = 512u;
#define LOAD_QUERY(at, vector, x) unpack_vector(query_vectors[vector], x)
#define KEY_PRODUCT(product, batch, head, key) product
#define VALUE_WEIGHT(weight, batch, head, key, end) weight
$include "lib/attention_tiles.glsl"

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
