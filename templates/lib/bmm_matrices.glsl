// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The offsets of the matrices of one batch, and of their scales and zero points; stores elements of the output. Along
// m, n and k parameters have separate strides.
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
