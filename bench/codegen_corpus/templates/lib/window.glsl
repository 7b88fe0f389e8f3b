// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Windows of `window` x `window` pixels over an image, `stride` apart. An invocation makes `outputs` neighbours of one row
// of one channel of the output.
struct Window {
  uint batch, channel, y, x;  // of the first output
};

Window first_window() {
  const uint i = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  const uint row_steps = ceil_div(problem.out_width, ${outputs});
  Window w;
  w.x = i % row_steps * ${outputs};
  w.y = i / row_steps % problem.out_height;
  w.channel = i / (row_steps * problem.out_height) % problem.out_channels;
  w.batch = i / (row_steps * problem.out_height * problem.out_channels);
  return w;
}

bool is_output(Window w) { return w.batch < problem.batches; }

float pixel(uint batch, uint channel, int y, int x, float outside) {
  if (y < 0 || x < 0 || y >= int(problem.height) || x >= int(problem.width)) return outside;
  return load(place_in_image(batch, channel, uint(y), uint(x), problem.channels, problem.height, problem.width));
}

int first_y(Window w) { return int(w.y * ${stride}) - ${window / 2}; }
int first_x(Window w) { return int(w.x * ${stride}) - ${window / 2}; }

uint output_place(Window w, uint i) {
  return place_in_image(w.batch, w.channel, w.y, w.x + i, problem.out_channels, problem.out_height, problem.out_width);
}
