// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A floating-point convolution by tiles: an implicit im2col product of the weight and the image. lib/conv_part.glsl
// says which products there are. A row of a product is an output channel, a column is a pixel. A term is an input
// channel under a tap, tap by tap. Sixteen terms at a time, a workgroup stages both matrices in shared memory as f32.
// Meanwhile it fetches the next terms into registers.
//
//   stage   whole: the tile's sum is finished and stored
//           slice: k is cut into slices, and a workgroup stores the sum over one where its output lies, output[slice,
//                  b, o, y, x], which conv_planes_finish.comp finishes
$require side % 4 == 0
#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
${local_size(256)}
${declare(input)}
$if stage == whole
${declare(bias)}
$end
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/real_elements.glsl" load
$include "lib/real_elements.glsl" store
$if stage == whole
$include "lib/linear_finish.glsl"
$end
$include "lib/conv_input.glsl" bounds
$include "lib/conv_part.glsl"
$include "lib/square_tile.glsl"
$include "lib/staged_product.glsl"
$include "lib/tile_order.glsl"

$if weights.dtype == i8
${declare_words(weight)}
${declare(weight_scales)}

// A tap fills whole loads.
float load_weight(uint first, uint tap, uint channel) {
  const uint at = first + tap * ((problem.channels + 15u) / 16u * 16u) + channel;
  return float(bitfieldExtract(int(weight_words[at / 4u]), int(at % 4u * 8u), 8));
}
float scale_of(uint o) { return weight_scales_data[o]; }
$else
$if weights.dtype == f16
${declare_bits(weight)}
float weight_at(uint index) { return f16_to_f32(uint(weight_bits[index])); }
$else
${declare(weight)}
float weight_at(uint index) { return weight_data[index]; }
$end
float load_weight(uint first, uint tap, uint channel) {
  return weight_at(first + tap + channel * problem.weight_channel);
}
float scale_of(uint o) { return 1.0; }
$end

// ---- terms ----------------------------------------------------------------------------------------------------------

struct Term {
  uvec2 tap;  // counted from the part's first
  uint channel;
};
Term row_next, column_next;  // that this invocation fetches next, on either side

uint terms() { return part.taps.x * part.taps.y * problem.channels; }

Term term_at(uint index) {
  const uint tap = index / problem.channels;
  return Term(uvec2(tap % part.taps.x, tap / part.taps.x), index % problem.channels);
}

Term advanced(Term term, uint count) {
  term.channel += count;
  while (term.channel >= problem.channels) {
    term.channel -= problem.channels;
    ++term.tap.x;
    if (term.tap.x == part.taps.x) term.tap = uvec2(0u, term.tap.y + 1u);
  }
  return term;
}

// ---- what is staged -------------------------------------------------------------------------------------------------

// An invocation fetches neighbouring terms of one pixel, and neighbours of neighbours.
const uint kOwnPixel = kTile - 1u;  // mask
uint own_term() { return gl_LocalInvocationIndex / kTile * kInputs; }
ivec2 origin;      // where that pixel reads the first tap
uint first_plane;  // of its image and group
float next_columns[kInputs];

void begin_columns(uint first_pixel) {
  const uvec3 pixel = pixel_of(min(first_pixel + (gl_LocalInvocationIndex & kOwnPixel), part.rows - 1u));
  origin = input_origin(pixel.xy);
  first_plane = pixel.z * problem.input_strides[3] + part.group * problem.channels * problem.input_strides[2];
}

void fetch_columns(uint k, uint end) {
  [[unroll]] for (uint i = 0u; i < kInputs; ++i) {
    const ivec2 at = origin + reach_of(column_next.tap);
    const uint index = first_plane + column_next.channel * problem.input_strides[2] +
                       uint(at.y) * problem.input_strides[1] + uint(at.x);
    next_columns[i] = k + own_term() + i < end && is_inside(at) ? load_real(index) : 0.0;
    column_next = advanced(column_next, 1u);
  }
  column_next = advanced(column_next, kStep - kInputs);
}

// Channels past the group's last repeat it; their results are not stored.
void fetch_rows(uint first_n, uint k, uint end) {
  const uvec2 at = part.first + row_next.tap * uvec2(problem.tap_step[0], problem.tap_step[1]);
  [[unroll]] for (uint i = 0u; i < kInputs; ++i) {
    const uint n = min(first_n + staged_row(i), problem.n - 1u);
    const uint first = part.group * problem.weight_group + n * problem.weight_output;
    next_rows[i] = k + row_term(i) < end ? load_weight(first, at.y * problem.taps[0] + at.x, row_next.channel) : 0.0;
  }
  row_next = advanced(row_next, kStep);
}

void stage_columns() {
  [[unroll]] for (uint i = 0u; i < kInputs; ++i) {
    const uint at = (own_term() + i) * kStride + (gl_LocalInvocationIndex & kOwnPixel);
    staged_columns[at / 4u][at % 4u] = next_columns[i];
  }
}

// ---- outputs --------------------------------------------------------------------------------------------------------

void store_sums(uint first_n, uint first_pixel, uint slice) {
  [[unroll]] for (uint j = 0u; j < ${side}; ++j) {
    const uint column = column_at(first_pixel, j);
    if (column >= part.rows) continue;
    const uvec3 pixel = pixel_of(column);
    const uvec2 place = output_place(pixel.xy);
    const uint first = (slice * problem.output_sides[3] + pixel.z) * problem.output_strides[3] +
                       place.y * problem.output_strides[1] + place.x;
    [[unroll]] for (uint i = 0u; i < ${side}; ++i) {
      const uint n = row_at(first_n, i);
      if (n >= problem.n) continue;
      const uint o = part.group * problem.n + n;
      const float sum = scale_of(o) * sums[i][j / 4u][j % 4u];
$if stage == whole
      store_real(first + o * problem.output_strides[2], finished(sum, o));
$else
      store_real(first + o * problem.output_strides[2], sum);
$end
    }
  }
}

void main() {
  const uvec2 tiles = (uvec2(problem.n, problem.m) + kTile - 1u) / kTile;
  const uint product = workgroup_index() / (tiles.x * tiles.y);  // of all slices and parts
  if (product >= problem.slices * problem.products) return;
  begin_part(product % problem.products);
  const uint slice = product / problem.products;
  const uvec2 tile = tile_of(workgroup_index() % (tiles.x * tiles.y), tiles) * kTile;
  if (tile.y >= part.rows) return;  // of a phase that is smaller than the largest
  const uint begin = min(slice * problem.slice_k, terms());
  const uint end = min(begin + problem.slice_k, terms());

  clear_sums();
  if (begin < end) {
    begin_columns(tile.y);
    column_next = term_at(begin + own_term());
    row_next = term_at(begin + row_term(0u));
    fetch_columns(begin, end);
    fetch_rows(tile.x, begin, end);
  }
  for (uint k = begin; k < end; k += kStep) {
    barrier();
    stage_columns();
    stage_rows();
    barrier();
    if (k + kStep < end) {
      fetch_columns(k + kStep, end);
      fetch_rows(tile.x, k + kStep, end);
    }
    multiply_staged();
  }
  store_sums(tile.x, tile.y, slice);
}
