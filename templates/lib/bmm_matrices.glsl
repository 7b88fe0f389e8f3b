// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The offsets of the matrices of one batch, and of their scales and zero points; stores elements of the output. Along
// m, n and k parameters have separate strides. Products of integers read elements by the part `bytes`, and end with
// `finish`.
$include "lib/affine.glsl"
$gives struct Matrices
$gives Matrices matrices_of(uint batch)
$gives uint input_parameter_of(Matrices at, uint m)
$gives uint other_parameter_of(Matrices at, uint n)
$gives uint output_parameter_of(Matrices at, uint m, uint n)
$gives void store_output(uint element, float y, uint parameter)

struct Matrices {
  uint input_first;  // element
  uint other_first;
  uint input_parameter;
  uint other_parameter;
  uint output_parameter;
};

Matrices matrices_of(uint batch) {
  Matrices at = Matrices(0u, 0u, 0u, 0u, 0u);
  const uint rank = problem.batch_rank;
  for (uint d = 0u; d < rank; ++d) {
    const uint c = batch % problem.batch_sizes[d];
    batch /= problem.batch_sizes[d];
    at.input_first += c * problem.input_strides[d];
    at.other_first += c * problem.other_strides[d];
    at.input_parameter += c / problem.input_blocks[d] * problem.input_parameter_strides[d];
    at.other_parameter += c / problem.other_blocks[d] * problem.other_parameter_strides[d];
    at.output_parameter += c / problem.output_blocks[d] * problem.output_parameter_strides[d];
  }
  return at;
}

uint input_parameter_of(Matrices at, uint m) {
  return at.input_parameter + m / problem.input_m_block * problem.input_m_step;
}
uint other_parameter_of(Matrices at, uint n) {
  return at.other_parameter + n / problem.other_n_block * problem.other_n_step;
}
uint output_parameter_of(Matrices at, uint m, uint n) {
  return at.output_parameter + m / problem.output_m_block * problem.output_m_step +
         n / problem.output_n_block * problem.output_n_step;
}

// Stores a float as an element of the output: unchanged, or quantized with this parameter of its block.
$if is_float(output_dtype)
$if output_dtype == f32
${declare(output)}
$end
$include "lib/real_elements.glsl" store

void store_output(uint element, float y, uint parameter) { store_real(element, y); }
$else
${declare_bits(output)}

void store_output(uint element, float y, uint parameter) {
  const int zero_point = zero_point_of(output_zero_point_data, problem.output_zero_points, parameter);
  const float inverse_scale = quantizer(output_scale_data[parameter]);
  const int q = quantize(y, inverse_scale, zero_point, problem.quant_min, problem.quant_max);
$if bytes(output_dtype) == 1
  output_bits[element] = uint8_t(uint(q));
$elif bytes(output_dtype) == 2
  output_bits[element] = uint16_t(uint(q));
$else
  output_bits[element] = uint(q);
$end
}
$end

$part bytes
// Reads elements of both operands as integers, with the same instructions for int8 and uint8. For uint8,
// problem.input_flip or problem.other_flip is 0x80: with this bit flipped, a byte is signed, and 128 less than before.
// The zero point is 128 less too, so their difference stays the same.
$gives int input_integer(uint element)
$gives int other_integer(uint element)

${declare_bits(input)}
${declare_bits(other)}

int flipped(uint bits, uint flip) { return bitfieldExtract(int(bits ^ flip), 0, 8); }
int input_integer(uint element) { return flipped(uint(input_bits[element]), problem.input_flip); }
int other_integer(uint element) { return flipped(uint(other_bits[element]), problem.other_flip); }

$part finish
// The epilogue of integer matrix products. It computes an output from three sums over k: of the products of integers,
// of the integers of `input`, and of those of `other`. docs/fused.md has the formula. It also shows that 64 bits are
// enough.
$include "lib/bmm_matrices.glsl"
$include "lib/bmm_matrices.glsl" wide
$include "lib/affine.glsl"
$gives void finish(Matrices at, uint batch, uint m, uint n, uvec2 products, uvec2 inputs, uvec2 others)

// Sum over k of (a - z) * (b - w) from the sums of a * b, of a and of b.
uvec2 without_zero_points(uvec2 products, uvec2 inputs, uvec2 others, uvec2 z, uvec2 w) {
  const uvec2 of_z = wide_multiply(z, wide_subtract(wide_multiply(uvec2(problem.k, 0u), w), others));
  return wide_add(products, wide_subtract(of_z, wide_multiply(w, inputs)));
}

void finish(Matrices at, uint batch, uint m, uint n, uvec2 products, uvec2 inputs, uvec2 others) {
  const uint input_parameter = input_parameter_of(at, m);
  const uint other_parameter = other_parameter_of(at, n);
  const int input_zero_point = zero_point_of(input_zero_point_data, problem.input_zero_points, input_parameter);
  const int other_zero_point = zero_point_of(other_zero_point_data, problem.other_zero_points, other_parameter);
  const uvec2 z = wide_subtract(widened(input_zero_point), uvec2(problem.input_flip, 0u));
  const uvec2 w = wide_subtract(widened(other_zero_point), uvec2(problem.other_flip, 0u));
  const float sum = wide_to_float(without_zero_points(products, inputs, others, z, w));
  const float input_scale = flush_subnormal(input_scale_data[input_parameter]);
  precise const float scale = input_scale * flush_subnormal(other_scale_data[other_parameter]);
  precise const float y = sum * flush_product(scale);  // an integer: no product is below the scale
  store_output((batch * problem.m + m) * problem.n + n, y, output_parameter_of(at, m, n));
}

$part wide
// 64-bit integers as two 32-bit words, in two's complement: not every device has a type for them. Sums and products
// keep the low 64 bits.
$gives uvec2 widened(int x)
$gives uvec2 wide_add(uvec2 a, uvec2 b)
$gives uvec2 wide_subtract(uvec2 a, uvec2 b)
$gives uvec2 wide_multiply(uvec2 a, uvec2 b)
$gives float wide_to_float(uvec2 x)

uvec2 widened(int x) { return uvec2(uint(x), x < 0 ? 0xffffffffu : 0u); }

uvec2 wide_add(uvec2 a, uvec2 b) {
  uint carry;
  const uint low = uaddCarry(a.x, b.x, carry);
  return uvec2(low, a.y + b.y + carry);
}

uvec2 wide_subtract(uvec2 a, uvec2 b) { return wide_add(a, wide_add(~b, uvec2(1u, 0u))); }

uvec2 wide_multiply(uvec2 a, uvec2 b) {
  uint high;
  uint low;
  umulExtended(a.x, b.x, high, low);
  return uvec2(low, high + a.x * b.y + a.y * b.x);
}

// As f32, rounded half to even. For a magnitude past 32 bits, the upper 32 are kept, and a last bit that is 1 if any
// other was lost: it is below the rounding bit, so it only breaks ties.
float wide_to_float(uvec2 x) {
  const bool is_negative = (x.y & 0x80000000u) != 0u;
  const uvec2 magnitude = is_negative ? wide_subtract(uvec2(0u), x) : x;
  const int shift = findMSB(magnitude.y) + 1;  // 0: it fits 32 bits
  uint kept = magnitude.x;
  float unit = 1.0;
  if (shift == 32) {
    kept = magnitude.y | uint(magnitude.x != 0u);
    unit = 4294967296.0;
  } else if (shift > 0) {
    const uint lost = magnitude.x & ((1u << shift) - 1u);
    kept = magnitude.y << (32 - shift) | magnitude.x >> shift | uint(lost != 0u);
    unit = float(1u << shift);
  }
  precise const float rounded = float(kept >> 16) * 65536.0 + float(kept & 0xffffu);
  return (is_negative ? -rounded : rounded) * unit;
}
