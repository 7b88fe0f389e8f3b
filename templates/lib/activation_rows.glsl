// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Rows of real activations, quantized as they are read: their scale and zero point from their range, by the whole
// workgroup, and then integers. docs/linear_weights.md says which.
shared Qparams row_qparams;

int activation_bits(uint index) { return floatBitsToInt(load_real(index)); }

// The parameters of one row, given to all. All invocations of the workgroup must call it.
Qparams qparams_of_row(uint row) {
  const int sign_mask = -0x7fffffff - 1;
  ivec2 mine = ivec2(0);
  for (uint k = gl_LocalInvocationIndex; k < problem.k; k += ${workgroup}) {
    mine = max(mine, extremes_of(activation_bits(row * problem.k + k), sign_mask));
  }
  const ivec2 extremes = team_max(mine, ${workgroup}, gl_LocalInvocationIndex);
  if (gl_LocalInvocationIndex == 0u) row_qparams = qparams_of(extremes);
  barrier();
  const Qparams qparams = row_qparams;
  barrier();  // before the next row's
  return qparams;
}

// Four neighbours of a row as a word of bytes; past k they are 0.
uint quantized_word(uint row, uint k, float inverse_scale, int zero_point) {
  ivec4 q = ivec4(0);
  for (uint lane = 0u; lane < 4u; ++lane) {
    if (k + lane >= problem.k) break;
    const float x = load_real(row * problem.k + k + lane);
    q[lane] = quantize(x, inverse_scale, zero_point, problem.quant_min, problem.quant_max);
  }
  return pack_i8(q);
}
