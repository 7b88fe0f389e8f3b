// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Element by element: an invocation makes `items` steps of `vec` elements, a workgroup apart. step(i) does one.
void all_steps() {
  const uint first = workgroup_index() * (${items} * ${workgroup}) + gl_LocalInvocationIndex;
$for item in range(items)
  if (first + ${item} * ${workgroup} < problem.numel / ${vec}) step(first + ${item} * ${workgroup});
$end
}
