// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Exact conversion of f16 to f32 by the device's instruction: the kernel requires that subnormal f16 values are kept.
// In SPIR-V the capability 4464 and the execution mode 4459 are both DenormPreserve; 16 is the width.
$gives vec4 unpack_native_f16(uvec2 words)

#extension GL_EXT_spirv_intrinsics : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
spirv_execution_mode(capabilities = [4464], 4459, 16);

vec4 unpack_native_f16(uvec2 words) { return vec4(unpackFloat2x16(words.x), unpackFloat2x16(words.y)); }
