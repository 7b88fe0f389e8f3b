// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The elements of a vector of 16 bytes as f32: of the input's dtype, or int8 if VECTORS_ARE_CODES is defined. The file
// that includes this one defines kPerVector, how many there are.
$include "lib/float16.glsl"
$needs const uint kPerVector
$gives void unpack_vector(uvec4 words, out float x[kPerVector])

#extension GL_EXT_control_flow_attributes : require
#ifdef VECTORS_ARE_CODES
void unpack_vector(uvec4 words, out float x[kPerVector]) {
  [[unroll]] for (uint i = 0u; i < 16u; ++i) x[i] = float(bitfieldExtract(int(words[i / 4u]), int(8u * (i % 4u)), 8));
}
#else
$if input_dtype == f16
// A bit for each half that is subnormal: above 0 and below 0x400, without its sign. No sum carries into the other half.
uint subnormal_halves(uint halves) {
  const uint magnitudes = halves & 0x7fff7fffu;
  return (magnitudes + 0x7fff7fffu) & ~(magnitudes + 0x7c007c00u) & 0x80008000u;
}

// A device may flush a subnormal half where it converts two at a time, so a vector with one takes the exact path.
void unpack_vector(uvec4 words, out float x[kPerVector]) {
  const bool is_plain = (subnormal_halves(words.x) | subnormal_halves(words.y) | subnormal_halves(words.z) |
                         subnormal_halves(words.w)) == 0u;
  if (is_plain) {
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
      const vec2 two = unpackHalf2x16(words[i]);
      x[2u * i] = two.x;
      x[2u * i + 1u] = two.y;
    }
  } else {
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
      x[2u * i] = f16_to_f32(words[i] & 0xffffu);
      x[2u * i + 1u] = f16_to_f32(words[i] >> 16);
    }
  }
}
$else
void unpack_vector(uvec4 words, out float x[kPerVector]) {
  [[unroll]] for (uint i = 0u; i < 4u; ++i) x[i] = uintBitsToFloat(words[i]);
}
$end
#endif
