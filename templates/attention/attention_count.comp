// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Counts the slices that have keys in some row, and from them the workgroups that the launch with slices needs. Slices
// are its slowest index, so the first workgroups have keys. One workgroup counts; each invocation has some batches.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(key_lengths)}
${declare(counted)}
${declare_problem()}
$include "lib/attention_scores.glsl" keys
$include "lib/attention_scores.glsl" slices

const uint kMostInRow = 65535u;   // workgroups, on every device: maxComputeWorkGroupCount
shared uint most;

// At least as many as any tile of the batch has. One query is one tile, and its number is exact.
uint slices_of(uint batch) {
  const int keys = keys_of_batch(batch);
  int begin = keys_of_query(0, keys).x;
  int end = keys_of_query(int(problem.queries) - 1, keys).y;
  const uint all = uint(max(end - begin, 0));
  if (problem.queries == 1u) return take_slice(0u, begin, end);
  return min((all + (1u << kLeastSliceBits) - 1u) >> kLeastSliceBits, problem.slices);
}

void main() {
  const uint here = gl_LocalInvocationIndex;
  if (here == 0u) most = 1u;   // attention_join reads the first slice
  barrier();
  uint used = 1u;
  for (uint batch = here; batch < problem.batches; batch += ${workgroup}) used = max(used, slices_of(batch));
  atomicMax(most, used);
  barrier();
  if (here != 0u) return;
  const uint all = problem.most_workgroups / problem.slices * most;
  const uint rows = (all + kMostInRow - 1u) / kMostInRow;
  counted_data[0] = rows == 0u ? 0u : (all + rows - 1u) / rows;
  counted_data[1] = rows;
  counted_data[2] = 1u;
  counted_data[3] = 0u;
}
