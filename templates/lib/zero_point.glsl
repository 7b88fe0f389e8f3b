// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The zero point of a quantization block, by the index of its scale.
//
//   zero_point_of(input_zero_point_data, problem.input_zero_points, parameter)
//
// It is 0 if there are no zero points, and the same for all blocks if there is one. The load is always executed, so
// that nothing waits for a branch. It is a macro, because GLSL does not pass buffers.
$gives zero_point_of

#define zero_point_of(data, count, parameter) mix(data[min(parameter, max(count, 1u) - 1u)], 0, (count) == 0u)
