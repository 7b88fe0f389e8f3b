// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Stores four neighbours in a row of the floating-point matrix `output` [m, n], at once if rows are whole vectors of
// four.
$include "lib/words.glsl"
$include "lib/store_real.glsl"
$gives void store_row(uint row, uint column, vec4 x)

${declare_words(output, bytes(output_dtype))}

// From `column` on, a multiple of four. Elements past the last column are dropped.
void store_row(uint row, uint column, vec4 x) {
  const uint first = row * problem.n + column;
  if (problem.n % 4u == 0u) {
    output_words[first / 4u] = pack_${output_dtype}(x);
    return;
  }
  [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
    if (column + lane < problem.n) store_real(first + lane, x[lane]);
  }
}
