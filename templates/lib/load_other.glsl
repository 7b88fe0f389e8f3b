// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Loads an element of the floating-point operand `other`, which has the dtype of `input`, as f32: as
// lib/load_real.glsl's.
$include "lib/float16.glsl"
$gives float load_other(uint index)

$if input_dtype == f16
${declare_bits(other)}

float load_other(uint index) { return f16_to_f32(uint(other_bits[index])); }
$else
float load_other(uint index) { return other_data[index]; }
$end
