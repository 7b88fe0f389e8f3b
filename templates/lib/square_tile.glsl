// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The outputs of a square tile that an invocation computes: 16 x 16 of them, `side` rows and `side` columns each, in
// quads 64 apart, so that neighbours read neighbouring quads of what is staged as [k][row]. Four elements pad a staged
// row of rows: without them, neighbours along k, which those who stage are, would write to one bank.
const uint kInvocations = 256u;
const uint kSide = 16u;
const uint kTile = ${16 * side};
const uint kStride = kTile + 4u;
const uint kTileQuads = ${ceil_div(side, 4)};  // quads of rows of an invocation, and of columns

uint place_m() { return gl_LocalInvocationIndex / kSide; }
uint place_n() { return gl_LocalInvocationIndex % kSide; }
uint row_at(uint first_m, uint i) { return first_m + i / 4u * 4u * kSide + 4u * place_m() + i % 4u; }
uint column_at(uint first_n, uint j) { return first_n + j / 4u * 4u * kSide + 4u * place_n() + j % 4u; }
