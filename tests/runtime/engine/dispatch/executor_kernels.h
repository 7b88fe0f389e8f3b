// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The kernels that the executor's tests run: copies, sums and pokes that each need one thing of a dispatcher.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "tests/runtime/engine/dispatch/kernel_kit.h"

namespace qgen::testing {

struct Count {
  uint32_t count = 0;
  uint32_t value = 0;
};

inline constexpr OperandForm kF32Buffer{DType::f32, Storage::buffer, 0};
inline constexpr OperandForm kI32Buffer{DType::i32, Storage::buffer, 0};
inline constexpr BindingInfo kReads0{0, 0, BindingKind::storage_buffer, Access::read};
inline constexpr BindingInfo kWrites0{0, 0, BindingKind::storage_buffer, Access::write};
inline constexpr BindingInfo kUpdates0{0, 0, BindingKind::storage_buffer, Access::read_write};
inline constexpr BindingInfo kWrites1{1, 1, BindingKind::storage_buffer, Access::write};
inline const std::vector<BlockField> kCountPushed = {{0, offsetof(Count, count), 4}, {4, offsetof(Count, value), 4}};

#define HEAD "#version 450\nlayout(push_constant, std430) uniform Problem { uint count; uint value; } problem;\n"
#define WORKGROUP_INDEX                                                     \
  "uint workgroup_index() { return gl_WorkGroupID.x + gl_NumWorkGroups.x *" \
  " (gl_WorkGroupID.y + gl_NumWorkGroups.y * gl_WorkGroupID.z); }\n"

// The workgroup size is specialization constant 0.
inline constexpr std::string_view kCopy = HEAD WORKGROUP_INDEX R"(
layout(local_size_x_id = 0) in;
layout(std430, binding = 0) readonly buffer Input { int input_data[]; };
layout(std430, binding = 1) writeonly buffer Output { int output_data[]; };
void main() {
  uint i = workgroup_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (i < problem.count) output_data[i] = input_data[i];
})";

inline constexpr std::string_view kAdd = HEAD WORKGROUP_INDEX R"(
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Data { int data[]; };
void main() {
  uint i = workgroup_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (i < problem.count) data[i] += int(problem.value);
})";

// Element over element, which its output may do in place.
inline constexpr std::string_view kIncrement = HEAD R"(
#extension GL_EXT_spirv_intrinsics : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly spirv_decorate(20) buffer Input { int input_data[]; };
layout(std430, binding = 1) writeonly spirv_decorate(20) buffer Output { int output_data[]; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < problem.count) output_data[i] = input_data[i] + int(problem.value);
})";

// Reads its mirror image: wrong unless everything before it is done.
inline constexpr std::string_view kMirror = HEAD R"(
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Input { int input_data[]; };
layout(std430, binding = 1) writeonly buffer Output { int output_data[]; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < problem.count) output_data[i] = input_data[problem.count - 1 - i] + int(problem.value);
})";

// Writes one element, at any given index.
inline constexpr std::string_view kPoke = HEAD R"(
layout(local_size_x = 1) in;
layout(std430, binding = 0) writeonly buffer Data { int data[]; };
void main() { data[problem.count] = int(problem.value); })";

// The constant is the problem's value.
inline constexpr std::string_view kStamp = HEAD R"(
layout(constant_id = 0) const uint stamp = 0u;
layout(local_size_x = 1) in;
layout(std430, binding = 0) writeonly buffer Data { int data[]; };
void main() { data[problem.count] = int(stamp); })";

inline constexpr std::string_view kNegateI8 = R"(#version 450
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
layout(push_constant, std430) uniform Problem { uint count; uint value; } problem;
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Input { int8_t input_data[]; };
layout(std430, binding = 1) writeonly buffer Output { int8_t output_data[]; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < problem.count) output_data[i] = int8_t(-int(input_data[i]));
})";

inline constexpr std::string_view kDoubleF16 = R"(#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
layout(push_constant, std430) uniform Problem { uint count; uint value; } problem;
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Input { float16_t input_data[]; };
layout(std430, binding = 1) writeonly buffer Output { float16_t output_data[]; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < problem.count) output_data[i] = input_data[i] + input_data[i];
})";

inline constexpr std::string_view kDoubleTexture = R"(#version 450
layout(local_size_x = 4, local_size_y = 4, local_size_z = 4) in;
layout(binding = 0, rgba32f) uniform readonly restrict image3D input_image;
layout(binding = 1, rgba32f) uniform writeonly restrict image3D output_image;
void main() {
  ivec3 at = ivec3(gl_GlobalInvocationID);
  if (all(lessThan(at, imageSize(output_image)))) imageStore(output_image, at, 2.0 * imageLoad(input_image, at));
})";

// 40 words: too many for push constants everywhere.
struct Wide {
  uint32_t values[40];
};
inline constexpr std::string_view kWide = R"(#version 450
#extension GL_EXT_scalar_block_layout : require
layout(local_size_x = 40) in;
layout(std430, binding = 0) writeonly buffer Output { int output_data[]; };
layout(std430, binding = 1) uniform ProblemBuffer { uint values[40]; } problem;
void main() { output_data[gl_LocalInvocationID.x] = int(problem.values[gl_LocalInvocationID.x]); })";

inline constexpr std::string_view kBias = HEAD R"(
layout(local_size_x = 64) in;
layout(std430, binding = 0) writeonly buffer Output { int output_data[]; };
layout(std430, binding = 1) readonly buffer Bias { int bias_data[]; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < problem.count) output_data[i] = problem.value != 0 ? bias_data[i] : 1;
})";

inline constexpr std::string_view kSubgroup = R"(#version 450
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) writeonly buffer Output { int output_data[]; };
void main() { output_data[gl_LocalInvocationID.x] = int(gl_SubgroupSize); })";

inline std::vector<Sketch> sketches() {
  const std::vector<OperandInfo> in_out = {{"input", Access::read, false}, {"output", Access::write, false}};
  const std::vector<OperandInfo> data = {{"data", Access::read_write, false}};
  const std::vector<OperandInfo> output = {{"output", Access::write, false}};
  const auto both = [](DType dtype) { return std::vector<OperandForm>(2, {dtype, Storage::buffer, 0}); };
  const std::vector<OperandForm> textures(2, {DType::f32, Storage::texture3d, 0});
  constexpr OperandForm kWidthPacked{DType::f32, Storage::texture3d, 1u << static_cast<unsigned>(Layout::width_packed)};
  const std::vector<BindingInfo> images = {{0, 0, BindingKind::storage_image, Access::read},
                                           {1, 1, BindingKind::storage_image, Access::write}};
  const BlockField wide{0, 0, sizeof(Wide)};
  std::vector<Sketch> all;
  // clang-format off
  all.push_back({.id = "add.i32", .glsl = kAdd, .operands = data, .forms = {kI32Buffer}, .bindings = {kUpdates0},
                 .push_constants = kCountPushed});
  all.push_back({.id = "bias.i32", .glsl = kBias,
                 .operands = {{"output", Access::write, false}, {"bias", Access::read, true}},
                 .forms = both(DType::i32),
                 .bindings = {kWrites0, {1, 1, BindingKind::storage_buffer, Access::read}},
                 .push_constants = kCountPushed});
  all.push_back({.id = "copy.i32", .glsl = kCopy, .operands = in_out, .forms = both(DType::i32),
                 .bindings = {kReads0, kWrites1}, .push_constants = kCountPushed, .workgroups = {64, 128}});
  all.push_back({.id = "double.f16", .glsl = kDoubleF16, .operands = in_out, .forms = both(DType::f16),
                 .bindings = {kReads0, kWrites1}, .push_constants = kCountPushed,
                 .needs = bit(Feature::shader_float16) | bit(Feature::storage_buffer_16bit)});
  all.push_back({.id = "increment.i32", .glsl = kIncrement,
                 .operands = {{"input", Access::read, false}, {"output", Access::write, false, 0, 1u << 0}},
                 .forms = both(DType::i32), .bindings = {kReads0, kWrites1}, .push_constants = kCountPushed});
  all.push_back({.id = "mirror.i32", .glsl = kMirror, .operands = in_out, .forms = both(DType::i32),
                 .bindings = {kReads0, kWrites1}, .push_constants = kCountPushed});
  all.push_back({.id = "negate.i8", .glsl = kNegateI8, .operands = in_out, .forms = both(DType::i8),
                 .bindings = {kReads0, kWrites1}, .push_constants = kCountPushed,
                 .needs = bit(Feature::shader_int8) | bit(Feature::storage_buffer_8bit)});
  all.push_back({.id = "picky.f32", .glsl = kDoubleTexture, .operands = in_out, .forms = {kWidthPacked, kF32Buffer},
                 .bindings = images});
  all.push_back({.id = "poke.i32", .glsl = kPoke, .operands = data, .forms = {kI32Buffer}, .bindings = {kWrites0},
                 .push_constants = kCountPushed});
  all.push_back({.id = "stamp.i32", .glsl = kStamp, .operands = data, .forms = {kI32Buffer}, .bindings = {kWrites0},
                 .push_constants = {kCountPushed.front()},
                 .constant = [](const SelectionScope& scope, uint32_t* value) {
                   *value = static_cast<const Count*>(scope.problem)->value;
                 }});
  all.push_back({.id = "starving.i32", .glsl = kPoke, .operands = data, .forms = {kI32Buffer}, .bindings = {kWrites0},
                 .push_constants = kCountPushed, .needs = bit(Feature::bfloat16)});
  all.push_back({.id = "subgroup.i32", .glsl = kSubgroup, .operands = output, .forms = {kI32Buffer},
                 .bindings = {kWrites0},
                 .required_subgroup_size = 0});
  all.push_back({.id = "texture.f32", .glsl = kDoubleTexture, .operands = in_out, .forms = textures,
                 .bindings = images});
  all.push_back({.id = "wide.i32", .glsl = kWide, .operands = output, .forms = {kI32Buffer},
                 .bindings = {kWrites0, {1, kProblemOperand, BindingKind::uniform_buffer, Access::read}},
                 .problem_buffer = {wide}});
  // clang-format on
  return all;
}

inline const KernelKit& kit() {
  static const KernelKit kit(sketches());
  return kit;
}

#undef HEAD
#undef WORKGROUP_INDEX

}  // namespace qgen::testing
