// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// How a weight matrix [N, K] lies in memory: the Layouts that begin with weight_. A form cuts the matrix into blocks of
// block_n x block_k elements, padded at the ends, and is a row of runtime/library/layout_rows.inc:
//
//   weight_q8_4k4n, N = 12, K = 8:   [k4][n4] blocks of 16 bytes; byte 4 * (n % 4) + k % 4 of its block is (n, k)
//
// A convolution's weight [N, C, H, W] is a matrix whose columns are the taps of its window, each with the C elements
// that it is multiplied with, rounded up to whole blocks:
//
//   weight_q8_rows, C = 3, 2 x 2 taps:   rows of 4 x 16 bytes; byte 16 * tap + c of its row is (n, c, tap)
//
// Everything that knows a form reads the table: allocation, packing on the host, and the kernel pack_weight, whose
// problem is a row. A new form is a new row; what remains is the kernel that wants it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/tensor/tensor.h"

namespace qgen {

struct WeightForm {
  Layout layout = Layout::strided;
  // 8: the integers themselves, padded with 0. 4: integers from -8 to 7, each stored plus 8 in a nibble, padded with 8.
  uint32_t bits = 8;
  uint32_t block_n = 1, block_k = 1;
  // The blocks are in row-major order: of [N / block_n][K / block_k], or, k_outer, of [K / block_k][N / block_n].
  bool k_outer = false;
  // Elements of a block are row-major too. With 4 bits, the nibbles of a byte are two rows n and n + pair_n, or two
  // columns k and k + pair_k, the first in the low one; the other is 0.
  uint32_t pair_n = 0, pair_k = 0;
  // The taps of a line of the window are one, of the channels of all, each rounded up to four.
  bool joins_lines = false;
};

std::span<const WeightForm> weight_forms();
const WeightForm* find_weight_form(Layout layout);  // null: a layout of activations

// A weight as a matrix: [N, K] has one tap.
struct WeightMatrix {
  int64_t n, channels, taps;
  int64_t line = 1;  // taps of a line of the window

  int64_t k() const { return channels * taps; }
  int64_t blocks_n(const WeightForm& form) const;
  int64_t blocks_k(const WeightForm& form) const;  // saturates
};
WeightMatrix matrix_of(const Shape& weight);

// The place in the packed form of an element of a matrix [N, K], or of a padded one whose columns are those of
// blocks_k(): a byte, or of 4 bits a nibble, low ones first.
int64_t packed_index(const WeightForm& form, const Shape& shape, int64_t n, int64_t k);
int64_t packed_bytes(const WeightForm& form, const Shape& shape);  // saturates

// Errors: a weight is i8, a matrix or a window's taps for each pair of channels: of rank 2 to 4.
Done check_weight(DType dtype, const Shape& shape);

// Errors of both: the source is no weight or lacks some of it, an element does not fit four bits, the bytes are
// not packed_bytes().
Expected<std::vector<std::byte>> pack_weight(const WeightForm& form, const HostTensor& source);
Expected<HostTensor> unpack_weight(const WeightForm& form, const Shape& shape, std::span<const std::byte> packed);

// The sum of each `run` neighbours in a row, and of each row: exact up to 2^24 columns. A row of a convolution's weight
// is that of its matrix without padding, so that a run of C is a tap. Of a source for which check_weight() and
// check_host_tensor() hold; a run of 0 is one of 1.
std::vector<int32_t> run_sums(const HostTensor& source, int64_t run);
std::vector<int32_t> row_sums(const HostTensor& source);
// [N, K / run rounded up]; of whole rows [N].
Shape run_sums_shape(const Shape& weight, int64_t run);

}  // namespace qgen
