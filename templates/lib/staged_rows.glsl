// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The rows of lib/staged_product.glsl, read from a row-major `input`.
$include "lib/load_real.glsl"
$include "lib/staged_product.glsl"
$gives void fetch_rows(uint first, uint first_m, uint first_term, uint end, uint terms)

// For rows with `terms` elements, of a matrix that begins at element `first`. Rows past the end repeat the last; their
// results are not stored. Terms from `end` on are 0.
void fetch_rows(uint first, uint first_m, uint first_term, uint end, uint terms) {
  [[unroll]] for (uint i = 0u; i < kInputs; ++i) {
    const uint row = min(first_m + staged_row(i), problem.m - 1u);
    const uint term = first_term + row_term(i);
    next_rows[i] = term < end ? load_real(first + row * terms + term) : 0.0;
  }
}
