// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Operands of a forward convolution's tile, for CPUs: an invocation reads the words of its rows from the image, without
// shared memory. The image is in packed_4c, so the words of a tap follow each other. For each tap an invocation finds the
// address of each row's first word, and whether the tap is inside the image. A loop over words reads no field of the
// problem and has no branch around a load: on llvmpipe both take as long as several products.
//
//   begin_rows(row, word)     before the first word of k: the workgroup's first row
//   load_input(i)             the current word of this invocation's i-th row
//   load_weight(block, word)  that word of four columns; of the last ones, if there is no such block
//   next_step()               goes on to the next word of k
$include "lib/conv_part.glsl"
$include "lib/conv_input.glsl"
$gives uint units_of_a_row()
$gives void begin_rows(uint first, uint word)
$gives uint load_input(uint i, uint row, uint word, uint end)
$gives uvec4 load_weight(uint block, uint word, uint end)
$gives void next_step()

ivec2 origins[${tile.m}];   // where a row reads the first tap
uint addresses[${tile.m}];  // of its first word there: modulo 2^32, since it may be outside the image
bool is_read[${tile.m}];    // in the current tap
uint words_at[${tile.m}];   // where the tap's words begin
uvec2 tap;
uint word_of_tap;
uint tap_words;      // of a tap
uint outside;        // the word of a tap outside the image
uint weight_blocks;  // of four columns

uint units_of_a_row() { return part.taps.x * part.taps.y * ((problem.channels + 3u) / 4u); }

void begin_tap() {
  const ivec2 reach = reach_of(tap);
  const uint offset = input_word(uvec4(uvec2(reach), 0u, 0u));
  [[unroll]] for (uint i = 0u; i < ${tile.m}u; ++i) {
    is_read[i] = is_inside(origins[i] + reach);
    words_at[i] = is_read[i] ? addresses[i] + offset : 0u;
  }
}

// Rows past the part's last repeat it; their results are not stored.
void begin_rows(uint first, uint word) {
  [[unroll]] for (uint i = 0u; i < ${tile.m}u; ++i) {
    const uint row = first + gl_LocalInvocationIndex / ${group.n} + i * ${group.m};
    const uvec3 pixel = pixel_of(min(row, part.rows - 1u));
    origins[i] = input_origin(pixel.xy);
    addresses[i] = input_word(uvec4(uvec2(origins[i]), part.group * problem.channels, pixel.z));
  }
  tap_words = max(1u, (problem.channels + 3u) / 4u);
  outside = zero_point_word();
  weight_blocks = (problem.output_sides[2] + 3u) / 4u;
  const uint at = word / tap_words;
  tap = uvec2(at % part.taps.x, at / part.taps.x);
  word_of_tap = word % tap_words;
  begin_tap();
}

uint load_input(uint i, uint row, uint word, uint end) {
  const uint loaded = input_data[words_at[i] + word_of_tap];
  return is_read[i] ? loaded : outside;
}

// Sums of columns past the part's last are not stored.
uvec4 load_weight(uint block, uint word, uint end) {
  return weight_words[word * weight_blocks + min(block, weight_blocks - 1u)];
}

void next_step() {
  ++word_of_tap;
  if (word_of_tap < tap_words) return;
  word_of_tap = 0u;
  ++tap.x;
  if (tap.x == part.taps.x) tap = uvec2(0u, tap.y + 1u);
  begin_tap();
}
