// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The elements of a vector of 16 bytes as f32: of the input's dtype, or int8 if VECTORS_ARE_CODES is defined. The file
// that includes this one defines kPerVector, how many there are. Where the device converts f16, the part `native`
// replaces this.
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
#define UNPACK_HALVES unpack_vector
$include "lib/unpack_vector.glsl" halves
$else
void unpack_vector(uvec4 words, out float x[kPerVector]) {
  [[unroll]] for (uint i = 0u; i < 4u; ++i) x[i] = uintBitsToFloat(words[i]);
}
$end
#endif

$part halves
// UNPACK_HALVES, a function that converts the eight f16 elements of a vector. The file that includes this part defines
// its name.
$include "lib/float16.glsl"
$gives UNPACK_HALVES

// A bit for each half that is subnormal: above 0 and below 0x400, without its sign. No sum carries into the other half.
uint subnormal_halves(uint halves) {
  const uint magnitudes = halves & 0x7fff7fffu;
  return (magnitudes + 0x7fff7fffu) & ~(magnitudes + 0x7c007c00u) & 0x80008000u;
}

// A device may flush a subnormal half where it converts two at a time, so a vector with one takes the exact path.
void UNPACK_HALVES(uvec4 words, out float x[8]) {
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

$part native
// Converts the f16 elements of a 16-byte vector to f32, and back, by the device's instructions. The file that includes
// this one defines kPerVector, which is 8.
//
// Vulkan does not define how a device rounds to f16. So four numbers are converted first. If their halves are not
// rounded half to even, lib/float16.glsl converts.
$include "lib/float16.glsl"
$include "lib/unpack_vector.glsl" native_halves
$needs const uint kPerVector
$gives void unpack_vector(uvec4 words, out float x[kPerVector])
$gives uvec4 pack_vector(float x[kPerVector])

#extension GL_EXT_control_flow_attributes : require

#ifndef ROW_COUNT
#define ROW_COUNT problem.rows
#endif

uint native_pair(float low, float high) { return packFloat2x16(f16vec2(vec2(low, high))); }

// 1 + 2^-11, 1 + 3 * 2^-11, 3 * 2^-25 and 5 * 2^-25 are halfway between two halves.
bool rounds_to_even() {
  const uint zero = ROW_COUNT >> 31;  // a compiler cannot know it, and so does not convert the numbers itself
  const vec4 x = uintBitsToFloat(uvec4(0x3f801000u, 0x3f803000u, 0x33c00000u, 0x34200000u) | zero);
  return uvec2(native_pair(x.x, x.y), native_pair(x.z, x.w)) == uvec2(0x3c023c00u, 0x00020002u);
}

void unpack_vector(uvec4 words, out float x[kPerVector]) {
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    const vec2 two = vec2(unpackFloat2x16(words[i]));
    x[2u * i] = two.x;
    x[2u * i + 1u] = two.y;
  }
}

uvec4 pack_vector(float x[kPerVector]) {
  uvec4 words;
  if (rounds_to_even()) {
    [[unroll]] for (uint i = 0u; i < 4u; ++i) words[i] = native_pair(x[2u * i], x[2u * i + 1u]);
  } else {
    [[unroll]] for (uint i = 0u; i < 4u; ++i) words[i] = f32_to_f16(x[2u * i]) | f32_to_f16(x[2u * i + 1u]) << 16;
  }
  return words;
}

$part native_halves
// Exact conversion of f16 to f32 by the device's instruction: the kernel requires that subnormal f16 values are kept.
// In SPIR-V the capability 4464 and the execution mode 4459 are both DenormPreserve; 16 is the width.
$gives vec4 unpack_native_f16(uvec2 words)

#extension GL_EXT_spirv_intrinsics : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
spirv_execution_mode(capabilities = [4464], 4459, 16);

vec4 unpack_native_f16(uvec2 words) { return vec4(unpackFloat2x16(words.x), unpackFloat2x16(words.y)); }
