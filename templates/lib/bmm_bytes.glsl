// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Reads elements of both operands as integers, with the same instructions for int8 and uint8. For uint8,
// problem.input_flip or problem.other_flip is 0x80: with this bit flipped, a byte is signed, and 128 less than before.
// The zero point is 128 less too, so their difference stays the same.
$gives int input_integer(uint element)
$gives int other_integer(uint element)

${declare_bits(input)}
${declare_bits(other)}

int flipped(uint bits, uint flip) { return bitfieldExtract(int(bits ^ flip), 0, 8); }
int input_integer(uint element) { return flipped(uint(input_bits[element]), problem.input_flip); }
int other_integer(uint element) { return flipped(uint(other_bits[element]), problem.other_flip); }
