// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The kernel of attention/attention_q8rs.comp and attention/attention_paged_q8rs.comp.
$include "lib/attention_scales.glsl"

const uint kWorkgroup = ${tile.workgroup};
const uint kRows = ${tile.rows};
const uint kWidth = ${tile.width};
const uint kColumns = ${tile.columns};
const uint kMembers = kWorkgroup / kRows;   // invocations that share a row

shared float queries[kRows * kWidth];
shared float scores[kRows * kWorkgroup];   // then weights
shared float parts[kWorkgroup];
shared float factors[kRows];

$if input_dtype == f16
void store(uint index, float value) { output_bits[index] = uint16_t(f32_to_f16(value)); }
$else
void store(uint index, float value) { output_bits[index] = floatBitsToUint(value); }
$end
$if wide
${declare_vectors(key)}
const uint kPerVector = 16u;
#define VECTORS_ARE_CODES  // in lib/unpack_vector.glsl
$include "lib/unpack_vector.glsl"
$end

#define KEY_ELEMENT(at) float(bitfieldExtract(int(key_bits[at]), 0, 8))
#define VALUE_ELEMENT(at) float(bitfieldExtract(int(value_bits[at]), 0, 8))
#define KEY_PRODUCT(product, batch, head, key) (product) * key_scale(batch, head, key)
#define VALUE_WEIGHT(weight, batch, head, key, end) value_weight(weight, batch, head, key, end)
$include "lib/attention_rows.glsl"
