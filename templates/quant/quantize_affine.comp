// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Real -> integer, one scale and zero point per block: lib/affine.glsl has the formula.
//
//   buffer -> buffer, vec 4    the input is dense: four elements a step, in whole words; near the end one by one
//   buffer -> buffer, vec 1    the input has any strides, the output is dense
//   an image on either side    a step is a texel of the output image, or an element of the output buffer
//
// An invocation makes `items` steps, a workgroup apart, so that neighbours touch neighbouring memory.
#version 450
${extensions()}
$if vec == 4
#extension GL_EXT_control_flow_attributes : require
$end
${local_size(workgroup)}
${declare(input)}
${declare(scale)}
${declare(zero_point)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/words.glsl"
$include "lib/quantizer.glsl"
$include "lib/block_parameters.glsl"
$if input_storage == buffer
$include "lib/load_real.glsl"
$end

int quantize_element(float x, uint element) {
  select_block_of(element);
  return quantize(x, current_block);
}

$if output_storage == buffer
// Through an unsigned int, where the output is: a conversion that changes the sign too asks for 8-bit arithmetic.
$if is_signed(output_dtype)
void store_output(uint index, int q) { output_data[index] = ${glsl_type(output_dtype)}(q); }
$else
void store_output(uint index, int q) { output_data[index] = ${glsl_type(output_dtype)}(uint(q)); }
$end
$end

$if input_storage == buffer and output_storage == buffer and vec == 4
// The same memory as `input` and `output`, seen as words.
${declare_words(input, bytes(input_dtype))}
${declare_words(output, bytes(output_dtype))}

// Of a short block, subnormal halves may come to zero: they count for nothing.
vec4 unpack_real(${glsl_type(u32, bytes(input_dtype))} words, bool is_short) {
$if input_dtype == f16
  if (is_short) return vec4(unpackHalf2x16(words.x), unpackHalf2x16(words.y));
$end
  return unpack_${input_dtype}(words);
}

ivec4 quantize_word(${glsl_type(u32, bytes(input_dtype))} words, uint element) {
  const vec4 x = unpack_${input_dtype}(words);
  ivec4 q;
  for (uint lane = 0u; lane < 4u; ++lane) q[lane] = quantize_element(x[lane], element + lane);
  return q;
}

void step(uint word) {
  const uint end = min(4u * word + 4u, problem.numel);
  for (uint i = 4u * word; i < end; ++i) {
    store_output(i, quantize_element(load_real(problem.first + i), i));
  }
}

// All steps at once, where all are of whole words: every load is under way before the first store waits for one.
bool make_steps(uint first) {
  if (first + (${items} - 1u) * ${workgroup} >= problem.numel / 4u) return false;
  ${glsl_type(u32, bytes(input_dtype))} words[${items}];
  const uint first_read = problem.first / 4u + first;
  [[unroll]] for (uint item = 0u; item < ${items}; ++item) words[item] = input_words[first_read + item * ${workgroup}];
  ivec4 integers[${items}];
  if (are_words_of_one_block()) {
    Block blocks[${items}];
    [[unroll]] for (uint item = 0u; item < ${items}; ++item) {
      blocks[item] = block_at(parameter_of(4u * (first + item * ${workgroup})));
    }
    [[unroll]] for (uint item = 0u; item < ${items}; ++item) {
      integers[item] = quantize(unpack_real(words[item], blocks[item].is_short), blocks[item]);
    }
  } else {
    for (uint item = 0u; item < ${items}; ++item) {
      integers[item] = quantize_word(words[item], 4u * (first + item * ${workgroup}));
    }
  }
  [[unroll]] for (uint item = 0u; item < ${items}; ++item) {
    output_words[first + item * ${workgroup}] = pack_${output_dtype}(integers[item]);
  }
  return true;
}
$elif input_storage == buffer and output_storage == buffer
void step(uint element) {
  if (element >= problem.numel) return;
  store_output(element, quantize_element(load_real(offset_of(element)), element));
}
$else
$include "lib/texel.glsl"

float load_at(uvec4 coordinate) {
$if input_storage == texture3d
  return imageLoad(input_image, texel_at(coordinate, problem.real_packed))[coordinate[problem.real_packed] % 4u];
$else
  return load_real(offset_of(element_at(coordinate)));
$end
}

$if output_storage == texture3d
void step(uint index) {
  if (index >= problem.image_steps) return;
  const ivec3 texel = texel_of(index, problem.quant_packed);
  const uvec4 coordinate = coordinate_at(texel, problem.quant_packed);
  ivec4 q = ivec4(0);  // lanes past the tensor's side hold 0
  for (uint lane = 0u; lane < 4u; ++lane) {
    uvec4 at = coordinate;
    at[problem.quant_packed] += lane;
    if (at[problem.quant_packed] < problem.sizes[problem.quant_packed]) {
      q[lane] = quantize_element(load_at(at), element_at(at));
    }
  }
$if is_signed(output_dtype)
  imageStore(output_image, texel, q);
$else
  imageStore(output_image, texel, uvec4(q));
$end
}
$else
void step(uint element) {
  if (element >= problem.image_steps) return;
  store_output(element, quantize_element(load_at(coordinate_of(element)), element));
}
$end
$end

void main() {
  const uint first = workgroup_index() * (${workgroup} * ${items}) + gl_LocalInvocationIndex;
$if input_storage == buffer and output_storage == buffer and vec == 4
  if (make_steps(first)) return;
$end
  for (uint item = 0u; item < ${items}; ++item) step(first + item * ${workgroup});
}
