// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Converts the f16 elements of a 16-byte vector to f32, and back, by the device's instructions. The file that includes
// this one defines kPerVector, which is 8.
//
// Vulkan does not define how a device rounds to f16. So four numbers are converted first. If their halves are not
// rounded half to even, lib/float16.glsl converts.
$include "lib/float16.glsl"
$include "lib/native_halves.glsl"
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
