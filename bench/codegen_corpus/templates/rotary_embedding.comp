// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Turns pairs of a row's elements by an angle that grows with the row's place.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(output)}
${declare_problem()}
$include "lib/common.glsl"

// The pair i of a head: neighbours, or half a head apart.
uint first_of(uint pair) {
  const uint half_head = problem.head / 2u;
$if pairs == neighbours
  return pair / half_head * problem.head + 2u * (pair % half_head);
$else
  return pair / half_head * problem.head + pair % half_head;
$end
}
uint distance_in_pair() {
$if pairs == neighbours
  return 1u;
$else
  return problem.head / 2u;
$end
}

void step(uint i) {
  for (uint pair = ${vec} * i; pair < ${vec} * (i + 1u); ++pair) {
    const uint row = pair / (problem.columns / 2u);
    const float exponent = float(2u * (pair % (problem.head / 2u))) / float(problem.head);
    const float angle = float(row + problem.first_row) * pow(problem.base, -exponent);
    const uint at = first_of(pair), other = at + distance_in_pair();
    const float x = float(input_data[at]), y = float(input_data[other]);
    output_data[at] = ${glsl_type(dtype)}(x * cos(angle) - y * sin(angle));
    output_data[other] = ${glsl_type(dtype)}(x * sin(angle) + y * cos(angle));
  }
}
$include "lib/steps.glsl"

void main() { all_steps(); }
