// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One element of the real operand `input`, as f32.
float load_real(uint index) {
$if input_dtype == f16
  return f16_to_f32(packFloat2x16(f16vec2(input_data[index])) & 0xffffu);
$else
  return input_data[index];
$end
}
