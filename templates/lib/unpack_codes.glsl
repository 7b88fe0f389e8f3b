// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The elements of a vector of sixteen int8 as f32. The file that includes this one defines kPerVector, which is 16.
$needs const uint kPerVector
$gives void unpack_vector(uvec4 words, out float x[kPerVector])

#extension GL_EXT_control_flow_attributes : require
void unpack_vector(uvec4 words, out float x[kPerVector]) {
  [[unroll]] for (uint i = 0u; i < 16u; ++i) x[i] = float(bitfieldExtract(int(words[i / 4u]), int(8u * (i % 4u)), 8));
}
