// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// zero_point_of(input_zero_point_data, problem.input_zero_points, parameter): the zero point that goes with a
// parameter, of so many: 0 where there are none, the same for all where there is one, and otherwise the parameter's
// own. Read in any case, absent or not, so that nothing waits for a branch. A macro, since GLSL passes no buffers.
#define zero_point_of(data, count, parameter) mix(data[min(parameter, max(count, 1u) - 1u)], 0, (count) == 0u)
