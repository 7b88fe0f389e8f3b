// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// `word & mask | bits` inserts a bit field of an integer into a float whose other bits are `bits`. GPUs do that in one
// instruction, which holds one constant. Of two, compilers make two instructions: so `bits` is made a number that they
// cannot know. The includer's problem has a k, below 2^31.
$gives uint float_bits(uint bits)

uint float_bits(uint bits) { return bits | problem.k >> 31; }
