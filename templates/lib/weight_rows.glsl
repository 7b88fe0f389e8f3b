// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Rows of a weight in 16-byte loads, whatever their form (lib/weight_q8_rows.glsl, lib/weight_q4_rows.glsl). The weight
// is operand 1.
$needs const uint kPerLoad   // weights in a load
$gives K_SIZE
$gives N_SIZE
$gives uint loads_per_row()
$gives uint float_bits(uint bits)

// `word & mask | bits` inserts a bit field of an integer into a float whose other bits are `bits`. GPUs do that in one
// instruction, which holds one constant. Of two, compilers make two instructions: so `bits` is made a number that they
// cannot know. The includer's problem has a k, below 2^31.
uint float_bits(uint bits) { return bits | problem.k >> 31; }

layout(set = 0, binding = 1, std430) readonly restrict buffer WeightWords { uint weight_words[]; };
layout(set = 0, binding = 1, std430) readonly restrict buffer WeightLoads { uvec4 weight_loads[]; };

#ifndef K_SIZE  // lib/fixed_sizes.glsl
#define K_SIZE problem.k
#define N_SIZE problem.n
#endif
uint loads_per_row() { return (K_SIZE + kPerLoad - 1u) / kPerLoad; }
