// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The pixels of each window as a row of a matrix, quantized.
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
  for (uint i = 0u; i < ${outputs} && w.x + i < problem.out_width; ++i) {
    const uint row = (w.batch * problem.out_height + w.y) * problem.out_width + w.x + i;
    for (uint at = 0u; at < ${window * window}; ++at) {
      const int dy = int(at / ${window}), dx = int(i * ${stride} + at % ${window});
      const float x = pixel(w.batch, w.channel, first_y(w) + dy, first_x(w) + dx, 0.0);
      const uint column = w.channel * ${window * window} + at;
      output_data[place_in_matrix(row, column, problem.columns)] =
          int8_t(quantize(x, problem.scale, problem.zero_point, -128, 127));
    }
  }
}
