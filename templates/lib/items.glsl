// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Which words of four elements an invocation takes, so that all have the same parameters, lane by lane, and are looked
// up once: `items` of them, problem.distance apart.
//
//   one parameter for all     any distance
//   runs of 128 elements      8 words: the fourth is the run's last quarter
//   one a column              a row: the same columns further down
//
// The host says which distance (runtime/operators/affine/shape.h). Neighbours take neighbouring words still, but for
// every distance-th, which goes on behind what those before it take.
uint first_word_of(uint invocation) {
  const uint before = quotient(invocation, problem.distance_multiplier, problem.distance_shift) * problem.distance;
  return invocation + before * (${items} - 1u);
}
