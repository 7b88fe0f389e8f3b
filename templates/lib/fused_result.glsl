// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Stores four floats as elements of the output: as they are, or as integers of a block.
$include "lib/quantizer.glsl"
$include "lib/words.glsl"
$include "lib/affine.glsl"
$needs quantize
$gives Block output_block(uint parameter)
$gives void store_quad(uint quad, vec4 y, Block block)

Block output_block(uint parameter) {
$if is_float(output_dtype)
  return make_block(1.0, 0);  // floating-point, independent of blocks
$else
  const int zero_point = zero_point_of(output_zero_point_data, problem.output_zero_points, parameter);
  return make_block(output_scale_data[parameter], zero_point);
$end
}

$if is_float(output_dtype)
vec4 elements(vec4 y, Block block) { return y; }
$else
ivec4 elements(vec4 y, Block block) { return quantize(y, block); }
$end

void store_quad(uint quad, vec4 y, Block block) { output_words[quad] = pack_${output_dtype}(elements(y, block)); }

// A quad whose lanes may belong to several blocks.
void store_quad(uint quad, vec4 y, uvec4 parameters) {
$if is_float(output_dtype)
  store_quad(quad, y, output_block(0u));
$else
  ivec4 of_block;
  ivec4 made;
  for (uint lane = 0u; lane < 4u; ++lane) {
    if (lane == 0u || parameters[lane] != parameters[lane - 1u]) of_block = elements(y, output_block(parameters[lane]));
    made[lane] = of_block[lane];
  }
  output_words[quad] = pack_${output_dtype}(made);
$end
}
