// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Holds a row of floats in the registers of the invocations that compute it, so that memory is read once. Each of these
// members holds `vectors` vectors of 16 bytes. The operator's conditions ensure that columns are whole vectors and rows
// are whole bindings.
//
//   reduce == held   the members are a workgroup
//   reduce == team   they are a subgroup; a workgroup has as many rows as it has subgroups
//
//   place(), members()         of an invocation among those of its row
//   first_row(), row_stride()  the rows of an invocation
//   unpack_vector, pack_vector elements of a vector; `kPerVector` of them
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
${declare_vectors(input)}
${declare_vectors(output)}
const uint kPerVector = ${16 / bytes(input_dtype)}u;

$if reduce == team
uint place() { return gl_SubgroupInvocationID; }
uint members() { return gl_SubgroupSize; }
uint first_row() { return workgroup_index() * gl_NumSubgroups + gl_SubgroupID; }
uint row_stride() { return gl_NumWorkGroups.x * gl_NumWorkGroups.y * gl_NumWorkGroups.z * gl_NumSubgroups; }
$else
uint place() { return gl_LocalInvocationIndex; }
uint members() { return ${workgroup}; }
uint first_row() { return workgroup_index(); }
uint row_stride() { return gl_NumWorkGroups.x * gl_NumWorkGroups.y * gl_NumWorkGroups.z; }
$end

$if input_dtype == f16
// A bit for each half that is subnormal: above 0 and below 0x400 but for its sign. No sum carries into the other half.
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

// Rounded half to even to the 11 bits of a half, which a conversion of two at a time then keeps whatever way it rounds.
float rounded_to_half(float x) {
  const uint bits = floatBitsToUint(x);
  return uintBitsToFloat(bits + 0x0fffu + (bits >> 13 & 1u) & ~0x1fffu);
}
// Whether a half near x is normal, so that the above holds.
bool is_normal_half(float x) { return (floatBitsToUint(x) & 0x7fffffffu) - 0x38800000u < 0x0eff0000u; }

uvec4 pack_vector(float x[kPerVector]) {
  bool is_plain = true;
  [[unroll]] for (uint i = 0u; i < kPerVector; ++i) is_plain = is_plain && is_normal_half(x[i]);
  uvec4 words;
  if (is_plain) {
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
      words[i] = packHalf2x16(vec2(rounded_to_half(x[2u * i]), rounded_to_half(x[2u * i + 1u])));
    }
  } else {
    [[unroll]] for (uint i = 0u; i < 4u; ++i) words[i] = f32_to_f16(x[2u * i]) | f32_to_f16(x[2u * i + 1u]) << 16;
  }
  return words;
}
$else
void unpack_vector(uvec4 words, out float x[kPerVector]) {
  [[unroll]] for (uint i = 0u; i < 4u; ++i) x[i] = uintBitsToFloat(words[i]);
}

uvec4 pack_vector(float x[kPerVector]) {
  return uvec4(floatBitsToUint(x[0]), floatBitsToUint(x[1]), floatBitsToUint(x[2]), floatBitsToUint(x[3]));
}
$end
