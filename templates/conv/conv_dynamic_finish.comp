// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The epilogue of an int8 convolution whose input was quantized on the device: scale and zero point are tensors. The
// kernels before it added q * w over the taps inside of the image. With zero points z of the input and v of the weight
//
//   sum of (q - z) * (w - v)  =  sum of q * w  -  z * sum of w  -  v * sum of (q - z)
//
// over these taps. All of it is computed in int32 and is exact. weight_sums has the sum of w for each tap, channel_sums
// the sum of q - z for each pixel. An invocation computes four channels of kPixels output pixels.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(sums, 4)}
${declare(weight_sums)}
${declare(weight_scales)}
${declare(weight_zero_points)}
${declare(bias)}
${declare(scale)}
${declare(zero_point)}
${declare(channel_sums)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/linear_outputs.glsl" activate
$include "lib/conv_store.glsl" place
$include "lib/float32.glsl"
$include "lib/float32.glsl" rounding_shift
$include "lib/real_elements.glsl" store
$include "lib/dynamic_outputs.glsl" columns

const uint kPixels = 4u;

// What the sums lack, except z * sum of w over all taps, which is the correction.
ivec4 missing(uvec4 place, ivec4 weight_zero_points) {
  const ivec2 sides = ivec2(problem.input_sides[0], problem.input_sides[1]);
  const ivec2 dilation = ivec2(problem.dilation[0], problem.dilation[1]);
  const ivec2 taps = ivec2(problem.taps[0], problem.taps[1]);
  const ivec2 first = ivec2(place.xy) * ivec2(problem.stride[0], problem.stride[1]) -
                      ivec2(problem.padding[0], problem.padding[1]);
  const ivec2 last = first + (taps - 1) * dilation;
  const bool is_inside = all(greaterThanEqual(first, ivec2(0))) && all(lessThan(last, sides));
  if (problem.channels == 0u || is_inside && problem.has_weight_zero_points == 0u) return ivec4(0);
  const int image = int(place.w) * sides.y;
  int pixel_sum = 0;
  ivec4 outside = ivec4(0);
  for (int y = 0; y < taps.y; ++y) {
    for (int x = 0; x < taps.x; ++x) {
      const ivec2 at = first + ivec2(x, y) * dilation;
      if (all(greaterThanEqual(at, ivec2(0))) && all(lessThan(at, sides))) {
        if (problem.has_weight_zero_points != 0u) pixel_sum += channel_sums_data[(image + at.y) * sides.x + at.x];
      } else {
        const uint tap = uint(y * taps.x + x);
        for (uint lane = 0u; lane < 4u; ++lane) outside[lane] += tap_sum(min(place.z + lane, last_column()), tap);
      }
    }
  }
  return zero_point_data[0] * outside - weight_zero_points * pixel_sum;
}

$include "lib/dynamic_outputs.glsl"

void main() {
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  const uint groups = (problem.pixels + kPixels - 1u) / kPixels, blocks = (problem.output_sides[2] + 3u) / 4u;
  // Channels are planes in memory: neighbouring invocations compute pixels of one plane.
  const uint block = groups == 0u ? blocks : index / groups;
  if (block >= blocks) return;
  const Columns columns = columns_at(4u * block);
  for (uint i = 0u; i < kPixels; ++i) {
    const uint pixel = index % groups + i * groups;
    if (pixel >= problem.pixels) return;
    const uvec4 place = place_of(pixel, 4u * block);
    ivec4 sums = missing(place, columns.weight_zero_points);
    for (uint slice = 0u; slice < problem.slices; ++slice) {
      sums += sums_data[(slice * problem.m + pixel) * blocks + block];
    }
    store_outputs(place, sums, columns);
  }
}
