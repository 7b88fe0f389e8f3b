// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// output = operation(input), element by element; input and output may be floating-point, or integers with scales and
// zero points. docs/fused.md is the definition.
//
// An invocation makes four neighbouring outputs at a time, `items` times, a workgroup apart. Elements are read and
// written in quads, whole words of any dtype. Where neither operand has more than one parameter, they are looked up
// once; otherwise an element's coordinate, in up to eight dimensions, gives its parameters.
#version 450
#extension GL_EXT_control_flow_attributes : require
${local_size(workgroup)}
${declare_words(input, bytes(input_dtype))}
${declare(input_scale)}
${declare(input_zero_point)}
${declare_words(output, bytes(output_dtype))}
${declare(output_scale)}
${declare(output_zero_point)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/words.glsl"
$include "lib/quantizer.glsl"
$include "lib/float32.glsl"
$include "lib/exponential.glsl"

// The operation on floats that problem.operation selects: docs/fused.md is the definition. Each step is rounded once,
// and a subnormal result counts as zero.
//
// Hardswish's product is never near 2^-126: for small x it is three times x, and the other factor is 0 or at least an
// ulp of 3.
float relu(float x) { return is_nan(x) || x > 0.0 ? x : 0.0; }

float hardswish(float x) {
  precise const float shifted = x + 3.0;
  precise const float product = x * (is_nan(shifted) ? shifted : clamp(shifted, 0.0, 6.0));
  return divide_by_six(product);
}

float sigmoid(float x) {
  precise const float sum = 1.0 + exponential(clamp(-x, -87.0, 88.0));
  return is_nan(x) ? x : reciprocal(sum);
}

float clip(float x) { return is_nan(x) ? x : x < problem.low ? problem.low : x > problem.high ? problem.high : x; }

float operate(float x) {
  return problem.operation == kFusedOperationRelu        ? relu(x)
         : problem.operation == kFusedOperationHardswish ? hardswish(x)
         : problem.operation == kFusedOperationSigmoid   ? sigmoid(x)
         : problem.operation == kFusedOperationClip      ? clip(x)
                                                         : x;
}

vec4 operate(vec4 x) { return vec4(operate(x.x), operate(x.y), operate(x.z), operate(x.w)); }

$include "lib/fused_elements.glsl" source
$include "lib/fused_elements.glsl" result

$include "lib/affine.glsl"

Source input_source(uint parameter) {
$if is_float(input_dtype)
  return real_source();
$else
  const int zero_point = zero_point_of(input_zero_point_data, problem.input_zero_points, parameter);
  return integer_source(input_scale_data[parameter], zero_point);
$end
}

// The parameters of input and output.
uvec2 parameters_of(uint element) {
  uvec2 parameters = uvec2(0u);
  const uint rank = problem.rank;
  for (uint d = 0u; d < rank; ++d) {
    const uint c = element % problem.sizes[d];
    element /= problem.sizes[d];
    parameters += uvec2(c / problem.input_blocks[d] * problem.input_parameter_strides[d],
                        c / problem.output_blocks[d] * problem.output_parameter_strides[d]);
  }
  return parameters;
}

// Lanes mostly share a block, so the values of the previous lane are reused.
void make_quad(uint quad) {
  uint input_parameter;
  vec4 inputs;
  vec4 made;
  uvec4 parameters;
  for (uint lane = 0u; lane < 4u; ++lane) {
    const uvec2 of_lane = parameters_of(min(4u * quad + lane, problem.numel - 1u));
    if (lane == 0u || of_lane.x != input_parameter) {
      inputs = operate(reals(unpack_${input_dtype}(input_words[quad]), input_source(of_lane.x)));
    }
    made[lane] = inputs[lane];
    input_parameter = of_lane.x;
    parameters[lane] = of_lane.y;
  }
  store_quad(quad, made, parameters);
}


// Of operands with one parameter each. Inputs of bytes are all loaded first, the first again where `end` comes
// early.
void make_simple_quads(uint first, uint end, Source source, Block block) {
$if bytes(input_dtype) == 1 and bytes(output_dtype) == 1
  if (is_tame(source) && block.is_short) {
    uint inputs[${items}];
    [[unroll]] for (uint i = 0u; i < ${items}; ++i) {
      const uint quad = first + i * ${workgroup};
      inputs[i] = input_words[quad < end ? quad : first];
    }
    [[unroll]] for (uint i = 0u; i < ${items}; ++i) {
      const uint quad = first + i * ${workgroup};
      const vec4 x = reals_the_short_way(unpack_${input_dtype}(inputs[i]), source);
      if (quad < end) output_words[quad] = pack_${output_dtype}(rounded(scaled(operate(x), block), block));
    }
    return;
  }
$end
  for (uint quad = first; quad < end; quad += ${workgroup}) {
    store_quad(quad, operate(reals(unpack_${input_dtype}(input_words[quad]), source)), block);
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
  make_simple_quads(first, end, input_source(0u), output_block(0u));
}
