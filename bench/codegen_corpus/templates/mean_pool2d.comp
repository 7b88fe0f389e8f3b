// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The mean of each window's pixels that lie in the image.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(output)}
${declare_problem()}
$include "lib/common.glsl"
float load(uint i) { return float(input_data[i]); }
$include "lib/window.glsl"

void main() {
  const Window w = first_window();
  if (!is_output(w)) return;
  float sums[${outputs}];
  uint counts[${outputs}];
  for (uint i = 0u; i < ${outputs}; ++i) {
    sums[i] = 0.0;
    counts[i] = 0u;
  }
  for (uint place = 0u; place < ${outputs * window * window}; ++place) {
    const uint i = place / ${window * window};
    const int y = first_y(w) + int(place / ${window} % ${window});
    const int x = first_x(w) + int(i * ${stride} + place % ${window});
    const bool is_inside = y >= 0 && x >= 0 && y < int(problem.height) && x < int(problem.width);
    sums[i] += pixel(w.batch, w.channel, y, x, 0.0);
    counts[i] += is_inside ? 1u : 0u;
  }
  for (uint i = 0u; i < ${outputs} && w.x + i < problem.out_width; ++i) {
    output_data[output_place(w, i)] = ${glsl_type(dtype)}(sums[i] / float(max(counts[i], 1u)));
  }
}
