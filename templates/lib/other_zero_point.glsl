// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The zero point of the other that goes with a parameter: 0 where there are none, the same for all where there is one,
// and otherwise the parameter's own.
int other_zero_point_of(uint parameter) {
  return problem.other_zero_points == 0u ? 0 : other_zero_point_data[min(parameter, problem.other_zero_points - 1u)];
}
