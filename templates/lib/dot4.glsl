// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Dot products of int8 vectors in 32-bit words of four elements: exact, and never saturating. The template requires
// GL_EXT_integer_dot_product where `dot` is packed; words.glsl has unpack_i8().
$needs ivec4 unpack_i8(uint word)
$gives int dot4(uint a, uint b)
$gives int dot16(uvec4 a, uvec4 b)

int dot4(uint a, uint b) {
$if dot == packed
  return dotPacked4x8EXT(int(a), int(b));
$else
  const ivec4 products = unpack_i8(a) * unpack_i8(b);
  return products.x + products.y + products.z + products.w;
$end
}

int dot16(uvec4 a, uvec4 b) { return dot4(a.x, b.x) + dot4(a.y, b.y) + dot4(a.z, b.z) + dot4(a.w, b.w); }
