// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What every kernel of the corpus includes: places in tensors, and the arithmetic that ends most kernels.
const float kLargest = 3.402823e38;

uint ceil_div(uint a, uint b) { return (a + b - 1u) / b; }

// The linear number of this workgroup.
uint workgroup_index() {
  return gl_WorkGroupID.x + gl_NumWorkGroups.x * (gl_WorkGroupID.y + gl_NumWorkGroups.y * gl_WorkGroupID.z);
}

uint place_in_matrix(uint row, uint column, uint columns) { return row * columns + column; }

uint place_in_image(uint batch, uint channel, uint y, uint x, uint channels, uint height, uint width) {
  return ((batch * channels + channel) * height + y) * width + x;
}

float relu(float x) { return max(x, 0.0); }
float sigmoid(float x) { return 1.0 / (1.0 + exp(-x)); }
float silu(float x) { return x * sigmoid(x); }
float gelu(float x) { return 0.5 * x * (1.0 + tanh(0.7978845608 * (x + 0.044715 * x * x * x))); }

// The integer grid of an affine quantization; NaN goes to the zero point.
int quantize(float x, float scale, int zero_point, int low, int high) {
  const float steps = isnan(x) ? 0.0 : clamp(x / scale, -16777216.0, 16777216.0);
  return clamp(int(roundEven(steps)) + zero_point, low, high);
}
float dequantize(int q, float scale, int zero_point) { return float(q - zero_point) * scale; }
