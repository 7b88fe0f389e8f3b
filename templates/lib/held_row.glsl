// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Holds a row of floats in the registers of the invocations that compute it, so that memory is read once. Each of these
// members holds `vectors` vectors of 16 bytes. The operator's conditions ensure that columns are whole vectors and rows
// are whole bindings.
//
//   reduce == held, native   the members are a workgroup
//   reduce == team           they are a subgroup; a workgroup has as many rows as it has subgroups
//   reduce == part           they are neighbours in a subgroup; it has several rows
//   reduce == streamed       they are a workgroup that passes over its row, and holds `vectors` vectors at once
//
//   place(), members()         of an invocation among those of its row
//   first_row(), row_stride()  the rows of an invocation
//   unpack_vector, pack_vector elements of a vector; `kPerVector` of them
$include "lib/grid.glsl"
$include "lib/workgroup_reduce.glsl"
$gives uint members()
$gives uint place()
$gives uint first_row()
$gives uint row_stride()
$gives uvec4 pack_vector(float x[kPerVector])
$gives const uint kPerVector

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
$elif reduce == part
uint rows_of_subgroup() { return gl_SubgroupSize >> row_shift(); }
uint members() { return 1u << row_shift(); }
uint place() { return gl_SubgroupInvocationID & (members() - 1u); }
uint first_row() {
  const uint subgroup = workgroup_index() * gl_NumSubgroups + gl_SubgroupID;
  return subgroup * rows_of_subgroup() + (gl_SubgroupInvocationID >> row_shift());
}
uint row_stride() {
  return gl_NumWorkGroups.x * gl_NumWorkGroups.y * gl_NumWorkGroups.z * gl_NumSubgroups * rows_of_subgroup();
}
$else
uint place() { return gl_LocalInvocationIndex; }
uint members() { return ${workgroup}; }
uint first_row() { return workgroup_index(); }
uint row_stride() { return gl_NumWorkGroups.x * gl_NumWorkGroups.y * gl_NumWorkGroups.z; }
$end

$if input_dtype == f16 and reduce in (native, part, streamed)
$include "lib/unpack_vector.glsl" native
$else
$include "lib/unpack_vector.glsl"

$if input_dtype == f16
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
uvec4 pack_vector(float x[kPerVector]) {
  return uvec4(floatBitsToUint(x[0]), floatBitsToUint(x[1]), floatBitsToUint(x[2]), floatBitsToUint(x[3]));
}
$end
$end
