// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Transposes a square of 4 x 4 bytes.
$gives uvec4 transposed(uvec4 words)

// Four words of four bytes: byte i of word j becomes byte j of word i.
uvec4 transposed(uvec4 words) {
  const uint kEven = 0x00ff00ffu;
  const uvec2 even = (words.xz & kEven) | ((words.yw & kEven) << 8);
  const uvec2 odd = ((words.xz >> 8) & kEven) | (words.yw & ~kEven);
  return uvec4((even.x & 0xffffu) | (even.y << 16), (odd.x & 0xffffu) | (odd.y << 16),
               (even.x >> 16) | (even.y & 0xffff0000u), (odd.x >> 16) | (odd.y & 0xffff0000u));
}
