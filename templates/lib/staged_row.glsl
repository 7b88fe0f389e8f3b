// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A row of f16 activations in shared memory, in the order of the matrices of lib/weight_fragments.glsl.
$needs STAGED_VECTORS  // of the longest row, or 1
$gives shared uvec4 staged_row
$gives uvec2 pairs_of(uvec2 words)

shared uvec4 staged_row[STAGED_VECTORS];

// Activations 0 and 2, then 1 and 3, of the four in two words.
uvec2 pairs_of(uvec2 words) {
  return uvec2(bitfieldInsert(words.x, words.y, 16, 16), bitfieldInsert(words.y, words.x >> 16, 0, 16));
}
