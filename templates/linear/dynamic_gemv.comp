// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sum of linear/dynamic_plain.comp for few rows of activations. Its time is the time of reading the weight once.
// linear/dynamic_quantize.comp has quantized the activations.
//
// The loaded values become integers, then one float: sum (a - z) * w = sum a * w - z * sum w, both sums by dot products
// of four bytes.
//
//   reduce  subgroup: sums are joined by subgroups first; shared: through shared memory alone
//   dot     packed: integer dot products of the device; scalar: multiplications
#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
$if dot == packed
#extension GL_EXT_integer_dot_product : require
$end
$if reduce == subgroup
#extension GL_KHR_shader_subgroup_arithmetic : require
$end
${local_size(group.workgroup)}
${declare_words(codes, 4)}
${declare(scale)}
${declare(zero_point)}
${declare(weight_scales)}
${declare(bias)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/words.glsl"
$include "lib/real_elements.glsl" store
$include "lib/linear_finish.glsl"
$include "lib/weight_rows.glsl" form
$include "lib/dot4.glsl"

$include "lib/weight_gemv.glsl"
$include "lib/weight_rows.glsl" groups

const uint kVectors = kPerLoad / 16u;  // of activations that meet a load

int zero_points[${rows}];

uvec4 codes_at(uint row, uint vector) {
  const uint vectors = (problem.k + 15u) / 16u;
  return vector < vectors ? codes_words[min(row, problem.m - 1u) * vectors + vector] : uvec4(0u);
}

// One load of each of the team's columns, against the activations that it meets.
void accumulate(uint first_m, uint column, uint load) {
  const uint group = group_of_load(load);
  uvec4 weights[${columns}];
  float scales[${columns}];
  [[unroll]] for (uint c = 0u; c < ${columns}; ++c) {
    const uint n = min(column + c, problem.n - 1u);
    weights[c] = weight_loads[n * loads_per_row() + load];
    scales[c] = weight_scales_data[n * problem.groups + group] * kByteFactor;
  }
  uvec4 a[${rows}][kVectors];
  [[unroll]] for (uint m = 0u; m < ${rows}u; ++m) {
    [[unroll]] for (uint v = 0u; v < kVectors; ++v) a[m][v] = codes_at(first_m + m, load * kVectors + v);
  }
  [[unroll]] for (uint c = 0u; c < ${columns}; ++c) {
    int weight_sum = 0;
    int products[${rows}];
    [[unroll]] for (uint m = 0u; m < ${rows}u; ++m) products[m] = 0;
    [[unroll]] for (uint i = 0u; i < 4u * kVectors; ++i) {
      const uint w = weight_bytes(weights[c][i / kVectors], i % kVectors);
      weight_sum += dot4(w, 0x01010101u);
      [[unroll]] for (uint m = 0u; m < ${rows}u; ++m) products[m] += dot4(w, a[m][i / 4u][i % 4u]);
    }
    [[unroll]] for (uint m = 0u; m < ${rows}u; ++m) {
      sums[(m * ${columns} + c) / 4u][c % 4u] += scales[c] * float(products[m] - zero_points[m] * weight_sum);
    }
  }
}

void begin_rows(uint first_m, uint column) {
  [[unroll]] for (uint m = 0u; m < ${rows}u; ++m) zero_points[m] = zero_point_data[min(first_m + m, problem.m - 1u)];
}

vec4 of_row(vec4 total, uint m) { return total * scale_data[m]; }
