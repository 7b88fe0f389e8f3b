// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Loads an element of the floating-point operand `input` as f32. Halves come as their bits, which no device needs f16
// arithmetic for.
$include "lib/float16.glsl"
$gives float load_real(uint index)

$if input_dtype == f16
${declare_bits(input)}

float load_real(uint index) { return f16_to_f32(uint(input_bits[index])); }
$else
float load_real(uint index) { return input_data[index]; }
$end
