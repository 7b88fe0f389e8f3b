// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The epilogue of sums of int8 products without lookup table and residual, four neighbouring columns at a time: reals,
// or the integers that they are rounded to. docs/linear.md is the definition; each line below is one of its roundings.
$include "lib/float32.glsl"
$include "lib/rounding_shift.glsl"
$include "lib/words.glsl"
$needs uint last_column()         // of the output
$needs int weight_sum(uint n)     // of the weights of column n
$gives uint ceil_div4(uint x)
$gives struct Columns
$gives struct Column
$gives bool layer_is_short()
$gives bool column_is_short(float scale, float bias)
$gives bool have_short_way(Columns columns)
$gives Column column_at(uint column)
$gives Columns columns_at(uint column)
$gives vec4 short_sums(ivec4 sums, Columns columns)
$gives vec4 linear_outputs(ivec4 sums, Columns columns)
$gives vec4 short_shifted(vec4 sum, Columns columns)
$gives ivec4 long_outputs(ivec4 sums, Columns columns)
$gives ivec4 quantized_outputs(ivec4 sums, Columns columns)

uint ceil_div4(uint x) { return (x + 3u) / 4u; }

// The values that the outputs of four columns share.
struct Columns {
  vec4 scale;
  vec4 bias;
  ivec4 correction;  // minus zero point times the sum of the weights
$if output_dtype == i8
  bool is_short;
$end
};

$if output_dtype == i8
const uint kShortReciprocal = 0x7e000000u;  // 2^125

// Whether short_outputs() serves: sums fit an int, no real output is NaN, and a subnormal one comes to less than a
// half, flushed or not. It needs the layer's parameters and the column's.
bool layer_is_short() {
  return ${sums_are_ints} && !${with_hardswish} && problem.rounded_inverse_scale > 0.0 &&
         floatBitsToUint(problem.rounded_inverse_scale) <= kShortReciprocal;
}
bool column_is_short(float scale, float bias) { return is_finite(scale) && is_finite(bias); }

bool have_short_way(Columns columns) {
  const uvec4 scale = floatBitsToUint(columns.scale) & kMagnitude, bias = floatBitsToUint(columns.bias) & kMagnitude;
  return layer_is_short() && all(lessThan(max(scale, bias), uvec4(kInfinity)));
}
$end

// Of one column.
struct Column {
  float scale, bias;
  int correction;
};
Column column_at(uint column) {
  const uint n = min(column, last_column());
  precise const float scale = problem.input_scale * flush_subnormal(weight_scales_data[n]);
  return Column(flush_product(scale), problem.has_bias != 0u ? flush_subnormal(bias_data[n]) : 0.0,
                -problem.input_zero_point * weight_sum(n));
}

Columns joined(Column a, Column b, Column c, Column d) {
  Columns columns;
  columns.scale = vec4(a.scale, b.scale, c.scale, d.scale);
  columns.bias = vec4(a.bias, b.bias, c.bias, d.bias);
  columns.correction = ivec4(a.correction, b.correction, c.correction, d.correction);
$if output_dtype == i8
  columns.is_short = have_short_way(columns);
$end
  return columns;
}

// Four columns, from memory; lib/int8_matrix_product.glsl has a tile's columns.
Columns columns_at(uint column) {
  return joined(column_at(column), column_at(column + 1u), column_at(column + 2u), column_at(column + 3u));
}

// Sums less the correction, which an int holds.
vec4 short_sums(ivec4 sums, Columns columns) {
  if (${sums_are_bits}) return intBitsToFloat(sums + (columns.correction + kRoundingShiftBits)) - kRoundingShift;
  return ${sums_are_exact} ? vec4(sums + columns.correction) : short_difference(sums, -columns.correction);
}

// Before the activation; a subnormal is still to be flushed. No product is subnormal: scales are not, and are
// multiplied by integers.
vec4 real_outputs(vec4 sum, Columns columns) {
  precise const vec4 product = sum * columns.scale;
  precise const vec4 y = product + columns.bias;
  return y;
}

// The sum over k of q * w is above -2^31 and at most 2^31, which an int holds as -2^31. Negated it always fits, and so
// does the correction.
vec4 linear_outputs(ivec4 sums, Columns columns) {
  if (${sums_are_ints}) return real_outputs(short_sums(sums, columns), columns);
  return real_outputs(exact_difference(columns.correction, -sums), columns);
}

$include "lib/activate.glsl"

$if output_dtype == i8
// round_to_int() and a saturating sum, with the clamp before the conversion: both bounds are small integers.
int quantized_output(float y) {
  precise const float scaled = y * problem.rounded_inverse_scale;
  const float offset = float(problem.rounded_zero_point);
  const float rounded = is_nan(scaled) ? 0.0 : roundEven(scaled);
  return int(clamp(rounded, -128.0 - offset, 127.0 - offset)) + problem.rounded_zero_point;
}

// Integers less their zero point, and plus kRoundingShift. A monotonic activation is a bound on the rounded value,
// since rounding keeps order.
vec4 short_shifted(vec4 sum, Columns columns) {
  const vec4 y = real_outputs(sum, columns);
  precise const vec4 scaled = y * problem.rounded_inverse_scale;
  precise const float six = 6.0 * problem.rounded_inverse_scale;
  const float offset = float(problem.rounded_zero_point);
  const float lowest = problem.activation == kActivationNone ? -128.0 - offset : 0.0;
  const float highest = problem.activation == kActivationRelu6 ? min(six, 127.0 - offset) : 127.0 - offset;
  precise const vec4 shifted = clamp(scaled, lowest, highest) + kRoundingShift;
  return shifted;
}

ivec4 short_outputs(vec4 sum, Columns columns) {
  return floatBitsToInt(short_shifted(sum, columns)) + (problem.rounded_zero_point - kRoundingShiftBits);
}

ivec4 long_outputs(ivec4 sums, Columns columns) {
  const vec4 y = linear_outputs(sums, columns);
  ivec4 q;
  for (uint lane = 0u; lane < 4u; ++lane) q[lane] = quantized_output(activate(flush_subnormal(y[lane])));
  return q;
}

ivec4 quantized_outputs(ivec4 sums, Columns columns) {
  if (columns.is_short) return short_outputs(short_sums(sums, columns), columns);
  return long_outputs(sums, columns);
}
$end
