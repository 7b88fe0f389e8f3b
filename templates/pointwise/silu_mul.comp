// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// y[r, c] = x * sigmoid(x) * x[r, H + c] with x = x[r, c], in f32: docs/pointwise.md. An invocation makes four
// neighbouring outputs. If H is a multiple of four, they are of one row.
#version 450
${local_size(workgroup)}
${declare_words(input)}
${declare_words(output, bytes(dtype))}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/words.glsl"
$include "lib/float32.glsl"
$include "lib/exponential.glsl"

const uint kPerWord = ${4 / bytes(dtype)}u;

$if dtype == f16
float element(uint place) { return f16_to_f32(input_words[place / 2u] >> 16u * (place & 1u) & 0xffffu); }
$else
float element(uint place) { return flush_subnormal(uintBitsToFloat(input_words[place])); }
$end

$include "lib/gate.glsl"

void main() {
  const uint quad = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (quad >= problem.numel / 4u + uint(problem.numel % 4u != 0u)) return;
  vec4 result = vec4(0.0);
  uint row = 4u * quad / problem.columns, column = 4u * quad % problem.columns;
  for (uint i = 0u; i < 4u; ++i) {
    if (4u * quad + i >= problem.numel) break;
    const uint place = row * 2u * problem.columns + column;
    result[i] = gated(element(place), element(place + problem.columns));
    column += 1u;
    if (column == problem.columns) {
      column = 0u;
      row += 1u;
    }
  }
  output_words[quad] = pack_${dtype}(result);
}
