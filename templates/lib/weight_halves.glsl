// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Converts integer weights to f16, which is exact for up to eight bits.
$include "lib/field_of_float.glsl"
$gives uvec2 as_halves(uint even, uint odd, float16_t offset)

// An integer u below 1024 in the mantissa of 1024 is the half 1024 + u. Two of `even` and two of `odd`, in turns.
uvec2 as_halves(uint even, uint odd, float16_t offset) {
  const f16vec2 a = unpackFloat2x16(even | float_bits(0x64006400u)) - offset;
  const f16vec2 b = unpackFloat2x16(odd | float_bits(0x64006400u)) - offset;
  return uvec2(packFloat2x16(f16vec2(a.x, b.x)), packFloat2x16(f16vec2(a.y, b.y)));
}
