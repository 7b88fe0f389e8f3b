// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Reads rows of floating-point activations as vectors of four, where k is a multiple of four. An invocation has
// kUnrolled loads on their way at once.
$include "lib/extremes.glsl"
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
