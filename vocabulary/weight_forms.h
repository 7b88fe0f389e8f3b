// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The order of a weight matrix [N, K] in memory: the Layouts that begin with weight_. A form divides the matrix into
// blocks of block_n x block_k elements, padded at the ends. It is a row of layout_rows.inc:
//
//   weight_q8_4k4n, N = 12, K = 8:   [k4][n4] blocks of 16 bytes; byte 4 * (n % 4) + k % 4 of its block is (n, k)
//
// A convolution's weight [N, C, H, W] is a matrix whose columns are the taps of its window. Each tap has C elements,
// rounded up to whole blocks:
//
//   weight_q8_rows, C = 3, 2 x 2 taps:   rows of 4 x 16 bytes; byte 16 * tap + c of its row is (n, c, tap)
//
// Allocation, packing on the host (runtime/engine/tensor/weight_form.h) and the kernel pack_weight read this table; the
// problem of pack_weight is a row. So a new form is a new row, and a kernel that reads it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>

#include "vocabulary/layouts.h"

namespace qgen {

struct WeightForm {
  Layout layout = Layout::strided;
  // 8: the integers themselves, padded with 0. 4: integers from -8 to 7, each stored plus 8 in a nibble, padded with 8.
  uint32_t bits = 8;
  uint32_t block_n = 1, block_k = 1;
  // The blocks are in row-major order: of [N / block_n][K / block_k], or, k_outer, of [K / block_k][N / block_n].
  bool k_outer = false;
  // Elements of a block are row-major too. With 4 bits, the nibbles of a byte are two rows n and n + pair_n, or two
  // columns k and k + pair_k. The first is the low nibble, the other of the two numbers is 0.
  uint32_t pair_n = 0, pair_k = 0;
  // The taps of a line of the window are one, of the channels of all, each rounded up to four.
  bool joins_lines = false;
};

constexpr WeightForm kWeightForms[] = {
#define QGEN_WEIGHT_LAYOUT(name, ...) {.layout = Layout::name, __VA_ARGS__},
#include "vocabulary/layout_rows.inc"
};

constexpr std::span<const WeightForm> weight_forms() { return kWeightForms; }

// Null: a layout of activations.
constexpr const WeightForm* find_weight_form(Layout layout) {
  const WeightForm* form = std::ranges::find(kWeightForms, layout, &WeightForm::layout);
  return form == std::end(kWeightForms) ? nullptr : form;
}

}  // namespace qgen
