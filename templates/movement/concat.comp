// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Joins tensors along an axis: a row of the output is one row of each input (docs/movement.md). Elements are copied as
// their bits. An invocation copies four neighbours of the output, which are whole 32-bit words for any dtype. An
// omitted input has rows of length 0.
#version 450
${local_size(workgroup)}
${declare_words(input_1)}
${declare_words(input_2)}
${declare_words(input_3)}
${declare_words(input_4)}
${declare_words(output, bytes(dtype))}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/quotient.glsl" dividers
$include "lib/words.glsl" moved

// Row and column of an element of the output; past the last one, that one's.
uvec2 row_and_column(uint element) { return divided(min(element, problem.numel - 1u), 0u); }

bool is_of_input(uvec2 at, uint i) { return at.y - problem.begins[i] < problem.lengths[i]; }

// Where the input has it.
uint place_of(uvec2 at, uint i) { return at.x * problem.lengths[i] + at.y - problem.begins[i]; }

uint bits_of(uint element) {
  const uvec2 at = row_and_column(element);
$for i in range(4)
  if (is_of_input(at, ${i}u)) {
    const uint place = place_of(at, ${i}u);
    return bits_in(input_${i + 1}_words[place / kPerWord], place);
  }
$end
  return 0u;
}

void main() {
  const uint quad = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (quad >= problem.numel / 4u + uint(problem.numel % 4u != 0u)) return;
  const uint first = 4u * quad;
  if (problem.is_quads == 0u) {
    output_words[quad] = words_of(uvec4(bits_of(first), bits_of(first + 1u), bits_of(first + 2u), bits_of(first + 3u)));
    return;
  }
  const uvec2 at = row_and_column(first);
$for i in range(4)
  if (is_of_input(at, ${i}u)) {
    const uint word = place_of(at, ${i}u) / kPerWord;
$if bytes(dtype) == 4
    output_words[quad] = uvec4(input_${i + 1}_words[word], input_${i + 1}_words[word + 1u],
                               input_${i + 1}_words[word + 2u], input_${i + 1}_words[word + 3u]);
$elif bytes(dtype) == 2
    output_words[quad] = uvec2(input_${i + 1}_words[word], input_${i + 1}_words[word + 1u]);
$else
    output_words[quad] = input_${i + 1}_words[word];
$end
  }
$end
}
