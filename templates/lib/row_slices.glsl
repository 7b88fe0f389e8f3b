// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A workgroup for each slice of a row of softmax. Its invocations hold the slice in vectors of 16 bytes, and convert f16
// by the device's instructions. All slices of a row but the last have problem.slice_columns elements.
$include "lib/grid.glsl"
$include "lib/exponential.glsl"
#define EXPONENTIAL short_exponential
$gives const uint kVectors
$gives uint first_vector()
$gives uint vectors_of_slice()
$gives void load_slice(out uvec4 words[kVectors])
$gives uint place()
$gives uint members()
$gives const uint kPerVector
$gives EXPONENTIAL

#extension GL_EXT_control_flow_attributes : require
${declare_vectors(input)}
${declare_vectors(output)}
const uint kPerVector = ${16 / bytes(input_dtype)}u;
const uint kVectors = ${vectors};   // of an invocation
$if input_dtype == f16
$include "lib/unpack_vector.glsl" native
$else
$include "lib/unpack_vector.glsl"
uvec4 pack_vector(float x[kPerVector]) {
  return uvec4(floatBitsToUint(x[0]), floatBitsToUint(x[1]), floatBitsToUint(x[2]), floatBitsToUint(x[3]));
}
$end
$include "lib/softmax_vectors.glsl"

uint place() { return gl_LocalInvocationIndex; }
uint members() { return ${workgroup}; }
uint row_vectors() { return problem.columns / kPerVector; }
uint place_in_row() { return workgroup_index() % problem.slices * (problem.slice_columns / kPerVector); }
uint first_vector() { return workgroup_index() / problem.slices * row_vectors() + place_in_row(); }
uint vectors_of_slice() { return min(problem.slice_columns / kPerVector, row_vectors() - place_in_row()); }

void load_slice(out uvec4 words[kVectors]) {
  const uint first = first_vector(), count = vectors_of_slice();
  [[unroll]] for (uint v = 0u; v < kVectors; ++v) {
    const uint at = v * members() + place();
    words[v] = input_vectors[first + min(at, count - 1u)];  // no branch, so that all loads are in flight
    if (at >= count) words[v] = kNothing;
  }
}
