// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Quantizes the pixels of a workgroup to packed_4c. All have one scale, and values are divided by it (docs/affine.md
// has the formula). For each pixel, the file also adds up the differences of its integers and the zero point. Four
// neighbouring invocations share a pixel: each takes every fourth word of four channels. Padding channels are the zero
// point. The template defines two functions before it includes this file. four_at(pixel, channel) returns four
// channels, with 0 after the last channel. store_word() stores a word.
$include "lib/grid.glsl"
$include "lib/words.glsl"
$include "lib/quantizer.glsl" quotient
$needs vec4 four_at(uint pixel, uint channel)
$needs void store_word(uint index, uint word)
$gives void quantize_pixels(uint pixels, uint channels, float scale, int zero_point)

const uint kTeam = 4u;
shared ivec4 team_sums[${workgroup} / kTeam];

void quantize_pixels(uint pixels, uint channels, float scale, int zero_point) {
  const uint member = gl_LocalInvocationIndex % kTeam, team = gl_LocalInvocationIndex / kTeam;
  const uint pixel = workgroup_index() * (${workgroup} / kTeam) + team;
  const uint words = (channels + 3u) / 4u;
  const Block block = make_block(scale, zero_point);
  ivec4 sums = ivec4(0);
  if (pixel < pixels) {
    for (uint word = member; word < words; word += kTeam) {
      const ivec4 q = quantize(four_at(pixel, 4u * word), block);
      store_word(pixel * words + word, pack_i8(q));
      sums += q - zero_point;
    }
  }
  team_sums[team][member] = sums.x + sums.y + sums.z + sums.w;
  barrier();
  if (member != 0u || pixel >= pixels) return;
  const ivec4 all = team_sums[team];
  channel_sums_data[pixel] = all.x + all.y + all.z + all.w;
}
