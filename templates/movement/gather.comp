// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// output[c] = input[sum over d of c[d] * strides[d] + i * axis_stride] with i = indices[sum over d of c[d] *
// index_strides[d]]: docs/movement.md. Elements are moved as their bits, four neighbours of the output an invocation,
// which are whole words of any dtype. Indices are data, so each is compared with the dimension.
#version 450
${local_size(workgroup)}
${declare_words(input)}
${declare(indices)}
${declare_words(output, bytes(dtype))}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/quotient.glsl" dividers
$include "lib/words.glsl" moved

uint bits_of(uint element) {
  element = min(element, problem.numel - 1u);
  uint place = 0u, of_index = 0u;
  for (uint d = 0u; d < problem.rank; ++d) {
    const uvec2 parts = divided(element, d);
    element = parts.x;
    place += parts.y * problem.strides[d];
    of_index += parts.y * problem.index_strides[d];
  }
  const int said = indices_data[of_index];
  const uint index = uint(said < 0 ? said + int(problem.side) : said);
  if (index >= problem.side) return 0u;
  place += index * problem.axis_stride;
  return bits_in(input_words[place / kPerWord], place);
}

void main() {
  const uint quad = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (quad >= problem.numel / 4u + uint(problem.numel % 4u != 0u)) return;
  const uint first = 4u * quad;
  output_words[quad] = words_of(uvec4(bits_of(first), bits_of(first + 1u), bits_of(first + 2u), bits_of(first + 3u)));
}
