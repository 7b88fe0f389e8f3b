// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Runs the steps of a pointwise chain, which the problem has as numbers: docs/pointwise.md. `qgen-model chains` puts
// another file in its place, with the steps of one chain as GLSL, and no loop.
//
// Needs the constant has_kept.
$needs const uint kFirstKept
$needs uvec4 previous
$needs uvec4 kept[8]
$needs uvec4 value_of(uint source, uint quad)
$needs uvec4 operate(uint operation, uvec4 a, uvec4 b, uvec4 c)
$gives void run_steps(uint quad)

void run_steps(uint quad) {
  previous = uvec4(0u);
  const uint count = min(problem.step_count, 64u);
  for (uint i = 0u; i < count; ++i) {
    const uint step = problem.steps[i], operation = step & 0xffu;
    const uint of_b = step >> 16 & 0xffu, of_c = step >> 24;
    const uvec4 a = value_of(step >> 8 & 0xffu, quad);
    if (operation == kPointwiseStepKeep) {
      if (${has_kept}) kept[of_b - kFirstKept] = a;
      continue;
    }
    const uvec4 b = of_b == 255u ? a : value_of(of_b, quad);
    const uvec4 c = of_c == 255u ? b : value_of(of_c, quad);
    previous = operate(operation, a, b, c);
  }
}
