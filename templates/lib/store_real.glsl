// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One element of the real operand `output`, from f32. A half is rounded half to even.
void store_real(uint index, float value) {
$if output_dtype == f16
  output_data[index] = unpackFloat2x16(f32_to_f16(value)).x;
$else
  output_data[index] = value;
$end
}
