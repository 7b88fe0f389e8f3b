// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The scale and zero point of the current quantization block, as a struct Block. lib/quantizer.glsl defines a Block, or
// the kernel itself.
$include "lib/affine.glsl"
$include "lib/quotient.glsl"
$needs struct Block
$needs make_block
$gives Block block_of_word(uint element)
$gives Block current_block
$gives void select_block_of(uint element)
$gives uint parameter_of(uint element)
$gives uvec4 parameters_of(uint element)
$gives uint offset_of(uint element)
$gives uint first_word_of(uint invocation)

// The index of an element's scale and zero point, from its linear (row-major) index, and its offset in the strided
// operand.
//
// The problem describes the tensor by up to eight dimensions, innermost first. Each has a size, a block, a stride of
// the parameters and a stride in memory. The host merges dimensions where it can
// (runtime/engine/operators/affine/shape.h), so most tensors arrive with one or two. If the parameters repeat
// regularly, the next of `parameters` after every `run` elements, two quotients by numbers that the host knows are
// enough; one parameter for all is one run.
uint irregular_parameter_of(uint element) {
  uint parameter = 0u;
  const uint rank = problem.rank;
  for (uint d = 0u; d < rank; ++d) {
    parameter += element % problem.sizes[d] / problem.blocks[d] * problem.parameter_strides[d];
    element /= problem.sizes[d];
  }
  return parameter;
}

uint parameter_of(uint element) {
  if (problem.is_periodic == 0u) return irregular_parameter_of(element);
  const uint run = quotient(element, problem.run_multiplier, problem.run_shift);
  return run - quotient(run, problem.cycle_multiplier, problem.cycle_shift) * problem.parameters;
}

// Of four elements from `element` on.
uvec4 parameters_of(uint element) {
  if (problem.is_periodic == 0u) {
    uvec4 parameters = uvec4(0u);
    [[dont_unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
      parameters = uvec4(parameters.yzw, irregular_parameter_of(element + lane));
    }
    return parameters;
  }
  const uvec4 run = quotient(element + uvec4(0u, 1u, 2u, 3u), problem.run_multiplier, problem.run_shift);
  return run - quotient(run, problem.cycle_multiplier, problem.cycle_shift) * problem.parameters;
}

uint offset_of(uint element) {
  uint offset = problem.first;
  const uint rank = problem.rank;
  for (uint d = 0u; d < rank; ++d) {
    offset += element % problem.sizes[d] * uint(problem.strides[d]);
    element /= problem.sizes[d];
  }
  return offset;
}

int zero_point_at(uint parameter) { return zero_point_of(zero_point_data, problem.zero_points, parameter); }

// Of four elements from a multiple of four on: of one block as a rule, and made once then.
Block block_of_word(uint element) {
  if (problem.parameters == 1u || (problem.run & 3u) == 0u) {
    const uint parameter = parameter_of(element);
    return make_block(scale_data[parameter], zero_point_at(parameter));
  }
  const uvec4 at = parameters_of(element);
  const vec4 scales = vec4(scale_data[at.x], scale_data[at.y], scale_data[at.z], scale_data[at.w]);
  return make_block(scales, ivec4(zero_point_at(at.x), zero_point_at(at.y), zero_point_at(at.z), zero_point_at(at.w)));
}

uint current_parameter = 0xffffffffu;
Block current_block;

// For elements that come one by one: looked up again only where the block changes.
void select_block_of(uint element) {
  const uint parameter = parameter_of(element);
  if (parameter == current_parameter) return;
  current_parameter = parameter;
  current_block = make_block(scale_data[parameter], zero_point_at(parameter));
}

// The 32-bit words that an invocation processes: `items` of them, problem.distance apart. All of them have the same
// scales and zero points, lane by lane, so these are looked up once.
//
//   one parameter for all     any distance
//   runs of 128 elements      8 words: the fourth is the run's last quarter
//   one a column              a row: the same columns further down
//
// The host computes the distance (runtime/engine/operators/affine/shape.h). Neighbouring invocations still process
// neighbouring words; every distance-th invocation continues after the words of the ones before it.
uint first_word_of(uint invocation) {
  const uint before = quotient(invocation, problem.distance_multiplier, problem.distance_shift) * problem.distance;
  return invocation + before * (${items} - 1u);
}
