// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Whole shaders that the tests of several rooms compile. Each shows a part of the interface that the others lack.
#pragma once

#include <string_view>

namespace qgen::tests {

// Buffers in 8 and 32 bits, push constants, a specialized workgroup, workgroup memory sized by it, subgroups.
constexpr std::string_view kReduce = R"(#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(constant_id = 0) const uint workgroup = 64u;
layout(constant_id = 2) const uint rows = 2u;
layout(local_size_x = 64, local_size_x_id = 0) in;
layout(set = 0, binding = 0, std430) readonly restrict buffer InputBuffer { int8_t input_data[]; };
layout(set = 0, binding = 1, std430) writeonly restrict buffer OutputBuffer { float output_data[]; };
layout(push_constant, std430) uniform Problem { uint numel; int zero_point; float scale; uint sizes[4]; } problem;
shared float partial[workgroup / 4u * rows];
void main() {
  float sum = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < problem.numel; i += gl_WorkGroupSize.x) {
    sum += float(int(input_data[i]) - problem.zero_point) * problem.scale;
  }
  sum = subgroupAdd(sum);
  if (subgroupElect()) partial[gl_SubgroupID % (workgroup / 4u * rows)] = sum;
  barrier();
  if (gl_LocalInvocationID.x == 0u) {
    for (uint i = 1u; i < gl_NumSubgroups; ++i) sum += partial[i];
    output_data[gl_WorkGroupID.x] = sum * float(problem.sizes[1]);
  }
}
)";

// Images, a problem block in a buffer, a uniform buffer, a workgroup of fixed size in three dimensions.
constexpr std::string_view kTexture = R"(#version 450
layout(local_size_x = 4, local_size_y = 4, local_size_z = 2) in;
layout(set = 0, binding = 0, rgba32f) uniform readonly restrict image3D input_image;
layout(set = 0, binding = 1, rgba8i) uniform writeonly restrict iimage3D output_image;
layout(set = 0, binding = 2, std140) uniform Table { vec4 scale; };
layout(set = 0, binding = 3, std430) readonly restrict buffer ProblemBuffer { uint width; float bias[8]; } problem;
layout(set = 0, binding = 4, std430) restrict buffer CountBuffer { uint count_data[]; };
void main() {
  const ivec3 at = ivec3(gl_GlobalInvocationID);
  if (at.x >= int(problem.width)) return;
  imageStore(output_image, at, ivec4(roundEven(imageLoad(input_image, at) * scale + problem.bias[at.z & 7])));
  atomicAdd(count_data[at.z], 1u);
}
)";

// Cooperative matrices of VK_KHR_cooperative_matrix: int8 into int32, subgroup scope.
constexpr std::string_view kCooperative = R"(#version 450
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
layout(constant_id = 0) const uint columns = 16u;
layout(local_size_x = 32) in;
layout(set = 0, binding = 0, std430) readonly restrict buffer ABuffer { int8_t a_data[]; };
layout(set = 0, binding = 1, std430) readonly restrict buffer BBuffer { int8_t b_data[]; };
layout(set = 0, binding = 2, std430) restrict buffer COutBuffer { int c_data[]; };
layout(push_constant, std430) uniform Problem { uint k; } problem;
shared int8_t tile[16 * 32];
void main() {
  coopmat<int32_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> c =
      coopmat<int32_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0);
  for (uint k = 0u; k < problem.k; k += 32u) {
    coopmat<int8_t, gl_ScopeSubgroup, 16, 32, gl_MatrixUseA> a;
    coopmat<int8_t, gl_ScopeSubgroup, 32, 16, gl_MatrixUseB> b;
    tile[gl_LocalInvocationID.x] = a_data[k + gl_LocalInvocationID.x];
    barrier();
    coopMatLoad(a, tile, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(b, b_data, k, problem.k, gl_CooperativeMatrixLayoutColumnMajor);
    c = coopMatMulAdd(a, b, c);
  }
  coopMatStore(c, c_data, 0, columns, gl_CooperativeMatrixLayoutRowMajor);
}
)";

// Cooperative matrices of VK_NV_cooperative_matrix2: tensor layouts, a decoding callback, workgroup scope.
constexpr std::string_view kCooperative2 = R"(#version 450
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 128) in;
layout(set = 0, binding = 0, std430) readonly buffer ABuffer { int8_t a_data[]; };
layout(set = 0, binding = 1, std430) readonly buffer BBuffer { uint8_t b_data[]; };
layout(set = 0, binding = 2, std430) buffer COutBuffer { int c_data[]; };
layout(push_constant, std430) uniform Problem { uint m, n, k; } problem;
layout(buffer_reference, std430, buffer_reference_align = 1) buffer Nibbles { uint8_t pair; };
int8_t nibble(const in Nibbles block, const in uint block_at[2], const in uint at[2]) {
  const uint pair = uint(block.pair);
  return int8_t(int((at[1] & 1u) != 0u ? pair >> 4 : pair & 15u) - 8);
}
int32_t doubled(const in uint row, const in uint column, const in int32_t x) { return x * 2; }
void main() {
  tensorLayoutNV<2> a_layout = createTensorLayoutNV(2);
  a_layout = setTensorLayoutDimensionNV(a_layout, problem.m, problem.k);
  tensorLayoutNV<2> b_layout = createTensorLayoutNV(2);
  b_layout = setTensorLayoutDimensionNV(b_layout, problem.k, problem.n);
  b_layout = setTensorLayoutBlockSizeNV(b_layout, 1, 2);
  tensorLayoutNV<2> c_layout = createTensorLayoutNV(2);
  c_layout = setTensorLayoutDimensionNV(c_layout, problem.m, problem.n);
  coopmat<int32_t, gl_ScopeWorkgroup, 64, 64, gl_MatrixUseAccumulator> c =
      coopmat<int32_t, gl_ScopeWorkgroup, 64, 64, gl_MatrixUseAccumulator>(0);
  for (uint k = 0u; k < problem.k; k += 32u) {
    coopmat<int8_t, gl_ScopeWorkgroup, 64, 32, gl_MatrixUseA> a;
    coopmat<int8_t, gl_ScopeWorkgroup, 32, 64, gl_MatrixUseB> b;
    coopMatLoadTensorNV(a, a_data, 0, sliceTensorLayoutNV(a_layout, 0, 64, k, 32));
    coopMatLoadTensorNV(b, b_data, 0, sliceTensorLayoutNV(b_layout, k, 32, 0, 64), nibble);
    c = coopMatMulAdd(a, b, c);
  }
  coopMatPerElementNV(c, c, doubled);
  coopMatStoreTensorNV(c, c_data, 0, sliceTensorLayoutNV(c_layout, 0, 64, 0, 64));
}
)";

}  // namespace qgen::tests
