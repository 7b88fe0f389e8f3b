// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// output = quantize(activation(input + other)), or of the product, in floating point: docs/q8ta.md defines each
// rounding. The scale of `other` already includes the factor alpha. Operands are broadcast along dimensions in which
// they have one element.
//
//   flat 0   an invocation makes a tile, each operand in its own layout
//   flat 1   one layout and one shape, and no padding to be made: an invocation makes 16 bytes, whatever the layout is
#version 450
${extensions()}
${local_size(workgroup)}
${declare_problem()}
$include "lib/q8ta.glsl"

// x * min(max(x + 3, 0), 6) / 6
vec4 hardswish(vec4 x) {
  precise const vec4 shifted = x + 3.0;
  precise const vec4 sixfold = x * clamp(shifted, 0.0, 6.0);
  precise const vec4 result = sixfold * (1.0 / 6.0);
  return result;
}

vec4 real_input(uint word) { return dequantized(word, problem.input_scale, problem.input_zero_point); }
vec4 real_other(uint word) { return dequantized(word, problem.other_scale, problem.other_zero_point); }

vec4 sum(uint input_word, uint other_word) {
  precise const vec4 x = real_input(input_word) + real_other(other_word);
  return x;
}

vec4 product(uint input_word, uint other_word) {
  precise const vec4 x = real_input(input_word) * real_other(other_word);
  return x;
}

uint quantized(vec4 x) {
  return quantized_between(x, problem.inverse_scale, problem.output_zero_point, problem.low, problem.high);
}

// The operation is selected once, for all sixteen bytes.
uvec4 combined_words(uvec4 a, uvec4 b) {
  uvec4 words;
  if (problem.is_hardswish != 0u) {
    for (uint i = 0u; i < 4u; ++i) {
      words[i] = quantized(hardswish(problem.is_product != 0u ? product(a[i], b[i]) : sum(a[i], b[i])));
    }
  } else if (problem.is_product != 0u) {
    for (uint i = 0u; i < 4u; ++i) words[i] = quantized(product(a[i], b[i]));
  } else {
    for (uint i = 0u; i < 4u; ++i) words[i] = quantized(sum(a[i], b[i]));
  }
  return words;
}

$if flat == 1
$include "lib/grid.glsl"
${declare_words(input, 4)}
${declare_words(other, 4)}
${declare_words(output, 4)}

void main() {
  const uint i = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (i < problem.flat_blocks) output_words[i] = combined_words(input_words[i], other_words[i]);
}
$else
${declare_blocks(input, across(input_layout, output_layout))}
${declare_blocks(other, across(other_layout, output_layout))}
${declare_blocks(output, across(output_layout, input_layout))}
$include "lib/packed_tile.glsl" store

// Batches of both operands, of a batch of the output that is more than one dimension.
uvec2 batches_of(uint batch) {
  uvec2 batches = uvec2(0u);
  const uint rank = problem.batch_rank;
  for (uint d = 0u; d < rank; ++d) {
    const uint coordinate = batch % problem.batch_sides[d];
    batches += coordinate * uvec2(problem.input_batch_strides[d], problem.other_batch_strides[d]);
    batch /= problem.batch_sides[d];
  }
  return batches;
}

uvec4 last_of(uint sides[4]) { return uvec4(sides[0], sides[1], sides[2], sides[3]) - 1u; }

// If there is one row or one lane, it stands for all.
uvec4 repeated(uvec4 rows, uint sides[4]) {
  if (sides[kRows] == 1u) rows = rows.xxxx;
  if (sides[kLanes] == 1u) rows = (rows & 0xffu) * 0x01010101u;
  return rows;
}

uvec4 combined_layer(uvec4 at) {
  uvec4 input_at = at;
  uvec4 other_at = at;
  if (problem.batch_rank > 1u) {
    const uvec2 batches = batches_of(at.w);
    input_at.w = batches.x;
    other_at.w = batches.y;
  }
  const uvec4 a = input_rows(min(input_at, last_of(problem.input_sides)));
  const uvec4 b = other_rows(min(other_at, last_of(problem.other_sides)));
  return combined_words(repeated(a, problem.input_sides), repeated(b, problem.other_sides));
}

void main() {
  const uvec4 at = tile_of_invocation();
  if (is_outside(at)) return;
$if third(output_layout, input_layout) == 3
  store_tile(at, combined_layer(at), problem.padding);
$else
$for layer in range(4)
  const uvec4 layer_${layer} = combined_layer(moved_inside(at, kLayers, ${layer}u));
$end
  store_tile(at, layer_0, layer_1, layer_2, layer_3, problem.padding);
$end
}
$end
