// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The softmax weights of attention (docs/attention.md).
$include "lib/exponential.glsl"
$gives float minus_infinity()
$gives bool is_minus_infinity(float x)
$gives float weight_of(float x)

float minus_infinity() { return uintBitsToFloat(0xff800000u); }

bool is_minus_infinity(float x) { return floatBitsToUint(x) == 0xff800000u; }

// exp(x) for x up to 0; less than -87 counts as 0, and NaN stays.
float weight_of(float x) { return x < -87.0 ? 0.0 : exponential(x); }
