// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The kernel of attention/attention.comp and attention/attention_paged.comp.
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
const uint kPerVector = ${16 / bytes(input_dtype)}u;
$include "lib/unpack_vector.glsl"
$end

#define KEY_ELEMENT(at) real_of(uint(key_bits[at]))
#define VALUE_ELEMENT(at) real_of(uint(value_bits[at]))
#define KEY_PRODUCT(product, batch, head, key) product
#define VALUE_WEIGHT(weight, batch, head, key, end) weight
$include "lib/attention_rows.glsl"
