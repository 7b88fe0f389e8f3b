// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// 64-bit integers as two 32-bit words, in two's complement: not every device has a type for them. Sums and products
// keep the low 64 bits.
$gives uvec2 widened(int x)
$gives uvec2 wide_add(uvec2 a, uvec2 b)
$gives uvec2 wide_subtract(uvec2 a, uvec2 b)
$gives uvec2 wide_multiply(uvec2 a, uvec2 b)
$gives float wide_to_float(uvec2 x)

uvec2 widened(int x) { return uvec2(uint(x), x < 0 ? 0xffffffffu : 0u); }

uvec2 wide_add(uvec2 a, uvec2 b) {
  uint carry;
  const uint low = uaddCarry(a.x, b.x, carry);
  return uvec2(low, a.y + b.y + carry);
}

uvec2 wide_subtract(uvec2 a, uvec2 b) { return wide_add(a, wide_add(~b, uvec2(1u, 0u))); }

uvec2 wide_multiply(uvec2 a, uvec2 b) {
  uint high;
  uint low;
  umulExtended(a.x, b.x, high, low);
  return uvec2(low, high + a.x * b.y + a.y * b.x);
}

// As f32, rounded half to even. For a magnitude past 32 bits, the upper 32 are kept, and a last bit that is 1 if any
// other was lost: it is below the rounding bit, so it only breaks ties.
float wide_to_float(uvec2 x) {
  const bool is_negative = (x.y & 0x80000000u) != 0u;
  const uvec2 magnitude = is_negative ? wide_subtract(uvec2(0u), x) : x;
  const int shift = findMSB(magnitude.y) + 1;  // 0: it fits 32 bits
  uint kept = magnitude.x;
  float unit = 1.0;
  if (shift == 32) {
    kept = magnitude.y | uint(magnitude.x != 0u);
    unit = 4294967296.0;
  } else if (shift > 0) {
    const uint lost = magnitude.x & ((1u << shift) - 1u);
    kept = magnitude.y << (32 - shift) | magnitude.x >> shift | uint(lost != 0u);
    unit = float(1u << shift);
  }
  precise const float rounded = float(kept >> 16) * 65536.0 + float(kept & 0xffffu);
  return (is_negative ? -rounded : rounded) * unit;
}
