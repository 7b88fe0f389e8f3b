// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The largest pixel of each window, and where it stands.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(output)}
${declare(place)}
${declare_problem()}
$include "lib/common.glsl"
float load(uint i) { return float(input_data[i]); }
$include "lib/window.glsl"

void main() {
  const Window w = first_window();
  if (!is_output(w)) return;
  for (uint i = 0u; i < ${outputs} && w.x + i < problem.out_width; ++i) {
    float largest = -kLargest;
    uint place = 0u;
    for (uint at = 0u; at < ${window * window}; ++at) {
      const int y = first_y(w) + int(at / ${window}), x = first_x(w) + int(i * ${stride} + at % ${window});
      const float found = pixel(w.batch, w.channel, y, x, -kLargest);
      if (found > largest) {
        largest = found;
        place = at;
      }
    }
    output_data[output_place(w, i)] = ${glsl_type(dtype)}(largest);
    place_data[output_place(w, i)] = place;
  }
}
