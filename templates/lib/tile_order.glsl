// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The order in which workgroups compute tiles: tile_of() gives the row and column of the index-th of tiles.x rows of
// tiles.y tiles. Eight rows are processed together, column by column, so that tiles that run at the same time read the
// same data.
$gives uvec2 tile_of(uint index, uvec2 tiles)

uvec2 tile_of(uint index, uvec2 tiles) {
  const uint kBand = 8u;
  const uint band = index / (kBand * tiles.y);
  const uint height = min(tiles.x - band * kBand, kBand);
  const uint place = index - band * kBand * tiles.y;
  return uvec2(band * kBand + place % height, place / height);
}
