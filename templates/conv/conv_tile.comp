// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An int8 convolution in tiles of dot products: an implicit im2col product with the weight. lib/conv_rows.glsl finds
// the rows of the im2col matrix; lib/int8_dot_product.glsl computes a tile.
//
//   staging  shared: rows and weight of a step are in shared memory; direct: invocations read them, for CPUs
//   dot      packed: integer dot products of the device; scalar: multiplications
#version 450
${extensions()}
#extension GL_EXT_control_flow_attributes : require
$if dot == packed
#extension GL_EXT_integer_dot_product : require
$end
${local_size(group.workgroup)}
${declare(weight_sums)}
${declare(weight_scales)}
${declare(bias)}
$if output_dtype == i32
${declare(output, 4)}
$end
${declare_problem()}
${declare_words(weight, 4)}
$include "lib/grid.glsl"
$include "lib/tile_order.glsl"
$include "lib/conv_part.glsl"
$include "lib/conv_part.glsl" weight_sum
$include "lib/conv_store.glsl" tile

const uint kRows = ${group.m} * ${tile.m}u;
const uint kBlocks = ${group.n} * ${tile.n / 4}u;  // of four columns
$if staging == direct
// ---- an invocation reads its rows from the image, which is in packed_4c ---------------------------------------------
//
// The words of a tap follow each other. For each tap an invocation finds the address of each row's first word, and
// whether the tap is inside the image. A loop over words reads no field of the problem and has no branch around a load:
// on llvmpipe both take as long as several products.
//
//   begin_rows(row, word)     before the first word of k: the workgroup's first row
//   load_input(i)             the current word of this invocation's i-th row
//   load_weight(block, word)  that word of four columns; of the last ones, if there is no such block
//   next_step()               goes on to the next word of k
$include "lib/conv_input.glsl"

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
$else
// ---- rows of a step in shared memory --------------------------------------------------------------------------------

const uint kInvocations = ${group.workgroup};
const uint kUnitWords = 1u;
const uint kUnits = ${step / 4}u;
const uint kFetches = (kRows * kUnits + kInvocations - 1u) / kInvocations;
// The positions of the tile's rows, which kernels with lib/matrix_tile.glsl keep in that tile until the first step.
shared ivec4 tile_rows[kRows];
void put_row(uint row, ivec4 place) { tile_rows[row] = place; }
ivec4 row_at(uint row) { return tile_rows[row]; }

$include "lib/conv_rows.glsl" words
$include "lib/conv_rows.glsl" weight
$include "lib/dot4.glsl"

// Rows past the part's last repeat it; their results are not stored.
uint load_input(uint i, uint row, uint word, uint end) { return row_unit(i, word < end).x; }

uvec4 load_weight(uint block, uint word, uint end) {
  if (4u * block >= columns_end() || word >= end) return uvec4(0u);
  return weight_words[weight_unit(word) * ceil_div4(problem.output_sides[2]) + block];
}
$end

// ---- the tile -------------------------------------------------------------------------------------------------------

$include "lib/int8_dot_product.glsl"

void main() {
  const uvec2 tiles = uvec2((problem.m + kRows - 1u) / kRows, (ceil_div4(problem.n) + kBlocks - 1u) / kBlocks);
$if output_dtype == i32
  const uint slices = problem.slices;
$else
  const uint slices = 1u;
$end
  const uint index = workgroup_index() % (tiles.x * tiles.y * slices);
  const uint product = workgroup_index() / (tiles.x * tiles.y * slices);
  if (product >= products()) return;
  begin_part(product);
  const uint slice = index / (tiles.x * tiles.y);
  const uvec2 corner = tile_of(index % (tiles.x * tiles.y), tiles) * uvec2(kRows, kBlocks);
  if (corner.x >= part.rows) return;  // of a phase that is smaller than the largest
  const uvec2 tile = corner + uvec2(0u, part.group * problem.n / 4u);
$if output_dtype == i32
  const uint begin = slice * (problem.slice_k / 4u);
  const uint end = min(begin + problem.slice_k / 4u, units_of_a_row());
  const uint first_row = first_row_of_sums(slice);
$else
  const uint begin = 0u;
  const uint end = units_of_a_row();
  const uint first_row = 0u;
$end
  begin_rows(tile.x, begin);
  make_tile(tile, begin, end, first_row);
}
