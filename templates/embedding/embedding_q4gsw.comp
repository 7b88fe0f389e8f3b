// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// output[m, k] = weight[indices[m], k] * weight_scales[indices[m], group of k]; NaN where there is no such row.
//
//   vec 4    four neighbours along k, stored as one vector: k is a multiple of four
//   vec 1    any k
$require vec == 1 or vec == 4
#version 450
${extensions()}
${local_size(workgroup)}
${declare(indices)}
${declare(weight_scales)}
$if vec == 1
${declare(output)}
$else
${declare_words(output, bytes(output_dtype))}
$end
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/words.glsl"
$include "lib/affine.glsl"
$include "lib/weight_rows.glsl" q4
$if vec == 1
$include "lib/real_elements.glsl" store
$end

float scale_at(uint row, uint k) {
  const uint group = min(k / problem.group_size, problem.groups - 1u);
  return flush_subnormal(weight_scales_data[row * problem.groups + group]);
}

float output_at(int index, uint k) {
  const uint row = uint(index);  // of a negative index past the last row
  if (row >= problem.n) return uintBitsToFloat(kNan);
  return dequantize(weight_at(row, k), scale_at(row, k), 0);
}

void main() {
  const uint element = ${vec} * (workgroup_index() * ${workgroup} + gl_LocalInvocationIndex);
  if (element >= problem.m * problem.k) return;
  const int index = indices_data[element / problem.k];
  const uint k = element % problem.k;
$if vec == 1
  store_real(element, output_at(index, k));
$else
  vec4 y;
  for (uint lane = 0u; lane < 4u; ++lane) y[lane] = output_at(index, k + lane);
  output_words[element / 4u] = pack_${output_dtype}(y);
$end
}
