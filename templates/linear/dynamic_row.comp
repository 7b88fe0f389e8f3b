// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sum of linear/dynamic_plain.comp for few rows of activations, in one kernel. A workgroup quantizes the rows
// itself, into shared memory, with the bits of linear/dynamic_quantize.comp. Its first loads of the weight are on their
// way meanwhile. All workgroups do the same work: the row is in a cache, and a second kernel would have to wait.
//
// Bytes of an int4 weight keep their offset of 8: sum (a - z) * w = sum a * u - 8 * sum a - z * sum w, with u = w + 8.
//
//   rows    of activations, in one workgroup
//   halves  native: the device converts activations of f16, and keeps what is subnormal; bits: lib/float16.glsl does
#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
$if dot == packed
#extension GL_EXT_integer_dot_product : require
$end
#extension GL_KHR_shader_subgroup_arithmetic : require
${local_size(group.workgroup)}
${declare(weight_scales)}
${declare(bias)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/words.glsl"
$if halves == native
$include "lib/unpack_vector.glsl" native_halves
#define UNPACK_INPUT unpack_native_f16
$else
#define UNPACK_INPUT unpack_${input_dtype}
$end
const uint kRowInvocations = ${group.workgroup};
const uint kUnrolled = 8u;
$include "lib/activation_rows.glsl" vectors
$include "lib/quantizer.glsl"
$include "lib/qparams.glsl"
$include "lib/real_elements.glsl" store
$include "lib/linear_finish.glsl"
$include "lib/weight_rows.glsl" form
$include "lib/dot4.glsl"

$include "lib/weight_gemv.glsl"
$include "lib/weight_rows.glsl" groups

// ---- quantized rows -------------------------------------------------------------------------------------------------

const uint kRowVectors = (${held} == 0u ? 16u : ${held}) / 16u;
shared uvec4 row_codes[${rows}u * kRowVectors];
shared ivec2 subgroup_extremes[${group.workgroup} / 4u * ${rows}u];  // subgroups of four and more
Qparams qparams[${rows}];

void put_codes(uint m, uint row) {
  const Block block = make_block(qparams[m].scale, qparams[m].zero_point);
  const uint quads = problem.k / 4u;
  for (uint first = gl_LocalInvocationIndex; first < quads; first += kUnrolled * ${group.workgroup}) {
    vec4 x[kUnrolled];
    [[unroll]] for (uint i = 0u; i < kUnrolled; ++i) {
      x[i] = real_vector(row, min(first + i * ${group.workgroup}, quads - 1u));
    }
    [[unroll]] for (uint i = 0u; i < kUnrolled; ++i) {
      const uint quad = min(first + i * ${group.workgroup}, quads - 1u);  // the last one several times
      row_codes[m * kRowVectors + quad / 4u][quad % 4u] = pack_i8(quantize(x[i], block));
    }
  }
}

void quantize_rows(uint first_m) {
  [[unroll]] for (uint m = 0u; m < ${rows}u; ++m) {
    const ivec2 of_subgroup = subgroupMax(extremes_of_vectors(min(first_m + m, problem.m - 1u)));
    if (subgroupElect()) subgroup_extremes[gl_SubgroupID * ${rows}u + m] = of_subgroup;
  }
  barrier();
  [[unroll]] for (uint m = 0u; m < ${rows}u; ++m) {
    ivec2 extremes = ivec2(0);
    for (uint s = 0u; s < gl_NumSubgroups; ++s) extremes = max(extremes, subgroup_extremes[s * ${rows}u + m]);
    qparams[m] = qparams_of(extremes);
    put_codes(m, min(first_m + m, problem.m - 1u));
  }
  barrier();
}

// ---- products -------------------------------------------------------------------------------------------------------

const uint kVectors = kPerLoad / 16u;  // of codes that meet a load
const uint kBytes = kPerLoad / 4u;     // words of four bytes that a load becomes

// The next load of each of the team's columns.
uvec4 next_weights[${columns}];

void fetch_weights(uint column, uint load) {
  [[unroll]] for (uint c = 0u; c < ${columns}; ++c) {
    next_weights[c] = weight_loads[min(column + c, problem.n - 1u) * loads_per_row() + min(load, loads_per_row() - 1u)];
  }
}

void begin_rows(uint first_m, uint column) {
  fetch_weights(column, gl_LocalInvocationIndex % ${group.team});
  quantize_rows(first_m);
}

// One load of each of the team's columns, against the codes that it meets.
void accumulate(uint first_m, uint column, uint load) {
  const uint group = group_of_load(load);
  uvec4 weights[${columns}];
  float scales[${columns}];
  [[unroll]] for (uint c = 0u; c < ${columns}; ++c) {
    weights[c] = next_weights[c];
    scales[c] = weight_scales_data[min(column + c, problem.n - 1u) * problem.groups + group];
  }
  fetch_weights(column, load + ${group.team});
  uvec4 a[${rows}][kVectors];
  int code_sums[${rows}];
  [[unroll]] for (uint m = 0u; m < ${rows}u; ++m) {
    code_sums[m] = 0;
    [[unroll]] for (uint v = 0u; v < kVectors; ++v) {
      a[m][v] = row_codes[m * kRowVectors + load * kVectors + v];
      if (kOffset != 0) code_sums[m] += dot16(a[m][v], uvec4(0x01010101u));
    }
  }
  [[unroll]] for (uint c = 0u; c < ${columns}; ++c) {
    int products[${rows}];
    [[unroll]] for (uint m = 0u; m < ${rows}u; ++m) products[m] = -kOffset * code_sums[m];
    int weight_sum = -kOffset * int(kPerLoad);
    uint bytes_sum = 0u;  // eight bytes of at most 15 do not overflow
    [[unroll]] for (uint i = 0u; i < kBytes; ++i) {
      const uint w = offset_bytes(weights[c][i / kVectors], i % kVectors);
      if (kOffset != 0) {
        bytes_sum += w;
      } else {
        weight_sum += dot4(w, 0x01010101u);
      }
      [[unroll]] for (uint m = 0u; m < ${rows}u; ++m) products[m] += dot4(w, a[m][i / 4u][i % 4u]);
    }
    if (kOffset != 0) weight_sum += dot4(bytes_sum, 0x01010101u);
    [[unroll]] for (uint m = 0u; m < ${rows}u; ++m) {
      sums[(m * ${columns} + c) / 4u][c % 4u] += scales[c] * float(products[m] - qparams[m].zero_point * weight_sum);
    }
  }
}

vec4 of_row(vec4 total, uint m) {
  float scale = qparams[0].scale;
  [[unroll]] for (uint i = 1u; i < ${rows}u; ++i) {
    if (m % ${rows}u == i) scale = qparams[i].scale;
  }
  return total * scale;
}
