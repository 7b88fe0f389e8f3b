// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The offsets at which the matrices of one batch begin: the element of `input`, and the element of `other`.
$gives uvec2 matrices_of(uint batch)

uvec2 matrices_of(uint batch) {
  uvec2 first = uvec2(0u);
  const uint rank = problem.batch_rank;
  for (uint d = 0u; d < rank; ++d) {
    first += batch % problem.batch_sizes[d] * uvec2(problem.input_batch_strides[d], problem.other_batch_strides[d]);
    batch /= problem.batch_sizes[d];
  }
  return first;
}
