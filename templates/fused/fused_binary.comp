// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// output = operation(input, other), element by element; each operand may be floating-point, or integers with scales and
// zero points. docs/fused.md is the definition.
//
// An invocation makes four neighbouring outputs at a time, `items` times, a workgroup apart. Elements are read and
// written in quads, whole words of any dtype. If all operands are dense, of one shape and with one parameter each, the
// parameters are read once. Otherwise an output's coordinate, in up to eight dimensions, gives each operand's element
// and parameter.
//
//   modules own    made for their dtypes
//   modules any    the problem says the dtypes; for mixtures with integers of 16 or 32 bits, which are many and rare
#version 450
#extension GL_EXT_control_flow_attributes : require
${local_size(workgroup)}
$if modules == own
${declare_words(input, bytes(input_dtype))}
${declare_words(other, bytes(other_dtype))}
${declare_words(output, bytes(output_dtype))}
$if bytes(input_dtype) == 1 and bytes(other_dtype) == 1 and bytes(output_dtype) == 1
${declare_vectors(input)}
${declare_vectors(other)}
${declare_vectors(output)}
$end
$else
${declare_words(input)}
${declare_words(other)}
${declare_words(output)}
$end
${declare(input_scale)}
${declare(input_zero_point)}
${declare(other_scale)}
${declare(other_zero_point)}
${declare(output_scale)}
${declare(output_zero_point)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/words.glsl"
$include "lib/quantizer.glsl"
$if modules == own
$include "lib/fused_elements.glsl" source
$include "lib/fused_elements.glsl" result
$include "lib/affine.glsl"

// Loads four elements of the inputs of fused_binary as floats, for dtypes that are parameters of the module.
vec4 input_quad(uint quad, Source source) { return reals(unpack_${input_dtype}(input_words[quad]), source); }
vec4 other_quad(uint quad, Source source) { return reals(unpack_${other_dtype}(other_words[quad]), source); }

Source input_source(uint parameter) {
$if is_float(input_dtype)
  return real_source();
$else
  const int zero_point = zero_point_of(input_zero_point_data, problem.input_zero_points, parameter);
  return integer_source(input_scale_data[parameter], zero_point);
$end
}

Source other_source(uint parameter) {
$if is_float(other_dtype)
  return real_source();
$else
  const int zero_point = zero_point_of(other_zero_point_data, problem.other_zero_points, parameter);
  return integer_source(other_scale_data[parameter], zero_point);
$end
}
$else
// ---- the same functions for dtypes that are problem fields, with a few uniform branches -----------------------------

$include "lib/fused_elements.glsl" source
$include "lib/fused_elements.glsl" kinds
$include "lib/affine.glsl"

uint words_of_quad(uint kind) { return bytes_of(kind); }  // four elements, and four bytes a word

vec4 reals_of(uvec4 words, uint kind, Source source) {
  if (is_real(kind)) return reals(kind == kFusedDtypeF32 ? unpack_f32(words) : unpack_f16(words.xy), source);
  const ivec4 bytes = kind == kFusedDtypeI8 ? unpack_i8(words.x) : unpack_u8(words.x);
  return reals(kind <= kFusedDtypeU8    ? bytes
               : kind == kFusedDtypeI16 ? unpack_i16(words.xy)
                                        : unpack_i32(words),
               source);
}

$for operand in (input, other)
vec4 ${operand}_quad(uint quad, Source source) {
  const uint kind = problem.${operand}_kind;
  const uint count = words_of_quad(kind);
  uvec4 words = uvec4(${operand}_words[quad * count], uvec3(0u));
  if (count > 1u) words.y = ${operand}_words[quad * count + 1u];
  if (count > 2u) words.zw = uvec2(${operand}_words[quad * count + 2u], ${operand}_words[quad * count + 3u]);
  return reals_of(words, kind, source);
}

Source ${operand}_source(uint parameter) {
  if (is_real(problem.${operand}_kind)) return real_source();
  const int zero_point = zero_point_of(${operand}_zero_point_data, problem.${operand}_zero_points, parameter);
  return integer_source(${operand}_scale_data[parameter], zero_point);
}

$end
Block output_block(uint parameter) {
  if (is_real(problem.output_kind)) return make_block(1.0, 0);  // floating-point, independent of blocks
  const int zero_point = zero_point_of(output_zero_point_data, problem.output_zero_points, parameter);
  return make_block(output_scale_data[parameter], zero_point);
}

void store_words(uint quad, uvec4 words) {
  const uint count = words_of_quad(problem.output_kind);
  output_words[quad * count] = words.x;
  if (count > 1u) output_words[quad * count + 1u] = words.y;
  if (count > 2u) {
    output_words[quad * count + 2u] = words.z;
    output_words[quad * count + 3u] = words.w;
  }
}

void store_reals(uint quad, vec4 y) {
  store_words(quad, problem.output_kind == kFusedDtypeF32 ? pack_f32(y) : uvec4(pack_f16(y), uvec2(0u)));
}

void store_integers(uint quad, ivec4 q) {
  const uint count = words_of_quad(problem.output_kind);
  store_words(quad, count == 1u   ? uvec4(pack_i8(q), uvec3(0u))
                    : count == 2u ? uvec4(pack_i16(q), uvec2(0u))
                                  : uvec4(q));
}

void store_quad(uint quad, vec4 y, Block block) {
  if (is_real(problem.output_kind)) {
    store_reals(quad, y);
  } else {
    store_integers(quad, quantize(y, block));
  }
}

// A quad whose lanes may belong to several blocks.
void store_quad(uint quad, vec4 y, uvec4 parameters) {
  if (is_real(problem.output_kind)) {
    store_reals(quad, y);
    return;
  }
  ivec4 of_block;
  ivec4 made;
  for (uint lane = 0u; lane < 4u; ++lane) {
    if (lane == 0u || parameters[lane] != parameters[lane - 1u]) of_block = quantize(y, output_block(parameters[lane]));
    made[lane] = of_block[lane];
  }
  store_integers(quad, made);
}
$end

// ---- the operation --------------------------------------------------------------------------------------------------

// Rounded once each, then flushed.
float sum_of(float x, float y) {
  precise const float scaled = problem.alpha * y;
  precise const float sum = x + flush_product(scaled);
  return flush_subnormal(sum);
}

float product_of(float x, float y) {
  precise const float product = x * y;
  return flush_product(product);
}

float operate(float x, float y) {
  return problem.operation == kFusedOperationAdd ? sum_of(x, y) : product_of(x, y);
}

vec4 operate(vec4 x, vec4 y) {
  return vec4(operate(x.x, y.x), operate(x.y, y.y), operate(x.z, y.z), operate(x.w, y.w));
}

// Where an output's operands are, and the parameters of all.
struct Place {
  uint input_element, input_parameter, other_element, other_parameter, output_parameter;
};

Place place_of(uint element) {
  Place place = Place(0u, 0u, 0u, 0u, 0u);
  const uint rank = problem.rank;
  for (uint d = 0u; d < rank; ++d) {
    const uint c = element % problem.sizes[d];
    element /= problem.sizes[d];
    place.input_element += c * problem.input_strides[d];
    place.input_parameter += c / problem.input_blocks[d] * problem.input_parameter_strides[d];
    place.other_element += c * problem.other_strides[d];
    place.other_parameter += c / problem.other_blocks[d] * problem.other_parameter_strides[d];
    place.output_parameter += c / problem.output_blocks[d] * problem.output_parameter_strides[d];
  }
  return place;
}

// Lanes mostly share their operands' quads and blocks, so the values of the previous lane are reused.
void make_quad(uint quad) {
  Place before;
  vec4 inputs, others, made;
  uvec4 parameters;
  for (uint lane = 0u; lane < 4u; ++lane) {
    const Place place = place_of(min(4u * quad + lane, problem.numel - 1u));
    if (lane == 0u || place.input_element / 4u != before.input_element / 4u ||
        place.input_parameter != before.input_parameter) {
      inputs = input_quad(place.input_element / 4u, input_source(place.input_parameter));
    }
    if (lane == 0u || place.other_element / 4u != before.other_element / 4u ||
        place.other_parameter != before.other_parameter) {
      others = other_quad(place.other_element / 4u, other_source(place.other_parameter));
    }
    made[lane] = operate(inputs[place.input_element % 4u], others[place.other_element % 4u]);
    parameters[lane] = place.output_parameter;
    before = place;
  }
  store_quad(quad, made, parameters);
}


// operate(), where no result is subnormal.
vec4 operate_tame(vec4 x, vec4 y) {
  precise const vec4 product = (problem.operation == kFusedOperationAdd ? vec4(problem.alpha) : x) * y;
  precise const vec4 sum = x + product;
  return problem.operation == kFusedOperationAdd ? sum : product;
}

$if modules == own and bytes(input_dtype) == 1 and bytes(other_dtype) == 1 and bytes(output_dtype) == 1
uint tame_word(uint input_word, uint other_word, Source source, Source other, Block block) {
  const vec4 x = reals_the_short_way(unpack_${input_dtype}(input_word), source);
  const vec4 y = reals_the_short_way(unpack_${other_dtype}(other_word), other);
  return pack_${output_dtype}(rounded(scaled(operate_tame(x, y), block), block));
}

// Sixteen bytes at a time, if an invocation has four quads.
void make_tame_vector(uint vector, Source source, Source other, Block block) {
  const uvec4 inputs = input_vectors[vector], others = other_vectors[vector];
  uvec4 words;
  [[unroll]] for (uint i = 0u; i < 4u; ++i) words[i] = tame_word(inputs[i], others[i], source, other, block);
  output_vectors[vector] = words;
}

// All operands are loaded first; if `end` comes early, the first is loaded again.
void make_tame_quads(uint first, uint end, Source source, Source other, Block block) {
  uint inputs[${items}], others[${items}];
  [[unroll]] for (uint i = 0u; i < ${items}; ++i) {
    const uint quad = first + i * ${workgroup};
    inputs[i] = input_words[quad < end ? quad : first];
    others[i] = other_words[quad < end ? quad : first];
  }
  [[unroll]] for (uint i = 0u; i < ${items}; ++i) {
    const uint quad = first + i * ${workgroup};
    if (quad < end) output_words[quad] = tame_word(inputs[i], others[i], source, other, block);
  }
}
$end

// Of operands with one parameter each.
void make_simple_quads(uint first, uint end, Source source, Source other, Block block) {
$if modules == own and bytes(input_dtype) == 1 and bytes(other_dtype) == 1 and bytes(output_dtype) == 1
  if (is_tame(source) && is_tame(other) && is_tame(problem.alpha) && block.is_short) {
    if (${items} == 4u && problem.numel % 16u == 0u) {
      const uint vector = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
      if (vector < problem.numel / 16u) make_tame_vector(vector, source, other, block);
    } else {
      make_tame_quads(first, end, source, other, block);
    }
    return;
  }
$end
  for (uint quad = first; quad < end; quad += ${workgroup}) {
    store_quad(quad, operate(input_quad(quad, source), other_quad(quad, other)), block);
  }
}

void main() {
  const uint quads = problem.numel / 4u + uint(problem.numel % 4u != 0u);
  const uint first = workgroup_index() * (${workgroup} * ${items}) + gl_LocalInvocationIndex;
  if (first >= quads) return;
  const uint end = min(first + ${workgroup} * ${items}, quads);
  if (problem.is_simple == 0u) {
    for (uint quad = first; quad < end; quad += ${workgroup}) make_quad(quad);
    return;
  }
  make_simple_quads(first, end, input_source(0u), other_source(0u), output_block(0u));
}
