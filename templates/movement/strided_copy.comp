// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// output[c] = input[first + sum over d of (c[d] - before[d]) * strides[d]], or padding outside the input
// (docs/movement.md). Elements are copied as their bits. An invocation copies four neighbours of the output, which are
// whole 32-bit words for any dtype. An index is split into coordinates from the innermost dimension outwards.
#version 450
${local_size(workgroup)}
${declare_words(input)}
${declare_words(output, bytes(dtype))}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/quotient.glsl" dividers
$include "lib/words.glsl" moved

const uint kNowhere = 0xffffffffu;

// The nearest element to a coordinate outside of the input, or the one that it mirrors.
int inside(int c, int side) {
  if (problem.mode == kPadModeEdge) return clamp(c, 0, side - 1);
  return c < 0 ? -c : 2 * (side - 1) - c;
}

// Where the input has an element of the output; kNowhere: it is padding of one value.
uint place_of(uint element) {
  uint place = problem.first;
  for (uint d = 0u; d < problem.rank; ++d) {
    const uvec2 parts = divided(element, d);
    element = parts.x;
    int c = int(parts.y) - problem.before[d];
    if (uint(c) >= problem.inside[d]) {
      if (problem.mode == kPadModeConstant) return kNowhere;
      c = inside(c, int(problem.inside[d]));
    }
    place += uint(c * problem.strides[d]);
  }
  return place;
}

uint bits_of(uint element) {
  const uint place = place_of(min(element, problem.numel - 1u));
  return place == kNowhere ? problem.value : bits_in(input_words[place / kPerWord], place);
}

void main() {
  const uint quad = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (quad >= problem.numel / 4u + uint(problem.numel % 4u != 0u)) return;
  if (problem.is_quads != 0u) {
    const uint word = place_of(4u * quad) / kPerWord;
$if bytes(dtype) == 4
    output_words[quad] =
        uvec4(input_words[word], input_words[word + 1u], input_words[word + 2u], input_words[word + 3u]);
$elif bytes(dtype) == 2
    output_words[quad] = uvec2(input_words[word], input_words[word + 1u]);
$else
    output_words[quad] = input_words[word];
$end
    return;
  }
  const uint first = 4u * quad;
  output_words[quad] = words_of(uvec4(bits_of(first), bits_of(first + 1u), bits_of(first + 2u), bits_of(first + 3u)));
}
