// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The words of a weight form from its plain rows, an invocation each: lib/weight_form.glsl says where elements lie.
#version 450
${extensions()}
${local_size(workgroup)}
${declare_words(source)}
${declare_words(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/weight_form.glsl"

int element_at(uvec2 place) {
  if (place.x >= problem.n || place.y >= problem.k) return 0;
  const uint at = place.x * problem.k + place.y;
  return bitfieldExtract(int(source_words[at / 4u]), int(at % 4u * 8u), 8);
}

void main() {
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (index < problem.words) output_words[index] = word_at(index);
}
