// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An int8 convolution without tiles: an invocation loops over the window of one output pixel, for four channels. It
// needs no device feature, supports any groups, and is the baseline of the other kernels. If output_dtype is i32, it
// stores the sums of products, for conv_dynamic_finish.comp.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(weight_sums)}
${declare(weight_scales)}
${declare(bias)}
${declare_problem()}
${declare_words(weight, 4)}
$include "lib/grid.glsl"
$include "lib/conv_input.glsl"

$if output_dtype == i32
${declare(output, 4)}
$include "lib/conv_store.glsl" place

uint ceil_div4(uint x) { return (x + 3u) / 4u; }
uint last_column() { return problem.output_sides[2] - 1u; }
$else
int weight_sum(uint n) {
  const uint sums = problem.channels == 0u ? 0u : problem.tap_sums;  // of no channels there are none
  int sum = 0;
  for (uint tap = 0u; tap < sums; ++tap) sum += weight_sums_data[n * problem.tap_sums + tap];
  return sum;
}
$include "lib/conv_store.glsl"
$end

int dot4(uint a, uint b) {
  const ivec4 products = unpack_i8(a) * unpack_i8(b);
  return products.x + products.y + products.z + products.w;
}

// Where a tap reads; somewhere outside of the image if it reads nothing.
ivec2 read_at(uvec2 place, uvec2 tap) {
  const ivec2 padding = ivec2(problem.padding[0], problem.padding[1]);
  const ivec2 stride = ivec2(problem.stride[0], problem.stride[1]);
  const ivec2 reach = ivec2(tap) * ivec2(problem.dilation[0], problem.dilation[1]);
  const ivec2 spread = ivec2(place) + padding - reach;  // among the input's pixels, put a stride apart
  const ivec2 at = max(spread, 0) / stride;
  return !${transposed} ? ivec2(place) * stride - padding + reach : at * stride == spread ? at : ivec2(-1);
}

// The sums of a tap's products, for four channels of the output.
ivec4 tap_sums(uint image, ivec2 at, uint tap, uint block) {
  const uint words = ceil_div4(problem.channels);
  const uint blocks = ceil_div4(problem.output_sides[2]);
  const uint group = 4u * block / problem.n;
  const bool is_one_group = min(4u * block + 3u, last_column()) / problem.n == group;
  const bool are_words = is_one_group && group * problem.channels % 4u == 0u;
  ivec4 sums = ivec4(0);
  for (uint word = 0u; word < words; ++word) {
    const uvec4 w = weight_words[(tap * words + word) * blocks + block];
    if (are_words) {
      const uint x = four_channels(image, at, group * problem.channels + 4u * word);
      sums += ivec4(dot4(x, w.x), dot4(x, w.y), dot4(x, w.z), dot4(x, w.w));
    } else {
      for (uint lane = 0u; lane < 4u; ++lane) {
        const uint first = (4u * block + lane) / problem.n * problem.channels;
        sums[lane] += dot4(any_channels(image, at, first + 4u * word), w[lane]);
      }
    }
  }
  return sums;
}

void main() {
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  const uint block = index % ceil_div4(problem.output_sides[2]);
  const uint pixel = index / ceil_div4(problem.output_sides[2]);
  if (pixel >= problem.pixels) return;
  const uvec4 place = place_of(pixel, 4u * block);
  ivec4 sums = ivec4(0);
  const uint taps = problem.channels == 0u ? 0u : problem.taps[0] * problem.taps[1];  // of no channels: any number
  for (uint tap = 0u; tap < taps; ++tap) {
    const uvec2 at = uvec2(tap % problem.taps[0], tap / problem.taps[0]);
    sums += tap_sums(place.w, read_at(place.xy, at), tap, block);
  }
$if output_dtype == i32
  output_data[index] = sums;
$else
  store_pixel(place, sums, columns_at(4u * block));
$end
}
