// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Reads pixels of the int8 image `input`, four channels at a time. Pixels outside of it have the value
// zero_point_word(). Of any image `input`, the part `bounds` says which pixels are inside.
$gives uint zero_point_word()
$gives uint any_channels(uint image, ivec2 at, uint channel)
$gives uint four_channels(uint image, ivec2 at, uint channel)

${declare_packed(input)}
$include "lib/words.glsl"
$include "lib/conv_input.glsl" bounds

// The zero point, in four bytes.
uint zero_point_word() { return uint(problem.input_zero_point & 0xff) * 0x01010101u; }

// Four channels, which begin anywhere: bytes past the image's last channel are undefined.
uint any_channels(uint image, ivec2 at, uint channel) {
  uint word = zero_point_word();
  if (is_inside(at)) {
    word = 0u;
    for (uint lane = 0u; lane < 4u; ++lane) {
      word |= input_element(uvec4(at, min(channel + lane, problem.input_sides[2] - 1u), image)) << (8u * lane);
    }
  }
  return word;
}

// Of a multiple of four.
uint four_channels(uint image, ivec2 at, uint channel) {
$if packed(input_layout) == 2
  // A load that always happens waits for no branch.
  const bool is_read = is_inside(at);
  return mix(zero_point_word(), input_load(is_read ? uvec4(at, channel, image) : uvec4(0u)), is_read);
$else
  return any_channels(image, at, channel);
$end
}

$part bounds
$gives bool is_inside(ivec2 at)

bool is_inside(ivec2 at) { return uint(at.x) < problem.input_sides[0] && uint(at.y) < problem.input_sides[1]; }
