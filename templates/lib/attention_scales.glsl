// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The scales of attention with int8 keys and values (docs/attention.md). A key's scale and its value's are neighbours.
// Products are computed with integers as floats. So a key's scale is a factor of the score, and a value's is one of the
// weight.
$needs KEY_AT
$needs VALUE_AT
$gives float key_scale(uint batch, uint head, int key)
$gives float value_weight(float weight, uint batch, uint head, int key, int end)

// An infinite scale counts as NaN.
float scale_at(uint index) {
  const uint bits = scales_words[index];
  return uintBitsToFloat((bits & 0x7f800000u) == 0x7f800000u ? 0x7fc00000u : bits);
}

// The scales have the rows of the keys, and those of the values: the row of an element is its offset / the width.
float key_scale(uint batch, uint head, int key) {
  if (problem.width == 0u) return 0.0;
  const uint first = batch * problem.key_strides[0] + head * problem.key_strides[1];
  return scale_at(2u * (KEY_AT(first, batch, head, uint(key)) / problem.width));
}

// A key from `end` on has none: its scale may be any number.
float value_weight(float weight, uint batch, uint head, int key, int end) {
  if (key >= end || problem.value_width == 0u) return 0.0;
  const uint first = batch * problem.value_strides[0] + head * problem.value_strides[1];
  return weight * scale_at(2u * (VALUE_AT(first, batch, head, uint(key)) / problem.value_width) + 1u);
}
