// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A row of f16 activations in shared memory, in the order of the matrices of lib/weight_fragments.glsl.
//
// Four invocations read the vectors of four loads at once. These vectors are neighbours, so that they are in different
// banks. For 1 x 14336 x 4096 and one matrix of weights, a sketch takes 11.8 us on an H200 if the row has its own order,
// and 10.4 us in this one.
$needs const uint kVectors             // of a load
$needs STAGED_VECTORS  // of the longest row, or 1
$gives shared uvec4 staged_row
$gives uint staged_at(uint load, uint i)
$gives uvec2 pairs_of(uvec2 words)

shared uvec4 staged_row[STAGED_VECTORS];

// Where vector `i` of a load is: four loads are a block.
uint staged_at(uint load, uint i) { return (load / 4u * kVectors + i) * 4u + load % 4u; }

// Activations 0 and 2, then 1 and 3, of the four in two words.
uvec2 pairs_of(uvec2 words) {
  return uvec2(bitfieldInsert(words.x, words.y, 16, 16), bitfieldInsert(words.y, words.x >> 16, 0, 16));
}

$part pairs
// The pairs of an activation vector that was staged: pairs_of() has made them.
$needs const uint kVectors
$gives uvec2 activation_pairs(uvec4 vectors[kVectors], uint quad, uint j)

// Of the quad-th four of a load.
uvec2 activation_pairs(uvec4 vectors[kVectors], uint quad, uint j) {
  return quad % 2u == 0u ? vectors[quad / 2u].xy : vectors[quad / 2u].zw;
}
