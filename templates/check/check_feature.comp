// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Computes items of the input with one feature of the device, in one workgroup. What an item is, and what its result
// has to be, is in runtime/engine/self_test/checks.cpp.
#version 450
${extensions()}
$if feature.check == dot_products
#extension GL_EXT_integer_dot_product : require
$elif feature.check in (int8, int16, int64)
#extension GL_EXT_shader_explicit_arithmetic_types : require
$elif feature.check == float16
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
$elif feature.check == float16_denormals
$include "lib/unpack_vector.glsl" native_halves
$elif feature.check == subgroups
#extension GL_KHR_shader_subgroup_basic : require
$elif feature.check == subgroup_sums
#extension GL_KHR_shader_subgroup_arithmetic : require
$elif feature.check == subgroup_votes
#extension GL_KHR_shader_subgroup_vote : require
$end
${local_size(workgroup)}
${declare(input)}
${declare(output)}
${declare_problem()}

$if feature.check == shared_memory
// Each round writes where the last one was read.
shared uint values[${workgroup}];

void main() {
  const uint own = gl_LocalInvocationIndex;
  for (uint at = 0u; at < problem.items; at += ${workgroup}) {
    values[own] = input_data[at + own];
    barrier();
    output_data[at + own] = values[${workgroup} - 1u - own];
    barrier();
  }
}
$elif feature.check == subgroups
void main() {
  const uint at = 5u * gl_LocalInvocationIndex;
  output_data[at] = gl_SubgroupSize;
  output_data[at + 1u] = gl_NumSubgroups;
  output_data[at + 2u] = gl_SubgroupID;
  output_data[at + 3u] = gl_SubgroupInvocationID;
  output_data[at + 4u] = subgroupElect() ? input_data[gl_LocalInvocationIndex] : 0u;
}
$elif feature.check == subgroup_sums
// Once with all invocations, once with two of three.
void main() {
  const uint at = 7u * gl_LocalInvocationIndex;
  const uint x = input_data[gl_LocalInvocationIndex];
  output_data[at] = gl_SubgroupID;
  output_data[at + 1u] = subgroupAdd(x);
  output_data[at + 2u] = uint(subgroupMax(int(x)));
  output_data[at + 3u] = floatBitsToUint(subgroupAdd(float(int(x))));
  output_data[at + 4u] = 0u;
  output_data[at + 5u] = 0u;
  output_data[at + 6u] = 0u;
  if (gl_LocalInvocationIndex % 3u != 0u) {
    output_data[at + 4u] = subgroupAdd(x);
    output_data[at + 5u] = uint(subgroupMax(int(x)));
    output_data[at + 6u] = floatBitsToUint(subgroupAdd(float(int(x))));
  }
}
$elif feature.check == subgroup_votes
void main() {
  const uint at = 5u * gl_LocalInvocationIndex;
  const uint x = input_data[gl_LocalInvocationIndex];
  output_data[at] = gl_SubgroupID;
  output_data[at + 1u] = uint(subgroupAll(x < 7u));
  output_data[at + 2u] = uint(subgroupAny(x < 7u));
  output_data[at + 3u] = uint(subgroupAll(x < 10u));
  output_data[at + 4u] = uint(subgroupAny(x > 20u));
}
$elif feature.check in (bytes_in_buffers, halves_in_buffers)
// Neighbours write the elements of one word.
void main() {
  for (uint i = gl_LocalInvocationIndex; i < problem.items; i += ${workgroup}) {
    output_data[i] = input_data[problem.items - 1u - i];
  }
}
$else
void main() {
  for (uint i = gl_LocalInvocationIndex; i < problem.items; i += ${workgroup}) {
$if feature.check == integers
    const uint a = input_data[2u * i], b = input_data[2u * i + 1u];
    uint high, low;
    umulExtended(a, b, high, low);
    output_data[7u * i] = uint(int(a) * int(b));
    output_data[7u * i + 1u] = high;
    output_data[7u * i + 2u] = uint(int(a) / int((b & 0xffffu) + 2u));
    output_data[7u * i + 3u] = uint(int(a) >> (b & 31u));
    output_data[7u * i + 4u] = uint(bitfieldExtract(int(a), 8, 8));
    output_data[7u * i + 5u] = uint(findMSB(a));
    output_data[7u * i + 6u] = a % ((b & 0xffffu) + 2u);
$elif feature.check == floats
    const float a = uintBitsToFloat(input_data[2u * i]), b = uintBitsToFloat(input_data[2u * i + 1u]);
    precise const float product = a * b;
    precise const float sum = a + b;
    output_data[7u * i] = floatBitsToUint(product);
    output_data[7u * i + 1u] = floatBitsToUint(sum);
    output_data[7u * i + 2u] = floatBitsToUint(floor(a));
    output_data[7u * i + 3u] = floatBitsToUint(roundEven(a));
    output_data[7u * i + 4u] = uint(int(a));
    output_data[7u * i + 5u] = floatBitsToUint(float(int(a)));
    output_data[7u * i + 6u] = floatBitsToUint(clamp(a, -128.0, 127.0));
$elif feature.check == halves
    const vec2 pair = unpackHalf2x16(input_data[i]);
    output_data[3u * i] = floatBitsToUint(pair.x);
    output_data[3u * i + 1u] = floatBitsToUint(pair.y);
    output_data[3u * i + 2u] = packHalf2x16(pair);
$elif feature.check == half_rounding
    output_data[i] = packHalf2x16(vec2(uintBitsToFloat(input_data[2u * i]), uintBitsToFloat(input_data[2u * i + 1u])));
$elif feature.check == float_denormals
    precise const float sum = uintBitsToFloat(input_data[2u * i]) + uintBitsToFloat(input_data[2u * i + 1u]);
    output_data[i] = floatBitsToUint(sum);
$elif feature.check == dot_products
    output_data[i] = uint(dotPacked4x8EXT(int(input_data[2u * i]), int(input_data[2u * i + 1u])));
$elif feature.check == int8
    const i8vec4 bytes = unpack8(int32_t(input_data[i]));
    const ivec4 wide = ivec4(bytes);
    for (uint lane = 0u; lane < 4u; ++lane) output_data[5u * i + lane] = uint(wide[lane]);
    output_data[5u * i + 4u] = uint(pack32(bytes.wzyx));
$elif feature.check == int16
    const i16vec2 pair = unpack16(int32_t(input_data[i]));
    output_data[3u * i] = uint(int(pair.x));
    output_data[3u * i + 1u] = uint(int(pair.y));
    output_data[3u * i + 2u] = uint(int(int16_t(pair.x * pair.y)));
$elif feature.check == int64
    const uint64_t a = uint64_t(input_data[2u * i]) << 32 | uint64_t(input_data[2u * i + 1u]);
    const uint64_t b = uint64_t(input_data[2u * i + 1u]) << 32 | uint64_t(input_data[2u * i]);
    const uint64_t product = a * b, sum = a + b;
    const uint64_t shifted = uint64_t(int64_t(a) >> 13);
    output_data[6u * i] = uint(product & 0xffffffffUL);
    output_data[6u * i + 1u] = uint(product >> 32);
    output_data[6u * i + 2u] = uint(sum & 0xffffffffUL);
    output_data[6u * i + 3u] = uint(sum >> 32);
    output_data[6u * i + 4u] = uint(shifted & 0xffffffffUL);
    output_data[6u * i + 5u] = uint(shifted >> 32);
$elif feature.check == float16
    const f16vec2 a = unpackFloat2x16(input_data[2u * i]), b = unpackFloat2x16(input_data[2u * i + 1u]);
    output_data[4u * i] = packFloat2x16(a + b);
    output_data[4u * i + 1u] = packFloat2x16(a * b);
    output_data[4u * i + 2u] = packFloat2x16(fma(a, b, a));
    output_data[4u * i + 3u] = floatBitsToUint(float(a.x) + float(a.y));
$elif feature.check == float16_denormals
    const vec4 values = unpack_native_f16(uvec2(input_data[i], input_data[i]));
    output_data[2u * i] = floatBitsToUint(values.x);
    output_data[2u * i + 1u] = floatBitsToUint(values.w);
$end
  }
}
$end
