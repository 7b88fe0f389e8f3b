// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What becomes of an output's sum: the bias of its column is added, and the activation applied.
const uint kRelu = 1u;

float finished(float sum, uint n) {
  if (problem.has_bias != 0u) sum += bias_data[n];
  return problem.activation == kRelu ? max(sum, 0.0) : sum;
}
