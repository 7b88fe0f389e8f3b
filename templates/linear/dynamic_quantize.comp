// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Quantizes each row of activations, and stores its scale, zero point and integers. Rows of integers are padded to
// whole 16-byte loads. A workgroup owns a row.
//
//   halves  native: the device converts activations of f16, and keeps what is subnormal; bits: lib/float16.glsl does
#version 450
${extensions()}
#extension GL_EXT_control_flow_attributes : require
$if halves == native
#extension GL_KHR_shader_subgroup_arithmetic : require
$end
${local_size(workgroup)}
${declare(input)}
${declare(scale)}
${declare(zero_point)}
layout(set = 0, binding = 3, std430) writeonly restrict buffer CodeWords { uint code_words[]; };
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/words.glsl"
$if halves == native
$include "lib/unpack_vector.glsl" native_halves
#define UNPACK_INPUT unpack_native_f16
#define TEAM_IS_WORKGROUP  // in lib/team_max.glsl
$else
#define UNPACK_INPUT unpack_${input_dtype}
$end
$include "lib/team_max.glsl"
$include "lib/quantizer.glsl"
$include "lib/qparams.glsl"
$include "lib/real_elements.glsl" load
const uint kRowInvocations = ${workgroup};
const uint kUnrolled = 4u;
$include "lib/activation_rows.glsl"

uint words_per_row() { return (problem.k + 15u) / 16u * 4u; }

// A row of whole vectors.
void put_vectors(uint row, Qparams qparams) {
  const Block block = make_block(qparams.scale, qparams.zero_point);
  const uint quads = problem.k / 4u;
  for (uint first = gl_LocalInvocationIndex; first < words_per_row(); first += kUnrolled * ${workgroup}) {
    vec4 x[kUnrolled];
    [[unroll]] for (uint i = 0u; i < kUnrolled; ++i) x[i] = real_vector(row, min(first + i * ${workgroup}, quads - 1u));
    [[unroll]] for (uint i = 0u; i < kUnrolled; ++i) {
      const uint word = first + i * ${workgroup};
      if (word >= words_per_row()) continue;
      code_words[row * words_per_row() + word] = word < quads ? pack_i8(quantize(x[i], block)) : 0u;
    }
  }
}

void main() {
  const uint row = workgroup_index();
  if (row >= problem.m) return;
  const Qparams qparams = qparams_of_row(row);
  if (gl_LocalInvocationIndex == 0u) {
    scale_data[row] = qparams.scale;
    zero_point_data[row] = qparams.zero_point;
  }
  if (are_rows_of_vectors()) {
    put_vectors(row, qparams);
    return;
  }
  const float inverse_scale = quantizer(qparams.scale);
  for (uint word = gl_LocalInvocationIndex; word < words_per_row(); word += ${workgroup}) {
    code_words[row * words_per_row() + word] = quantized_word(row, 4u * word, inverse_scale, qparams.zero_point);
  }
}
