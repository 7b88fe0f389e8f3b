// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Dequantizes integers with one scale and zero point per block (lib/affine.glsl has the formula).
//
//   buffer -> buffer, vec 4    the output is dense: four elements a step, in whole words; the last few one by one
//   buffer -> buffer, vec 1    the output has any strides, the input is dense
//   an image on either side    a step is a texel of the output image, or an element of the output buffer
//
// An invocation makes `items` steps: on words, of the same blocks (lib/items.glsl); otherwise a workgroup apart, so
// that neighbours touch neighbouring memory.
#version 450
${extensions()}
#extension GL_EXT_control_flow_attributes : require
${local_size(workgroup)}
${declare(input)}
${declare(scale)}
${declare(zero_point)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/words.glsl"
$include "lib/dequantizer.glsl"
$include "lib/block_parameters.glsl"

float dequantize_element(int q, uint element) {
  select_block_of(element);
  return dequantize(q, current_block);
}

$if output_storage == buffer
$include "lib/store_real.glsl"
$end

$if input_storage == buffer and output_storage == buffer and vec == 4
$include "lib/items.glsl"

// The same memory as `input` and `output`, seen as words.
${declare_words(input, bytes(input_dtype))}
${declare_words(output, bytes(output_dtype))}

void dequantize_the_long_way(uint first, uint words, Block block) {
  const uint distance = problem.distance;
  [[dont_unroll]] for (uint item = 0u; item < ${items}; ++item) {
    const uint word = first + item * distance;
    if (word >= words) return;
    const ivec4 q = unpack_${input_dtype}(input_words[word]);
    output_words[problem.first / 4u + word] = pack_${output_dtype}(dequantize_the_long_way(q, block));
  }
}

// The items from word `first` on, without those past the last. Every load starts before the first wait, and the
// problem's fields are not read again after a store.
void dequantize_words(uint first, uint words) {
  const uint distance = problem.distance, first_written = problem.first / 4u;
  ${glsl_type(u32, bytes(input_dtype))} loaded[${items}];
  [[unroll]] for (uint item = 0u; item < ${items}; ++item) {
    loaded[item] = input_words[min(first + item * distance, words - 1u)];
  }
  const Block block = block_of_word(4u * first);
  if (!block.is_short) {
    dequantize_the_long_way(first, words, block);
    return;
  }
  ${glsl_type(u32, bytes(output_dtype))} made[${items}];
  [[unroll]] for (uint item = 0u; item < ${items}; ++item) {
    made[item] = pack_short(dequantize_the_short_way(unpack_${input_dtype}(loaded[item]), block));
  }
  [[unroll]] for (uint item = 0u; item < ${items}; ++item) {
    const uint word = first + item * distance;
    if (word < words) output_words[first_written + word] = made[item];
  }
}
$elif input_storage == buffer and output_storage == buffer
void step(uint element) {
  if (element >= problem.numel) return;
  store_real(offset_of(element), dequantize_element(int(input_data[element]), element));
}
$else
$include "lib/texel.glsl"

int load_at(uvec4 coordinate) {
$if input_storage == texture3d
  return int(imageLoad(input_image, texel_at(coordinate, problem.quant_packed))[coordinate[problem.quant_packed] % 4u]);
$else
  return int(input_data[element_at(coordinate)]);
$end
}

$if output_storage == texture3d
void step(uint index) {
  if (index >= problem.image_steps) return;
  const ivec3 texel = texel_of(index, problem.real_packed);
  const uvec4 coordinate = coordinate_at(texel, problem.real_packed);
  vec4 x = vec4(0.0);  // lanes past the tensor's side hold 0
  for (uint lane = 0u; lane < 4u; ++lane) {
    uvec4 at = coordinate;
    at[problem.real_packed] += lane;
    if (at[problem.real_packed] < problem.sizes[problem.real_packed]) {
      x[lane] = dequantize_element(load_at(at), element_at(at));
    }
  }
$if output_dtype == f16
  // Rounded here, so that the store has nothing left to round.
  x = unpack_f16(pack_f16(x));
$end
  imageStore(output_image, texel, x);
}
$else
void step(uint element) {
  if (element >= problem.image_steps) return;
  store_real(offset_of(element), dequantize_element(load_at(coordinate_of(element)), element));
}
$end
$end

void main() {
$if input_storage == buffer and output_storage == buffer and vec == 4
  const uint invocation = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  const uint words = problem.numel / 4u, rest = problem.numel % 4u;
  const uint first = first_word_of(invocation);
  if (first < words) dequantize_words(first, words);
  if (invocation < rest) {
    const uint element = 4u * words + invocation;
    store_real(problem.first + element, dequantize_element(int(input_data[element]), element));
  }
$else
  const uint first = workgroup_index() * (${workgroup} * ${items}) + gl_LocalInvocationIndex;
  for (uint item = 0u; item < ${items}; ++item) step(first + item * ${workgroup});
$end
}
