// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Dequantizes integers with one scale and zero point per block (lib/affine.glsl has the formula).
//
//   buffer -> buffer, vec 4    the output is dense: four elements a step, in whole words; the last few one by one
//   buffer -> buffer, vec 1    the output has any strides, the input is dense
//   an image on either side    a step is a texel of the output image, or an element of the output buffer
//
// An invocation makes `items` steps: on words, of the same blocks (lib/block_parameters.glsl); otherwise a workgroup apart, so
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
$include "lib/affine.glsl"
$include "lib/float32.glsl" rounding_shift

// Dequantizes four integers, with fewer instructions if the result is bit-exact with lib/affine.glsl. Integers of 8 and
// 16 bits minus a zero point of up to 2^21 are exact floats, made by writing them into the low bits of 1.5 * 2^23.
//
// Halves are rounded by an addition to their bits and are then exact for the device's own conversion, whose rounding is
// anyone's. That is right for blocks in which no product is subnormal or too large for f16.
// The parameters of four elements' blocks. Usually all four are in one block.
struct Block {
  vec4 scale;
  ivec4 zero_point;
  bool is_short;
};

bool has_short_way(vec4 scale, ivec4 zero_point) {
$if input_dtype == i32
  return false;
$elif output_dtype == f16
  const vec4 most = float(1 << (8 * ${bytes(input_dtype)})) + abs(vec4(zero_point));
  return all(bvec3(is_in_short_reach(zero_point), all(greaterThanEqual(abs(scale), vec4(0.00006103515625))),
                   all(lessThan(abs(scale) * most, vec4(65504.0)))));
$else
  return is_in_short_reach(zero_point);
$end
}

Block make_block(vec4 scale, ivec4 zero_point) {
  return Block(flush_subnormal(scale), zero_point, has_short_way(scale, zero_point));
}

Block make_block(float scale, int zero_point) { return make_block(vec4(scale), ivec4(zero_point)); }

vec4 dequantize_the_short_way(ivec4 q, Block block) {
  precise const vec4 difference = intBitsToFloat(q + (kRoundingShiftBits - block.zero_point)) - kRoundingShift;
  precise const vec4 real = difference * block.scale;
  return real;
}

// The exact path for one value, the first of four lanes.
float dequantize(int q, Block block) { return dequantize(q, block.scale.x, block.zero_point.x); }

vec4 dequantize_the_long_way(ivec4 q, Block block) {
  vec4 x = vec4(0.0);
  [[dont_unroll]] for (uint lane = 0u; lane < 4u; ++lane) {  // each in turn the first, so that this stands once
    x = vec4(x.yzw, dequantize(q.x, block));
    q = q.yzwx;
    block.scale = block.scale.yzwx;
    block.zero_point = block.zero_point.yzwx;
  }
  return x;
}

$if output_dtype == f16
// The float nearest to x that is a half, half to even, where that is a normal one or zero.
uvec4 rounded_to_half(vec4 x) {
  const uvec4 bits = floatBitsToUint(x);
  return (bits + 0x0fffu + ((bits >> 13) & 1u)) & ~0x1fffu;
}

// The results of the fast path.
uvec2 pack_short(vec4 x) {
  const vec4 half_x = uintBitsToFloat(rounded_to_half(x));
  return uvec2(packHalf2x16(half_x.xy), packHalf2x16(half_x.zw));
}
$else
uvec4 pack_short(vec4 x) { return pack_f32(x); }
$end

$include "lib/block_parameters.glsl"

float dequantize_element(int q, uint element) {
  select_block_of(element);
  return dequantize(q, current_block);
}

$if output_storage == buffer
$include "lib/real_elements.glsl" store
$end

$if input_storage == buffer and output_storage == buffer and vec == 4

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
