// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The zero point of the output that goes with a parameter: 0 where there are none, the same for all where there is one,
// and otherwise the parameter's own.
int output_zero_point_of(uint parameter) {
  return problem.output_zero_points == 0u ? 0 : output_zero_point_data[min(parameter, problem.output_zero_points - 1u)];
}
