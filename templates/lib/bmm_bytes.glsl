// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Reads elements of both operands as bits; and bytes, signed or not, as integers: one module does for either. Where
// they are unsigned, problem.input_flip or problem.other_flip is 0x80: that bit flipped, a byte is a signed one, and
// 128 less than it was. A zero point that is 128 less too leaves their difference as it is.
${declare_bits(input)}
${declare_bits(other)}

int flipped(uint bits, uint flip) { return bitfieldExtract(int(bits ^ flip), 0, 8); }
int input_integer(uint element) { return flipped(uint(input_bits[element]), problem.input_flip); }
int other_integer(uint element) { return flipped(uint(other_bits[element]), problem.other_flip); }
