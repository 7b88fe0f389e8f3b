// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Integer -> real, one scale and zero point per block: lib/affine.glsl has the formula.
//
//   buffer -> buffer, vec 4    the output is dense: four elements a step, in whole words; near the end one by one
//   buffer -> buffer, vec 1    the output has any strides, the input is dense
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
// The same memory as `input` and `output`, seen as words.
${declare_words(input, bytes(input_dtype))}
${declare_words(output, bytes(output_dtype))}

${glsl_type(u32, bytes(output_dtype))} dequantize_word(${glsl_type(u32, bytes(input_dtype))} words, uint element) {
  const ivec4 q = unpack_${input_dtype}(words);
  vec4 x;
  for (uint lane = 0u; lane < 4u; ++lane) x[lane] = dequantize_element(q[lane], element + lane);
  return pack_${output_dtype}(x);
}

void step(uint word) {
  const uint end = min(4u * word + 4u, problem.numel);
  for (uint i = 4u * word; i < end; ++i) {
    store_real(problem.first + i, dequantize_element(int(input_data[i]), i));
  }
}

// All steps at once, where all are of whole words: every load is under way before the first store waits for one, and
// what the problem says is not read again behind a store.
bool make_steps(uint first) {
  if (first + (${items} - 1u) * ${workgroup} >= problem.numel / 4u) return false;
  const uint first_written = problem.first / 4u + first;
  ${glsl_type(u32, bytes(input_dtype))} words[${items}];
  [[unroll]] for (uint item = 0u; item < ${items}; ++item) words[item] = input_words[first + item * ${workgroup}];
  ${glsl_type(u32, bytes(output_dtype))} reals[${items}];
  if (are_words_of_one_block()) {
    Block blocks[${items}];
    [[unroll]] for (uint item = 0u; item < ${items}; ++item) {
      blocks[item] = block_at(parameter_of(4u * (first + item * ${workgroup})));
    }
    [[unroll]] for (uint item = 0u; item < ${items}; ++item) {
      reals[item] = pack_real(dequantize(unpack_${input_dtype}(words[item]), blocks[item]), blocks[item]);
    }
  } else {
    for (uint item = 0u; item < ${items}; ++item) {
      reals[item] = dequantize_word(words[item], 4u * (first + item * ${workgroup}));
    }
  }
  [[unroll]] for (uint item = 0u; item < ${items}; ++item) {
    output_words[first_written + item * ${workgroup}] = reals[item];
  }
  return true;
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
  const uint first = workgroup_index() * (${workgroup} * ${items}) + gl_LocalInvocationIndex;
$if input_storage == buffer and output_storage == buffer and vec == 4
  if (make_steps(first)) return;
$end
  for (uint item = 0u; item < ${items}; ++item) step(first + item * ${workgroup});
}
