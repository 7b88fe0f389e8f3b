// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Stores an f32 as an element of the floating-point operand `output`. A half is rounded half to even, and goes as its
// bits, which no device needs f16 arithmetic for.
$include "lib/float16.glsl"
$gives void store_real(uint index, float value)

$if bytes(output_dtype) == 2
${declare_bits(output)}

void store_real(uint index, float value) { output_bits[index] = uint16_t(f32_to_f16(value)); }
$else
void store_real(uint index, float value) { output_data[index] = value; }
$end
