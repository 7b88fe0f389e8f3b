// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// output[b, m, n] = sum over k of input[b, m, k] * other[b, k, n], in f32. Each operand may be integers with a scale
// and a zero point per block. The sum is computed in increasing k, and each product and each sum is rounded once, so
// the result has the reference's bits.
//
// 16 x 16 invocations compute a tile of 16 x 16 outputs, one each. They stage both operands as floats, 16 steps of k at
// a time.
//
//   modules own    made for their dtypes
//   modules any    the problem says the inputs' dtypes; for mixtures with integers of 16 or 32 bits, which are rare
#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
${local_size(256)}
${declare(input_scale)}
${declare(input_zero_point)}
${declare(other_scale)}
${declare(other_zero_point)}
${declare(output_scale)}
${declare(output_zero_point)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/words.glsl"
$include "lib/affine.glsl"
$if modules == own
$include "lib/float16.glsl"
$include "lib/bmm_matrices.glsl" bytes

// Reads elements of both operands as floats, for dtypes that are parameters of the module.
float input_at(uint element, uint parameter) {
$if input_dtype == f16
  return f16_to_f32(uint(input_bits[element]));
$elif input_dtype == f32
  return flush_subnormal(uintBitsToFloat(input_bits[element]));
$else
  const int zero_point = zero_point_of(input_zero_point_data, problem.input_zero_points, parameter);
  const int q = input_integer(element) + int(problem.input_flip);
  return dequantize(q, flush_subnormal(input_scale_data[parameter]), zero_point);
$end
}

float other_at(uint element, uint parameter) {
$if other_dtype == f16
  return f16_to_f32(uint(other_bits[element]));
$elif other_dtype == f32
  return flush_subnormal(uintBitsToFloat(other_bits[element]));
$else
  const int zero_point = zero_point_of(other_zero_point_data, problem.other_zero_points, parameter);
  const int q = other_integer(element) + int(problem.other_flip);
  return dequantize(q, flush_subnormal(other_scale_data[parameter]), zero_point);
$end
}
$else
$include "lib/fused_elements.glsl" kinds

// The same for dtypes that are problem fields: elements are cut out of words.
${declare_words(input)}
${declare_words(other)}

int integer_of(uint word, uint element, uint kind) {
  if (kind == kFusedDtypeI16) return bitfieldExtract(int(word), 16 * int(element % 2u), 16);
  const int first = 8 * int(element % 4u);
  return kind == kFusedDtypeI8   ? bitfieldExtract(int(word), first, 8)
         : kind == kFusedDtypeU8 ? int(bitfieldExtract(word, first, 8))
                       : int(word);
}

$for operand in (input, other)
float ${operand}_at(uint element, uint parameter) {
  const uint kind = problem.${operand}_kind;
  const uint word = ${operand}_words[element * bytes_of(kind) / 4u];
  if (kind == kFusedDtypeF32) return flush_subnormal(uintBitsToFloat(word));
  if (kind == kFusedDtypeF16) return f16_to_f32(bitfieldExtract(word, 16 * int(element % 2u), 16));
  const int zero_point = zero_point_of(${operand}_zero_point_data, problem.${operand}_zero_points, parameter);
  return dequantize(integer_of(word, element, kind), flush_subnormal(${operand}_scale_data[parameter]), zero_point);
}

$end
$end
$include "lib/bmm_matrices.glsl"

const uint kTile = 16u;
const uint kStride = kTile + 1u;  // no two rows' elements of one column in one bank

shared float staged_input[kTile * kStride];  // [row][k]
shared float staged_other[kTile * kStride];  // [k][column]

float input_element(Matrices at, uint m, uint k) {
  if (m >= problem.m || k >= problem.k) return 0.0;
  const uint parameter = input_parameter_of(at, m) + k / problem.input_k_block * problem.input_k_step;
  return input_at(at.input_first + m * problem.k + k, parameter);
}

float other_element(Matrices at, uint k, uint n) {
  if (k >= problem.k || n >= problem.n) return 0.0;
  const uint parameter = other_parameter_of(at, n) + k / problem.other_k_block * problem.other_k_step;
  return other_at(at.other_first + k * problem.n + n, parameter);
}

float added(float sum, float x, float y) {
  precise const float product = x * y;
  precise const float next = sum + flush_product(product);
  return flush_subnormal(next);
}

void main() {
  const uvec2 tiles = (uvec2(problem.m, problem.n) + kTile - 1u) / kTile;
  const uint batch = workgroup_index() / (tiles.x * tiles.y);
  if (batch >= problem.batches) return;
  const uvec2 tile = uvec2(workgroup_index() / tiles.y % tiles.x, workgroup_index() % tiles.y);
  const uvec2 place = uvec2(gl_LocalInvocationIndex / kTile, gl_LocalInvocationIndex % kTile);
  const uint m = tile.x * kTile + place.x;
  const uint n = tile.y * kTile + place.y;
  const Matrices at = matrices_of(batch);

  float sum = 0.0;
  const uint end = problem.k;
  for (uint first = 0u; first < end; first += kTile) {
    barrier();
    staged_input[place.x * kStride + place.y] = input_element(at, m, first + place.y);
    staged_other[place.x * kStride + place.y] = other_element(at, first + place.x, n);
    barrier();
    [[unroll]] for (uint i = 0u; i < kTile; ++i) {  // past k nothing may be added: -0 + 0 is +0
      if (first + i >= end) continue;
      sum = added(sum, staged_input[place.x * kStride + i], staged_other[i * kStride + place.y]);
    }
  }
  if (m < problem.m && n < problem.n) {
    store_output((batch * problem.m + m) * problem.n + n, sum, output_parameter_of(at, m, n));
  }
}
