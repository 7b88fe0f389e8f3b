// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The epilogue of sums of int8 products, four neighbouring columns at a time. First come the reals, and the integers
// that they are rounded to; then, for outputs of i8, the lookup table and the sum with a residual. docs/linear.md is
// the definition; each line of the first part is one of its roundings. Tiles on cooperative matrices load what columns
// need by `tile_columns`.
$include "lib/float32.glsl"
$include "lib/float32.glsl" rounding_shift
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
$gives uint output_of(ivec4 q, uint residual)
$gives uint by_table(uint word)
$gives uint residual_added(uint word, uint residual)
$gives uint sum_with_residual(vec4 result, uint residual)
$gives uint residual_word(uint at)
$gives uint residual_byte(uint at)
$gives uint padded(uint word, uint count)

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

// Four columns, from memory; `tile_columns` has a tile's columns.
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

$include "lib/linear_outputs.glsl" activate

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

$if output_dtype == i8
$include "lib/q8ta.glsl"

// ---- from four rounded results to the stored bytes ------------------------------------------------------------------
//
//   output_of(q, residual)               the four bytes to be stored
//   by_table(word)                       four bytes by the table, if there is one
//   residual_added(word, residual)       the sum with a residual, if there is one
//   sum_with_residual(result, residual)  the same of four results that are dequantized, where there is one
//   residual_word(at)                    four bytes of the residual, or 0; it has the layout of the output
//   residual_byte(at)                    one byte
//   padded(word, count)                  the word with padding after its first `count` bytes

${declare_words(table)}
${declare_words(residual)}

// The table begins with what -128 becomes. Shifts, since a component that is only known at run time would be a branch.
uint looked_up(uint byte) {
  const uint place = byte ^ 0x80u;
  return table_words[place / 4u] >> (8u * (place % 4u)) & 0xffu;
}

uint by_table(uint word) {
  if (!${with_table}) return word;
  return looked_up(word & 0xffu) | looked_up(word >> 8 & 0xffu) << 8 | looked_up(word >> 16 & 0xffu) << 16 |
         looked_up(word >> 24) << 24;
}

uint sum_with_residual(vec4 result, uint residual) {
  precise const vec4 sum = result + dequantized(residual, problem.residual_scale, problem.residual_zero_point);
  const int zero_point = problem.output_zero_point;
  return quantized_between(sum, problem.output_inverse_scale, zero_point, float(-128 - zero_point),
                           float(127 - zero_point));
}

uint residual_added(uint word, uint residual) {
  if (!${with_residual}) return word;
  return sum_with_residual(dequantized(word, problem.result_scale, problem.result_zero_point), residual);
}

uint residual_word(uint at) { return ${with_residual} ? residual_words[at] : 0u; }
uint residual_byte(uint at) { return residual_word(at / 4u) >> (8u * (at % 4u)) & 0xffu; }

uint output_of(ivec4 q, uint residual) { return residual_added(by_table(pack_i8(q)), residual); }

uint padded(uint word, uint count) {
  if (count >= 4u) return word;
  const uint kept = (1u << (8u * count)) - 1u;
  return (word & kept) | (uint(problem.output_zero_point & 0xff) * 0x01010101u & ~kept);
}
$end

$part activate
// The activation of a layer, problem.activation.
$include "lib/float32.glsl"
$gives float activate(float y)

float activate(float y) {
  if (problem.activation == kActivationNone || is_nan(y)) return y;
  if (problem.activation == kActivationRelu) return max(y, 0.0);
  if (problem.activation == kActivationRelu6) return clamp(y, 0.0, 6.0);
  precise const float shifted = y + 3.0;
  precise const float product = y * clamp(shifted, 0.0, 6.0);
  return divide_by_six(product);
}

$part tile_columns
// The values that the columns of a tile need, loaded once by the whole workgroup before the last matrices are
// multiplied: at the end of a tile nothing waits for memory.
//
//   load_columns(first)            of the tile whose first column is `first`
//   put_columns()                  before a barrier
//   tile_columns_at(column)        four columns
//   tile_column_is_short(column)   whether the column has short outputs, if outputs are i8
$include "lib/linear_outputs.glsl"
$include "lib/matrix_tile.glsl"
$gives void load_columns(uint first)
$gives void put_columns()
$gives Columns tile_columns_at(uint column)
$gives bool tile_column_is_short(uint column)

uint first_column;
shared vec4 column_scale[kColumns / 4u];
shared vec4 column_bias[kColumns / 4u];
shared ivec4 column_correction[kColumns / 4u];
$if output_dtype == i8
bool tile_column_is_short(uint column) {
  const uint i = column - first_column;
  return column_is_short(column_scale[i / 4u][i % 4u], column_bias[i / 4u][i % 4u]);
}
$end

const uint kOwnColumns = (kColumns + kInvocations - 1u) / kInvocations;
Column own_columns[kOwnColumns];

void load_columns(uint first) {
  first_column = first;
  [[unroll]] for (uint i = 0u; i < kOwnColumns; ++i) {
    own_columns[i] = column_at(first + gl_LocalInvocationIndex + i * kInvocations);
  }
}

void put_columns() {
  [[unroll]] for (uint i = 0u; i < kOwnColumns; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    if (kOwnColumns * kInvocations == kColumns || place < kColumns) {
      column_scale[place / 4u][place % 4u] = own_columns[i].scale;
      column_bias[place / 4u][place % 4u] = own_columns[i].bias;
      column_correction[place / 4u][place % 4u] = own_columns[i].correction;
    }
  }
}

Columns tile_columns_at(uint column) {
  const uint i = (column - first_column) / 4u;
  Columns columns;
  columns.scale = column_scale[i];
  columns.bias = column_bias[i];
  columns.correction = column_correction[i];
$if output_dtype == i8
  columns.is_short = have_short_way(columns);
$end
  return columns;
}
