// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Quantizes rows of floating-point activations while a kernel reads them. The whole workgroup finds the range, computes
// scale and zero point from it, and then the integers (docs/linear_weights.md). The part `vectors` reads rows alone.
$include "lib/activation_rows.glsl" vectors
$include "lib/affine.glsl"
$include "lib/qparams.glsl" extremes
$include "lib/real_elements.glsl" load
$include "lib/qparams.glsl"
$needs ivec2 team_max(ivec2 mine, uint team, uint place)
$include "lib/words.glsl"
$gives Qparams qparams_of_row(uint row)
$gives bool are_rows_of_vectors()
$gives uint quantized_word(uint row, uint k, float inverse_scale, int zero_point)

shared Qparams row_qparams;

bool are_rows_of_vectors() { return problem.k % 4u == 0u; }

// The parameters of one row, given to all. All invocations of the workgroup must call it.
Qparams qparams_of_row(uint row) {
  const int sign_mask = -0x7fffffff - 1;
  ivec2 mine = ivec2(0);
  if (are_rows_of_vectors()) {
    mine = extremes_of_vectors(row);
  } else {
    for (uint k = gl_LocalInvocationIndex; k < problem.k; k += ${workgroup}) {
      mine = max(mine, extremes_of(floatBitsToInt(load_real(row * problem.k + k)), sign_mask));
    }
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
  const uint count = k < problem.k ? min(problem.k - k, 4u) : 0u;
  if (count == 0u) return 0u;
  vec4 x;
  if (are_rows_of_vectors()) {
    x = real_vector(row, k / 4u);
  } else {
    for (uint lane = 0u; lane < count; ++lane) x[lane] = load_real(row * problem.k + k + lane);
  }
  ivec4 q = ivec4(0);
  for (uint lane = 0u; lane < count; ++lane) {
    q[lane] = quantize(x[lane], inverse_scale, zero_point, problem.quant_min, problem.quant_max);
  }
  return pack_i8(q);
}

$part vectors
// Reads rows of floating-point activations as vectors of four, where k is a multiple of four. An invocation has
// kUnrolled loads on their way at once.
$include "lib/qparams.glsl" extremes
$needs UNPACK_INPUT                 // of the words of four activations
$needs const uint kRowInvocations  // that share a row: the workgroup
$needs const uint kUnrolled
$gives vec4 real_vector(uint row, uint quad)
$gives ivec2 extremes_of_vectors(uint row)

${declare_words(input, bytes(input_dtype))}

vec4 real_vector(uint row, uint quad) { return UNPACK_INPUT(input_words[row * (problem.k / 4u) + quad]); }

// Of the invocation's share of a row. In the last round the row's last vector comes several times.
ivec2 extremes_of_vectors(uint row) {
  const int sign_mask = -0x7fffffff - 1;
  const uint quads = problem.k / 4u;
  ivec4 positive = ivec4(0), negative = ivec4(0);
  for (uint first = gl_LocalInvocationIndex; first < quads; first += kUnrolled * kRowInvocations) {
    [[unroll]] for (uint i = 0u; i < kUnrolled; ++i) {
      const ivec4 bits = floatBitsToInt(real_vector(row, min(first + i * kRowInvocations, quads - 1u)));
      positive = max(positive, bits);
      negative = max(negative, bits ^ sign_mask);
    }
  }
  return joined(positive, negative);
}
