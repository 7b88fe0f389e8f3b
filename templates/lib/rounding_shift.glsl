// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Conversion between floats and small integers by adding 1.5 * 2^23. A float of magnitude up to 2^22 is rounded half to
// even, and the integer is in the low bits of the sum. This takes one addition; rounding and converting are two slower
// instructions.
$gives const float kRoundingShift
$gives const int kRoundingShiftBits

const float kRoundingShift = 12582912.0;
const int kRoundingShiftBits = 0x4b400000;
