// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Tensors of rank 1 to 4 in textures. A coordinate is (w, h, c, n). Four neighbours along the packed dimension (0, 1 or
// 2) share a texel. A texel's z counts the channels, or groups of four channels, of one batch after the other.
$gives uvec4 coordinate_of(uint element)
$gives uint element_at(uvec4 coordinate)
$gives ivec3 texel_at(uvec4 coordinate, uint packed_dimension)
$gives ivec3 texel_of(uint index, uint packed_dimension)
$gives uvec4 coordinate_at(ivec3 texel, uint packed_dimension)

uint ceil_div4(uint x) { return (x + 3u) / 4u; }

uvec4 texture_shape() { return uvec4(problem.sizes[0], problem.sizes[1], problem.sizes[2], problem.sizes[3]); }

uvec4 coordinate_of(uint element) {
  const uvec4 shape = texture_shape();
  return uvec4(element % shape.x, element / shape.x % shape.y, element / (shape.x * shape.y) % shape.z,
               element / (shape.x * shape.y * shape.z));
}

uint element_at(uvec4 coordinate) {
  const uvec4 shape = texture_shape();
  return coordinate.x + shape.x * (coordinate.y + shape.y * (coordinate.z + shape.z * coordinate.w));
}

ivec3 texel_at(uvec4 coordinate, uint packed_dimension) {
  uint channels = problem.sizes[2];
  if (packed_dimension == 2u) channels = ceil_div4(channels);
  coordinate[packed_dimension] /= 4u;
  return ivec3(coordinate.xy, coordinate.w * channels + coordinate.z);
}

// The texel that is the `index`-th of its image, x fastest.
ivec3 texel_of(uint index, uint packed_dimension) {
  uvec3 extent = texture_shape().xyz;
  extent[packed_dimension] = ceil_div4(extent[packed_dimension]);
  return ivec3(index % extent.x, index / extent.x % extent.y, index / (extent.x * extent.y));
}

// The coordinate of a texel's first lane; the others follow along the packed dimension.
uvec4 coordinate_at(ivec3 texel, uint packed_dimension) {
  uint channels = problem.sizes[2];
  if (packed_dimension == 2u) channels = ceil_div4(channels);
  uvec4 coordinate = uvec4(texel.xy, uint(texel.z) % channels, uint(texel.z) / channels);
  coordinate[packed_dimension] *= 4u;
  return coordinate;
}
