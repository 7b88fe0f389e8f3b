// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The scales of attention with int8 keys and values (docs/attention.md). A key's scale and its value's are neighbours.
// Products are computed with integers as floats. So a key's scale is a factor of the score, and a value's is one of the
// weight.
$gives float key_scale(uint batch, uint head, int key)
$gives float value_weight(float weight, uint batch, uint head, int key, int end)

// An infinite scale counts as NaN.
float scale_at(uint index) {
  const uint bits = scales_words[index];
  return uintBitsToFloat((bits & 0x7f800000u) == 0x7f800000u ? 0x7fc00000u : bits);
}

// The row of a key, or of a value: keys are before each other in the strides of either.
uint row_of(uint batch, uint head, int key, uint strides[3], uint width) {
  return width == 0u ? 0u : (batch * strides[0] + head * strides[1] + uint(key) * strides[2]) / width;
}

float key_scale(uint batch, uint head, int key) {
  return problem.width == 0u ? 0.0 : scale_at(2u * row_of(batch, head, key, problem.key_strides, problem.width));
}

// A key from `end` on has none: its scale may be any number.
float value_weight(float weight, uint batch, uint head, int key, int end) {
  if (key >= end || problem.value_width == 0u) return 0.0;
  return weight * scale_at(2u * row_of(batch, head, key, problem.value_strides, problem.value_width) + 1u);
}
