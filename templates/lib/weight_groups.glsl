// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The index of the group to which a 16-byte load of a row of the weight belongs. A GEMV needs it in its innermost loop,
// where a division took up to 5 % of the time. So the loop multiplies: (load + 1/2) * (2^31 / loads_per_group) / 2^31,
// rounded down. The factor in the middle is rounded down too, by less than 1. This changes no quotient while (2 * load
// + 1) * loads_per_group is below 2^31. The kernels' largest k, 524,288, ensures that.
$needs const uint kPerLoad
$gives uint group_of_load(uint load)

uint group_factor() { return problem.groups > 1u ? 0x80000000u / (problem.group_size / kPerLoad) : 0u; }
uint group_of_load(uint load) {
  uint high, low;
  umulExtended(2u * load + 1u, group_factor(), high, low);
  return high;
}
