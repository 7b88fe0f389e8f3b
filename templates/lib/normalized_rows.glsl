// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The main() of a kernel that normalizes rows: divides them by their root mean square, after subtracting their mean if
// `kCentred`.
//
//   reduce shared, subgroup   a workgroup passes over its row for its mean, for its squares, and for the results
//   reduce streamed           the same in vectors, several at once
//   reduce held, native, team, part   a workgroup, a subgroup or a part of one reads its row once (lib/held_row.glsl)
//
// load_row() and load_row_vector() give the value of an element or vector of the row that begins at `first`. keep_row()
// and keep_row_vector() do something else with it, after its last load. finish() and finish_vector() make the result
// from the normalized value.
$include "lib/grid.glsl"
$include "lib/real_elements.glsl" store
$include "lib/workgroup_reduce.glsl"
$needs float finish(uint k, float x)
$needs void finish_vector(uint at, inout float x[kPerVector])
$needs uint first_row()
$needs const bool kCentred
$needs const uint kPerVector
$needs void keep_row(uint first, uint k, float x)
$needs void keep_row_vector(uint first, uint at, float x[kPerVector])
$needs float load_row(uint first, uint k)
$needs void load_row_vector(uint first, uint at, out float x[kPerVector])
$needs uint members()
$needs uvec4 pack_vector(float x[kPerVector])
$needs uint place()
$needs uint row_stride()

$if reduce in (held, native, team, part)
void normalize(uint row) {
  const uint of_row = problem.columns / kPerVector, first = row * of_row;
  float values[${vectors}][kPerVector];
  float sum = 0.0;
  [[unroll]] for (uint v = 0u; v < ${vectors}; ++v) {
    const uint at = v * members() + place();
    [[unroll]] for (uint i = 0u; i < kPerVector; ++i) values[v][i] = 0.0;
    if (at < of_row) {
      load_row_vector(first, at, values[v]);
      keep_row_vector(first, at, values[v]);
    }
    [[unroll]] for (uint i = 0u; i < kPerVector; ++i) sum += values[v][i];
  }
  const float mean = kCentred ? workgroup_sum(sum) * problem.inverse_columns : 0.0;

  float squares = 0.0;
  [[unroll]] for (uint v = 0u; v < ${vectors}; ++v) {
    const bool is_padding = v * members() + place() >= of_row;
    [[unroll]] for (uint i = 0u; i < kPerVector; ++i) {
      values[v][i] = is_padding ? 0.0 : values[v][i] - mean;
      squares += values[v][i] * values[v][i];
    }
  }
  const float factor = inversesqrt(workgroup_sum(squares) * problem.inverse_columns + problem.epsilon);

  [[unroll]] for (uint v = 0u; v < ${vectors}; ++v) {
    const uint at = v * members() + place();
    if (at >= of_row) continue;
    [[unroll]] for (uint i = 0u; i < kPerVector; ++i) values[v][i] *= factor;
    finish_vector(at, values[v]);
    output_vectors[first + at] = pack_vector(values[v]);
  }
}

// The same rows for all members, so that none misses a barrier.
void main() {
  for (uint row = first_row(); row < problem.rows; row += row_stride()) normalize(row);
}
$elif reduce == streamed
const uint kAtOnce = ${vectors};
// Of the row that begins at vector `first`, from vector `begin` on. Vectors past the end repeat the last.
void load_vectors(uint first, uint begin, out float x[kAtOnce][kPerVector]) {
  const uint last = problem.columns / kPerVector - 1u;
  [[unroll]] for (uint v = 0u; v < kAtOnce; ++v) load_row_vector(first, min(begin + v * members(), last), x[v]);
}

void normalize(uint row) {
  const uint of_row = problem.columns / kPerVector, first = row * of_row, step = kAtOnce * members();
  float x[kAtOnce][kPerVector];
  float mean = 0.0;
  if (kCentred) {
    float sum = 0.0;
    for (uint begin = place(); begin < of_row; begin += step) {
      load_vectors(first, begin, x);
      [[unroll]] for (uint v = 0u; v < kAtOnce; ++v) {
        if (begin + v * members() >= of_row) continue;
        [[unroll]] for (uint i = 0u; i < kPerVector; ++i) sum += x[v][i];
      }
    }
    mean = workgroup_sum(sum) * problem.inverse_columns;
  }

  float squares = 0.0;
  for (uint begin = place(); begin < of_row; begin += step) {
    load_vectors(first, begin, x);
    [[unroll]] for (uint v = 0u; v < kAtOnce; ++v) {
      if (begin + v * members() >= of_row) continue;
      [[unroll]] for (uint i = 0u; i < kPerVector; ++i) squares += (x[v][i] - mean) * (x[v][i] - mean);
    }
  }
  const float factor = inversesqrt(workgroup_sum(squares) * problem.inverse_columns + problem.epsilon);

  for (uint begin = place(); begin < of_row; begin += step) {
    load_vectors(first, begin, x);
    [[unroll]] for (uint v = 0u; v < kAtOnce; ++v) {
      const uint at = begin + v * members();
      if (at >= of_row) continue;
      keep_row_vector(first, at, x[v]);
      [[unroll]] for (uint i = 0u; i < kPerVector; ++i) x[v][i] = (x[v][i] - mean) * factor;
      finish_vector(at, x[v]);
      output_vectors[first + at] = pack_vector(x[v]);
    }
  }
}

// The same rows for all members, so that none misses a barrier.
void main() {
  for (uint row = first_row(); row < problem.rows; row += row_stride()) normalize(row);
}
$else
void main() {
  const uint row = workgroup_index();   // the same for all members, so that none misses a barrier
  if (row >= problem.rows) return;
  const uint first = row * problem.columns;

  float mean = 0.0;
  if (kCentred) {
    float sum = 0.0;
    for (uint k = gl_LocalInvocationIndex; k < problem.columns; k += ${workgroup}) sum += load_row(first, k);
    mean = workgroup_sum(sum) * problem.inverse_columns;
  }

  float squares = 0.0;
  for (uint k = gl_LocalInvocationIndex; k < problem.columns; k += ${workgroup}) {
    const float difference = load_row(first, k) - mean;
    squares += difference * difference;
  }
  const float factor = inversesqrt(workgroup_sum(squares) * problem.inverse_columns + problem.epsilon);

  for (uint k = gl_LocalInvocationIndex; k < problem.columns; k += ${workgroup}) {
    const float x = load_row(first, k);
    keep_row(first, k, x);
    store_real(first + k, finish(k, (x - mean) * factor));
  }
}
$end
