// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The range of up to four tensors of floats together (lib/qparams.glsl), in parts. Workgroup i strides over each
// tensor, and writes the range of its elements to ranges[2 * i] and ranges[2 * i + 1]. A tensor that is left out has no
// channels.
#version 450
${local_size(workgroup)}
${declare(input_1)}
${declare(input_2)}
${declare(input_3)}
${declare(input_4)}
${declare(ranges)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/qparams.glsl" extremes
$include "lib/team_max.glsl"

const int kSignMask = -0x7fffffff - 1;

void main() {
  const uint slice = workgroup_index();
  if (slice >= problem.range_slices) return;
  const uint first = slice * ${workgroup} + gl_LocalInvocationIndex;
  const uint apart = problem.range_slices * ${workgroup};
  ivec4 positive = ivec4(0), negative = ivec4(0);
$for i in range(4)
  const uint end_${i} = problem.source_channels[${i}] * problem.input_pixels;
  uint at_${i} = first;
  for (; at_${i} + 3u * apart < end_${i}; at_${i} += 4u * apart) {  // four loads are in flight at once
    const ivec4 bits =
        floatBitsToInt(vec4(input_${i + 1}_data[at_${i}], input_${i + 1}_data[at_${i} + apart],
                            input_${i + 1}_data[at_${i} + 2u * apart], input_${i + 1}_data[at_${i} + 3u * apart]));
    positive = max(positive, bits);
    negative = max(negative, bits ^ kSignMask);
  }
  for (; at_${i} < end_${i}; at_${i} += apart) {
    const int bits = floatBitsToInt(input_${i + 1}_data[at_${i}]);
    positive.x = max(positive.x, bits);
    negative.x = max(negative.x, bits ^ kSignMask);
  }
$end
  const ivec2 extremes = team_max(joined(positive, negative), ${workgroup}, gl_LocalInvocationIndex);
  if (gl_LocalInvocationIndex == 0u) {
    ranges_data[2u * slice] = extremes.x;
    ranges_data[2u * slice + 1u] = extremes.y;
  }
}
