// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Quantizes blocks of floating-point values, with a quantizer that is included before this file.
//
//   buffer -> buffer, vec 4    the input is dense: four elements a step, in whole words; the last few one by one
//   buffer -> buffer, vec 1    the input has any strides, the output is dense
//   an image on either side    a step is a texel of the output image, or an element of the output buffer
//
// An invocation makes `items` steps: on words, of the same blocks (lib/block_parameters.glsl); otherwise a workgroup apart, so
// that neighbours touch neighbouring memory.
$include "lib/block_parameters.glsl"
$include "lib/grid.glsl"
$include "lib/quantizer.glsl" lanes
$include "lib/words.glsl"
$needs struct Block
$needs quantize
$needs vec4 scaled(vec4 x, Block block)

$if input_storage == buffer
$include "lib/real_elements.glsl" load
$end

int quantize_element(float x, uint element) {
  select_block_of(element);
  return quantize(x, current_block);
}

$if output_storage == buffer
// Through an unsigned int, where the output is: a conversion that also changes the sign needs 8-bit arithmetic.
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
vec4 unpack_short(${glsl_type(u32, bytes(input_dtype))} words) {
$if input_dtype == f16
  return vec4(unpackHalf2x16(words.x), unpackHalf2x16(words.y));
$else
  return unpack_f32(words);
$end
}

void quantize_the_long_way(uint first, uint words, Block block) {
  const uint distance = problem.distance;
  [[dont_unroll]] for (uint item = 0u; item < ${items}; ++item) {
    const uint word = first + item * distance;
    if (word >= words) return;
    const vec4 x = unpack_${input_dtype}(input_words[problem.first / 4u + word]);
    output_words[word] = pack_${output_dtype}(quantize_the_long_way(x, block));
  }
}

// The items from word `first` on, except those past the last. All loads are issued before the first result is needed.
// All items take the fast path, or none does. The problem is not read again after a store.
void quantize_words(uint first, uint words) {
  const uint distance = problem.distance;
  ${glsl_type(u32, bytes(input_dtype))} loaded[${items}];
  [[unroll]] for (uint item = 0u; item < ${items}; ++item) {
    loaded[item] = input_words[problem.first / 4u + min(first + item * distance, words - 1u)];
  }
  const Block block = block_of_word(4u * first);
  ${glsl_type(u32, bytes(output_dtype))} made[${items}];
  precise float nan = 0.0;
  [[unroll]] for (uint item = 0u; item < ${items}; ++item) {
    const vec4 product = scaled(unpack_short(loaded[item]), block);
    nan += nan_of(product);
    made[item] = pack_${output_dtype}(rounded(product, block));
  }
  if (!block.is_short || is_nan(nan)) {
    quantize_the_long_way(first, words, block);
    return;
  }
  [[unroll]] for (uint item = 0u; item < ${items}; ++item) {
    const uint word = first + item * distance;
    if (word < words) output_words[word] = made[item];
  }
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
$if input_storage == buffer and output_storage == buffer and vec == 4
  const uint invocation = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  const uint words = problem.numel / 4u, rest = problem.numel % 4u;
  const uint first = first_word_of(invocation);
  if (first < words) quantize_words(first, words);
  if (invocation < rest) {
    const uint element = 4u * words + invocation;
    store_output(element, quantize_element(load_real(problem.first + element), element));
  }
$else
  const uint first = workgroup_index() * (${workgroup} * ${items}) + gl_LocalInvocationIndex;
  for (uint item = 0u; item < ${items}; ++item) step(first + item * ${workgroup});
$end
}
