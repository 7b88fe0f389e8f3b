// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sums of a window times the weights [out, in, window, window], for the `outputs` neighbours of `w`.
void add_channel(Window w, uint channel, uint weights, inout float sums[${outputs}]) {
  for (uint dy = 0u; dy < ${window}; ++dy) {
    float pixels[${(outputs - 1) * stride + window}];
    for (int i = 0; i < ${(outputs - 1) * stride + window}; ++i) {
      pixels[i] = pixel(w.batch, channel, first_y(w) + int(dy), first_x(w) + i, 0.0);
    }
$for dx in range(window)
    {
      const float weight = load_weight(weights + dy * ${window} + ${dx});
      for (uint i = 0u; i < ${outputs}; ++i) sums[i] = fma(pixels[i * ${stride} + ${dx}], weight, sums[i]);
    }
$end
  }
}
