// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// y = W * x, W in groups of 4-bit integers with a scale each, eight to a word; a row for each subgroup or workgroup.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(weight)}
${declare(scale)}
${declare(output)}
${declare_problem()}
$include "lib/common.glsl"
$include "lib/row_reduce.glsl"

float dot_of_word(uint word, uint at) {
  float sum = 0.0;
$for nibble in range(8)
  sum = fma(float(bitfieldExtract(int(word), ${4 * nibble}, 4)), float(input_data[at + ${nibble}]), sum);
$end
  return sum;
}

void main() {
  const uint words = problem.columns / 8u;
  for (uint item = 0u; item < ${items}; ++item) {
    const uint row = min(workgroup_index() * ${items} + item, problem.rows - 1u);
    ${glsl_type(f32, vec)} sums = ${glsl_type(f32, vec)}(0.0);
    for (uint i = ${vec} * gl_LocalInvocationIndex; i + ${vec - 1} < words; i += ${vec} * ${workgroup}) {
$if vec == 1
      sums += dot_of_word(weight_data[row * words + i], 8u * i) * scale_data[(row * words + i) / problem.group_words];
$else
      for (uint lane = 0u; lane < ${vec}; ++lane) {
        const uint at = row * words + i + lane;
        sums[lane] += dot_of_word(weight_data[at], 8u * (i + lane)) * scale_data[at / problem.group_words];
      }
$end
    }
    const float sum = sum_of_row(sum_of_lanes(sums));
    if (gl_LocalInvocationIndex == 0u) output_data[row] = ${glsl_type(dtype)}(sum);
  }
}
