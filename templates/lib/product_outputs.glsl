// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The outputs of a tile that are inside an [m, n] matrix.
$gives bool is_output(uint row, uint column)

bool is_output(uint row, uint column) { return row < problem.m && column < problem.n; }
