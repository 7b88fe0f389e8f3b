// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sum of fused/bmm_plain.comp on int8 cooperative matrices.
//
// A workgroup computes a tile of outputs, with the loop over k of lib/matrix_tile.glsl. The rows of `other` run along
// n. So squares of 4 x 4 bytes are transposed on their way into shared memory, where both operands run along k.
// Elements past the ends count as zero.
//
// Zero points are corrected afterwards, as in lib/bmm_matrices.glsl. The sums of rows and columns that this needs come
// from the invocations' notes. An int32 holds the corrected sum if both zero points are in int8's range and k is at
// most 33,025 (255 * 255 * k < 2^31): 32-bit arithmetic is exact then, since it is so modulo 2^32. Else the tile is
// finished in 64 bits.
#version 450
${extensions()}
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_integer_dot_product : require
${local_size(subgroups.workgroup)}
${declare(input_scale)}
${declare(input_zero_point)}
${declare(other_scale)}
${declare(other_zero_point)}
${declare(output_scale)}
${declare(output_zero_point)}
${declare_problem()}
${declare_words(input, 4)}
${declare_words(other)}
$include "lib/words.glsl"
$include "lib/affine.glsl"
$include "lib/bmm_matrices.glsl" wide
$include "lib/bmm_matrices.glsl" bytes
$include "lib/bmm_matrices.glsl"
$include "lib/bmm_matrices.glsl" finish
$include "lib/packed_tile.glsl" transposed

// A vector is sixteen bytes along k.
const uint kVectors = ${step} / 16u;
const bool kAcrossRows = false;
$include "lib/matrix_tile.glsl"
const uint kSpan = ${step};
$include "lib/int8_matrix_product.glsl" matrices

const uint kOnes = 0x01010101u;
int sum_of(uint word) { return dotPacked4x8EXT(int(word), int(kOnes)); }
int sum_of(uvec4 words) { return sum_of(words.x) + sum_of(words.y) + sum_of(words.z) + sum_of(words.w); }

uint batch;
uvec2 tile;  // its first row and column
const bool kIsAligned = ${aligned} == 1;  // rows of both are whole: vectors along k, words along n
Matrices at;

// ---- operands -------------------------------------------------------------------------------------------------------

// There are no branches, so that many loads are in flight: elements outside are loaded from another address, and then
// cleared. Rows and columns past the last are not stored.
uvec4 whole_vector(uint row, uint k) {
  const uint first = at.input_first + min(row, problem.m - 1u) * problem.k + min(k, problem.k - 16u);
  const uvec4 words = input_words[first / 16u] ^ problem.input_flip * kOnes;
  return mix(uvec4(0u), words, bvec4(k < problem.k));
}

// Four columns of row k, of rows in whole words.
uint whole_word(uint k, uint column) {
  const uint first = at.other_first + min(k, problem.k - 1u) * problem.n + min(column, problem.n - 4u);
  return mix(0u, other_words[first / 4u] ^ problem.other_flip * kOnes, k < problem.k);
}

uvec4 input_vector(uint row, uint k) {
  if (kIsAligned) return whole_vector(row, k);
  uvec4 words;
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    ivec4 bytes = ivec4(0);
    [[unroll]] for (uint j = 0u; j < 4u; ++j) {
      const uint element = k + 4u * i + j;
      if (row < problem.m && element < problem.k) bytes[j] = input_integer(at.input_first + row * problem.k + element);
    }
    words[i] = pack_i8(bytes);
  }
  return words;
}

uint other_word(uint k, uint column) {
  if (kIsAligned) return whole_word(k, column);
  ivec4 bytes = ivec4(0);
  [[unroll]] for (uint j = 0u; j < 4u; ++j) {
    if (k < problem.k && column + j < problem.n) bytes[j] = other_integer(at.other_first + k * problem.n + column + j);
  }
  return pack_i8(bytes);
}

// A block of `other` is a vector of four columns: neighbouring invocations fetch neighbouring columns.
const uint kBlocks = kColumns / 4u * kVectors;
const uint kBlockFetches = (kBlocks + kInvocations - 1u) / kInvocations;
uint next_other[kBlockFetches][16];  // a word of each row

uint block_of(uint i) { return gl_LocalInvocationIndex + i * kInvocations; }
bool is_block(uint block) { return kBlockFetches * kInvocations == kBlocks || block < kBlocks; }
uint block_column(uint block) { return 4u * (block % (kColumns / 4u)); }
uint block_vector(uint block) { return block / (kColumns / 4u); }

void fetch(uint k) {
  [[unroll]] for (uint i = 0u; i < kInputFetches; ++i) {
    const uvec2 place = input_place(i);
    next_input[i] = input_vector(tile.x + place.x, k + 16u * place.y);
  }
  [[unroll]] for (uint i = 0u; i < kBlockFetches; ++i) {
    if (!is_block(block_of(i))) continue;
    const uint column = tile.y + block_column(block_of(i));
    const uint first = k + 16u * block_vector(block_of(i));
    [[unroll]] for (uint j = 0u; j < 16u; ++j) next_other[i][j] = other_word(first + j, column);
  }
}

// Zero points of one operand are multiplied by sums of the other. Operands without any, and signed, need none.
bool needs_row_sums() { return problem.other_zero_points + problem.other_flip != 0u; }
bool needs_column_sums() { return problem.input_zero_points + problem.input_flip != 0u; }

int sums_of_inputs[kInputFetches];  // of the rows that this invocation puts down
ivec4 sums_of_others[kBlockFetches];

void put_down_other() {
  [[unroll]] for (uint i = 0u; i < kBlockFetches; ++i) {
    if (!is_block(block_of(i))) continue;
    uvec4 columns[4];  // [four of k]: a word of each column
    [[unroll]] for (uint j = 0u; j < 4u; ++j) {
      columns[j] = transposed(uvec4(next_other[i][4u * j], next_other[i][4u * j + 1u], next_other[i][4u * j + 2u],
                                    next_other[i][4u * j + 3u]));
    }
    [[unroll]] for (uint c = 0u; c < 4u; ++c) {
      const uvec4 vector = uvec4(columns[0][c], columns[1][c], columns[2][c], columns[3][c]);
      if (needs_column_sums()) sums_of_others[i][c] += sum_of(vector);
      put_vector(kWeightTile + word_at(uvec2(block_column(block_of(i)) + c, block_vector(block_of(i)))), vector);
    }
  }
}

void put_down() {
  put_down_input();
  if (needs_row_sums()) {
    [[unroll]] for (uint i = 0u; i < kInputFetches; ++i) sums_of_inputs[i] += sum_of(next_input[i]);
  }
  put_down_other();
}

// ---- outputs --------------------------------------------------------------------------------------------------------

shared int row_sums[kRows];
shared int column_sums[kColumns];
// Of a row and of a column: its zero point, its scale's bits, and its share in the index of the output's parameter.
shared ivec3 row_values[kRows];
shared ivec3 column_values[kColumns];
shared uint wide_outputs;

void clear_sums() {
  for (uint i = gl_LocalInvocationIndex; i < kRows; i += kInvocations) row_sums[i] = 0;
  for (uint i = gl_LocalInvocationIndex; i < kColumns; i += kInvocations) column_sums[i] = 0;
  if (gl_LocalInvocationIndex == 0u) wide_outputs = uint(problem.k > 33025u);
  [[unroll]] for (uint i = 0u; i < kInputFetches; ++i) sums_of_inputs[i] = 0;
  [[unroll]] for (uint i = 0u; i < kBlockFetches; ++i) sums_of_others[i] = ivec4(0);
  [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
      sums[i][j] = coopmat<int, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator>(0);
    }
  }
}

void share_sums() {
  if (needs_row_sums()) {
    [[unroll]] for (uint i = 0u; i < kInputFetches; ++i) {
      const uint row = input_place(i).x;
      if (row < kRows) atomicAdd(row_sums[row], sums_of_inputs[i]);
    }
  }
  if (needs_column_sums()) {
    [[unroll]] for (uint i = 0u; i < kBlockFetches; ++i) {
      if (!is_block(block_of(i))) continue;
      const uint column = block_column(block_of(i));
      [[unroll]] for (uint c = 0u; c < 4u; ++c) atomicAdd(column_sums[column + c], sums_of_others[i][c]);
    }
  }
  barrier();
}

void note_zero_point(int zero_point) {
  if (clamp(zero_point, -128, 127) != zero_point) atomicOr(wide_outputs, 1u);
}

void put_row_values(uint row) {
  const uint m = min(tile.x + row, problem.m - 1u);
  const uint parameter = input_parameter_of(at, m);
  const int zero_point = zero_point_of(input_zero_point_data, problem.input_zero_points, parameter);
  const int z = saturating_subtract(zero_point, int(problem.input_flip));
  note_zero_point(z);
  row_values[row] = ivec3(z, floatBitsToInt(flush_subnormal(input_scale_data[parameter])),
                          int(at.output_parameter + m / problem.output_m_block * problem.output_m_step));
}

void put_column_values(uint column) {
  const uint n = min(tile.y + column, problem.n - 1u);
  const uint parameter = other_parameter_of(at, n);
  const int zero_point = zero_point_of(other_zero_point_data, problem.other_zero_points, parameter);
  const int w = saturating_subtract(zero_point, int(problem.other_flip));
  note_zero_point(w);
  column_values[column] = ivec3(w, floatBitsToInt(flush_subnormal(other_scale_data[parameter])),
                                int(n / problem.output_n_block * problem.output_n_step));
}

// Before the first step: memory is waited for once.
void put_values() {
  for (uint i = gl_LocalInvocationIndex; i < kRows; i += kInvocations) put_row_values(i);
  for (uint i = gl_LocalInvocationIndex; i < kColumns; i += kInvocations) put_column_values(i);
}

// A component of the values of four columns is a vector.
struct Columns { ivec4 zero_point, correction, scale, parameter; };

Columns tile_columns_at(uint column) {
  Columns columns;
  [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
    const ivec3 values = column_values[column - tile.y + lane];
    columns.zero_point[lane] = values.x;
    columns.correction[lane] = int(problem.k) * values.x - column_sums[column - tile.y + lane];
    columns.scale[lane] = values.y;
    columns.parameter[lane] = values.z;
  }
  return columns;
}

$if bytes(output_dtype) == 1
${declare_words(output)}
$include "lib/quantizer.glsl"

Block block_of_outputs;  // if all outputs of the tile have one scale
bool have_one_block() { return (problem.output_m_step | problem.output_n_step) == 0u; }

int output_zero_point(uint parameter) {
  return zero_point_of(output_zero_point_data, problem.output_zero_points, parameter);
}

void note_output_block() {
  const uint parameter = at.output_parameter;
  block_of_outputs = make_block(output_scale_data[parameter], output_zero_point(parameter));
}

Block output_block(uvec4 parameter) {
  if (have_one_block()) return block_of_outputs;
  vec4 scale;
  ivec4 zero_point;
  [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
    scale[lane] = output_scale_data[parameter[lane]];
    zero_point[lane] = output_zero_point(parameter[lane]);
  }
  return make_block(scale, zero_point);
}

void store_four(uint element, vec4 y, uvec4 parameter) {
  output_words[element / 4u] = pack_i8(quantize(y, output_block(parameter)));
}
$else
${declare_words(output, bytes(output_dtype))}
void note_output_block() {}

void store_four(uint element, vec4 y, uvec4 parameter) { output_words[element / 4u] = pack_${output_dtype}(y); }
$end

// From the columns' `column` on, a multiple of four.
void store_outputs(uint row, uint column, ivec4 sums, Columns columns) {
  const ivec3 of_row = row_values[row - tile.x];
  const ivec4 corrected = sums - columns.zero_point * row_sums[row - tile.x] + columns.correction * of_row.x;
  vec4 y;
  [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
    precise const float scale = intBitsToFloat(of_row.y) * intBitsToFloat(columns.scale[lane]);
    precise const float product = to_float(corrected[lane]) * flush_product(scale);
    y[lane] = product;
  }
  const uvec4 parameter = uvec4(of_row.z + columns.parameter);
  const uint element = (batch * problem.m + row) * problem.n + column;
  if (kIsAligned) {
    store_four(element, y, parameter);
    return;
  }
  [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
    if (column + lane < problem.n) store_output(element + lane, y[lane], parameter[lane]);
  }
}

void put_block(uint i, uint j, uint word) {
  coopMatStore(sums[i][j], tile_words, word, kStripPitch, gl_CooperativeMatrixLayoutRowMajor);
}

ivec4 sums_at(uint word) { return ivec4(tile_vector(word)); }

bool is_output(uint row, uint column) { return row < problem.m && column < problem.n; }
$include "lib/matrix_strips.glsl"
$include "lib/matrix_strips.glsl" plain

// The outputs from `corner` on, one by one in 64 bits.
void store_wide_sums(uvec2 corner) {
  for (uint strip = 0u; strip < kPairs * ${blocks.m}; ++strip) {
    const uvec2 place = uvec2(strip % ${blocks.m}, strip / ${blocks.m});
    put_strip(place, 0u);
    for (uint i = gl_SubgroupInvocationID; i < ${matrix.m}u * kStripVectors * 4u; i += gl_SubgroupSize) {
      const uint lane = i % 4u, vector = i / 4u % kStripVectors, row = i / 4u / kStripVectors;
      const uvec2 output_place = strip_corner(corner, place) + uvec2(row, 4u * vector + lane);
      if (!is_output(output_place.x, output_place.y)) continue;
      finish(at, batch, output_place.x, output_place.y,
             widened(sums_at(first_strip_word() + strip_word(row, vector))[lane]),
             widened(row_sums[output_place.x - tile.x]), widened(column_sums[output_place.y - tile.y]));
    }
  }
}

void main() {
  const uvec3 place = tile_of_workgroup();
  tile = place.xy * uvec2(kRows, kColumns);
  batch = place.z;
  if (tile.x >= problem.m) return;
  at = matrices_of(batch);
  const uvec2 corner = subgroup_corner();

  clear_sums();
  fetch(0u);
  barrier();
  put_values();
  note_output_block();
  const uint end = problem.k;
  for (uint k = 0u; k < end; k += kSpan) {
    barrier();  // the matrices of the step before have been read
    put_down();
    barrier();
    if (k + kSpan < end) fetch(k + kSpan);
    multiply(corner, 0u);
  }
  barrier();  // the last matrices have been read
  share_sums();
  if (wide_outputs == 0u) {
    store_sums(tile + corner, 0u);
  } else {
    store_wide_sums(tile + corner);
  }
}
