// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The outputs that one invocation computes of a square tile. There are 16 x 16 invocations with `side` rows and `side`
// columns each, in quads 64 apart. So neighbours read neighbouring quads of the staged [k][row]. A staged row is padded
// by four elements. Without them, neighbours along k, as the staging invocations are, would write to one bank.
$gives const uint kInvocations
$gives const uint kSide
$gives const uint kTile
$gives const uint kStride
$gives const uint kTileQuads
$gives uint place_m()
$gives uint place_n()
$gives uint row_at(uint first_m, uint i)
$gives uint column_at(uint first_n, uint j)

const uint kInvocations = 256u;
const uint kSide = 16u;
const uint kTile = ${16 * side};
const uint kStride = kTile + 4u;
const uint kTileQuads = ${ceil_div(side, 4)};  // quads of rows of an invocation, and of columns

uint place_m() { return gl_LocalInvocationIndex / kSide; }
uint place_n() { return gl_LocalInvocationIndex % kSide; }
uint row_at(uint first_m, uint i) { return first_m + i / 4u * 4u * kSide + 4u * place_m() + i % 4u; }
uint column_at(uint first_n, uint j) { return first_n + j / 4u * 4u * kSide + 4u * place_n() + j % 4u; }
