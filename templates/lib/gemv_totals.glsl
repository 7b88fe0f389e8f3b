// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Adds up the partial sums of a team of invocations that compute the same outputs. The including kernel defines the
// type of a sum and the number of sums of a member:
//
//   #define SUM ivec4                   a vector of sums
//   const uint kSums = 2u;
//
// Members fill sums[]; then all invocations call share(), and any of them total_of(), as often as it likes.
$needs SUM
$needs const uint kSums
$gives SUM sums
$gives Parts share(uint team)
$gives SUM total_of(uint i, Parts parts)
$gives struct Parts

SUM sums[kSums];

// One part a member of the team that has something to add: [part][sum].
$if reduce == subgroup
shared SUM partial_sums[${group.workgroup} / 4u * kSums];  // subgroups of four and more
$else
shared SUM partial_sums[${group.workgroup} * kSums];
$end

// Where the team's parts are.
struct Parts {
  uint first;
  uint end;
};

$if reduce == subgroup
Parts share(uint team) {
  [[unroll]] for (uint i = 0u; i < kSums; ++i) {
    const SUM sum = subgroupAdd(sums[i]);
    if (subgroupElect()) partial_sums[gl_SubgroupID * kSums + i] = sum;
  }
  barrier();
  const uint parts = ${group.team} / gl_SubgroupSize;
  return Parts(team * parts, (team + 1u) * parts);
}
$else
Parts share(uint team) {
  const uint self = gl_LocalInvocationIndex;
  [[unroll]] for (uint i = 0u; i < kSums; ++i) partial_sums[self * kSums + i] = sums[i];
  barrier();
  for (uint reach = ${group.team} / 2u; reach > 0u; reach /= 2u) {
    if (self % ${group.team} < reach) {
      [[unroll]] for (uint i = 0u; i < kSums; ++i) {
        partial_sums[self * kSums + i] += partial_sums[(self + reach) * kSums + i];
      }
    }
    barrier();
  }
  return Parts(team * ${group.team}, team * ${group.team} + 1u);
}
$end

SUM total_of(uint i, Parts parts) {
  SUM total = SUM(0);
  for (uint part = parts.first; part < parts.end; ++part) total += partial_sums[part * kSums + i];
  return total;
}
