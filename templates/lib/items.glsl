// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The 32-bit words that an invocation processes: `items` of them, problem.distance apart. All of them have the same
// scales and zero points, lane by lane, so these are looked up once.
//
//   one parameter for all     any distance
//   runs of 128 elements      8 words: the fourth is the run's last quarter
//   one a column              a row: the same columns further down
//
// The host computes the distance (runtime/engine/operators/affine/shape.h). Neighbouring invocations still process
// neighbouring words; every distance-th invocation continues after the words of the ones before it.
$include "lib/quotient.glsl"
$gives uint first_word_of(uint invocation)

uint first_word_of(uint invocation) {
  const uint before = quotient(invocation, problem.distance_multiplier, problem.distance_shift) * problem.distance;
  return invocation + before * (${items} - 1u);
}
