// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Quantizes each row of activations, and stores its scale, zero point and integers. Rows of integers are padded to
// whole 16-byte loads. A workgroup owns a row.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(scale)}
${declare(zero_point)}
layout(set = 0, binding = 3, std430) writeonly restrict buffer CodeWords { uint code_words[]; };
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/words.glsl"
$include "lib/affine.glsl"
$include "lib/extremes.glsl"
$include "lib/qparams.glsl"
$include "lib/team_shared.glsl"
$include "lib/load_real.glsl"
$include "lib/activation_rows.glsl"

void main() {
  const uint row = workgroup_index();
  if (row >= problem.m) return;
  const Qparams qparams = qparams_of_row(row);
  if (gl_LocalInvocationIndex == 0u) {
    scale_data[row] = qparams.scale;
    zero_point_data[row] = qparams.zero_point;
  }
  const float inverse_scale = quantizer(qparams.scale);
  const uint words = (problem.k + 15u) / 16u * 4u;
  for (uint word = gl_LocalInvocationIndex; word < words; word += ${workgroup}) {
    code_words[row * words + word] = quantized_word(row, 4u * word, inverse_scale, qparams.zero_point);
  }
}
