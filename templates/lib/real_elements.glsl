// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Loads elements of the floating-point operands `input` and `other` as f32, and stores f32 as elements of `output`.
// Halves come and go as their bits, which no device needs f16 arithmetic for.

$part load
$include "lib/float16.glsl"
$gives float load_real(uint index)

$if input_dtype == f16
${declare_bits(input)}

float load_real(uint index) { return f16_to_f32(uint(input_bits[index])); }
$else
float load_real(uint index) { return input_data[index]; }
$end

$part load_other
// `other` has the dtype of `input`.
$include "lib/float16.glsl"
$gives float load_other(uint index)

$if input_dtype == f16
${declare_bits(other)}

float load_other(uint index) { return f16_to_f32(uint(other_bits[index])); }
$else
float load_other(uint index) { return other_data[index]; }
$end

$part store
// A half is rounded half to even.
$include "lib/float16.glsl"
$gives void store_real(uint index, float value)

$if bytes(output_dtype) == 2
${declare_bits(output)}

void store_real(uint index, float value) { output_bits[index] = uint16_t(f32_to_f16(value)); }
$else
void store_real(uint index, float value) { output_data[index] = value; }
$end

$part store_row
// Four neighbours in a row of the matrix `output` [m, n], at once if rows are whole vectors of four.
$include "lib/words.glsl"
$include "lib/real_elements.glsl" store
$gives void store_row(uint row, uint column, vec4 x)

${declare_words(output, bytes(output_dtype))}

// From `column` on, a multiple of four. Elements past the last column are dropped.
void store_row(uint row, uint column, vec4 x) {
  const uint first = row * problem.n + column;
  if (problem.n % 4u == 0u) {
    output_words[first / 4u] = pack_${output_dtype}(x);
    return;
  }
  [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
    if (column + lane < problem.n) store_real(first + lane, x[lane]);
  }
}
