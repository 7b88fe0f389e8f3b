// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// From the integer sums of a linear layer to its outputs, four neighbouring columns at a time. docs/linear.md is the
// definition; each line below is one of its roundings.
//
//   store_outputs(row, column, sums, columns_at(column));     // column is a multiple of four
$include "lib/float32.glsl"
$include "lib/words.glsl"

uint ceil_div4(uint x) { return (x + 3u) / 4u; }

// What the outputs of four columns have in common.
struct Columns {
  vec4 scale;
  vec4 bias;
  ivec4 correction;  // minus zero point times the sum of the weights
};

Columns columns_at(uint column) {
  Columns columns;
  for (uint lane = 0u; lane < 4u; ++lane) {
    const uint n = min(column + lane, problem.n - 1u);
    precise const float scale = problem.input_scale * flush_subnormal(weight_scales_data[n]);
    columns.scale[lane] = flush_subnormal(scale);
    columns.bias[lane] = problem.has_bias != 0u ? flush_subnormal(bias_data[n]) : 0.0;
    columns.correction[lane] = -problem.input_zero_point * weight_sums_data[n];
  }
  return columns;
}

// a - b rounded once, although it may not fit an int: both halves are exact, and so is their difference.
float exact_difference(int a, int b) {
  precise float difference = float((a >> 16) - (b >> 16)) * 65536.0 + float((a & 0xffff) - (b & 0xffff));
  return difference;
}

float activate(float y) {
  const uint kNone = 0u;
  const uint kRelu = 1u;
  const uint kRelu6 = 2u;
  if (problem.activation == kNone || is_nan(y)) return y;
  if (problem.activation == kRelu) return max(y, 0.0);
  if (problem.activation == kRelu6) return clamp(y, 0.0, 6.0);
  precise const float shifted = y + 3.0;
  precise const float product = y * clamp(shifted, 0.0, 6.0);
  return divide(product, 6.0);
}

// The sum over k of q * w is above -2^31 and at most 2^31, which an int holds as -2^31. Negated it always fits, and so
// does the correction.
float real_output(int sum, uint lane, Columns columns) {
  precise const float product = exact_difference(columns.correction[lane], -sum) * columns.scale[lane];
  precise const float y = flush_subnormal(product) + columns.bias[lane];
  return activate(flush_subnormal(y));
}

$if output_dtype == i8
// round_to_int() and a saturating sum, with the clamp before the conversion: both bounds are small integers.
int quantized_output(float y) {
  precise const float scaled = y * problem.output_inverse_scale;
  const float offset = float(problem.output_zero_point);
  const float rounded = is_nan(scaled) ? 0.0 : roundEven(scaled);
  return int(clamp(rounded, -128.0 - offset, 127.0 - offset)) + problem.output_zero_point;
}

${declare_words(output)}

void store_outputs(uint row, uint column, ivec4 sums, Columns columns) {
  ivec4 q;
  for (uint lane = 0u; lane < 4u; ++lane) q[lane] = quantized_output(real_output(sums[lane], lane, columns));
$if output_layout == packed_4h4w
  // Rows of all matrices, each padded to a multiple of four; the bytes of padded columns are 0.
  for (uint lane = 1u; lane < 4u; ++lane) q[lane] = column + lane < problem.n ? q[lane] : 0;
  const uint packed_row = row / problem.matrix_rows * ceil_div4(problem.matrix_rows) * 4u + row % problem.matrix_rows;
  output_words[(packed_row / 4u * ceil_div4(problem.n) + column / 4u) * 4u + packed_row % 4u] = pack_i8(q);
$elif output_layout == packed_4w
  for (uint lane = 1u; lane < 4u; ++lane) q[lane] = column + lane < problem.n ? q[lane] : 0;
  output_words[row * ceil_div4(problem.n) + column / 4u] = pack_i8(q);
$else
  if (problem.n % 4u == 0u) {
    output_words[(row * problem.n + column) / 4u] = pack_i8(q);
    return;
  }
  const uint count = min(problem.n - column, 4u);
  for (uint lane = 0u; lane < count; ++lane) output_data[row * problem.n + column + lane] = int8_t(q[lane]);
$end
}
$else
$include "lib/store_real.glsl"

void store_outputs(uint row, uint column, ivec4 sums, Columns columns) {
  const uint count = min(problem.n - column, 4u);
  for (uint lane = 0u; lane < count; ++lane) {
    store_real(row * problem.n + column + lane, real_output(sums[lane], lane, columns));
  }
}
$end
