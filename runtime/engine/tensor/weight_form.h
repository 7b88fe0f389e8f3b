// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Weight matrices packed on the host into the forms of vocabulary/weight_forms.h, and unpacked again.
#pragma once

#include <span>
#include <vector>

#include "runtime/engine/tensor/tensor.h"
#include "vocabulary/weight_forms.h"

namespace qgen {

// A weight as a matrix: [N, K] has one tap.
struct WeightMatrix {
  int64_t n, channels, taps;
  int64_t line = 1;  // taps of a line of the window

  int64_t k() const { return channels * taps; }
  // Runs of taps fill whole blocks. The struct holds the number of taps, the elements of each, and how many of these
  // are channels.
  int64_t run_taps(const WeightForm& form) const;
  int64_t tap_channels(const WeightForm& form) const;
  int64_t blocks_of_a_run(const WeightForm& form) const;  // saturates
  int64_t blocks_n(const WeightForm& form) const;
  int64_t blocks_k(const WeightForm& form) const;  // saturates
};
WeightMatrix matrix_of(const Shape& weight);

int64_t packed_bytes(const WeightForm& form, const Shape& shape);  // saturates

// Errors: a weight is i8, a matrix or a window's taps for each pair of channels: of rank 2 to 4.
Done check_weight(DType dtype, const Shape& shape);

// Errors of both: the source is no weight or lacks data, an element does not fit four bits, the bytes are not
// packed_bytes().
Expected<std::vector<std::byte>> pack_weight(const WeightForm& form, const HostTensor& source);
Expected<HostTensor> unpack_weight(const WeightForm& form, const Shape& shape, std::span<const std::byte> packed);

// The sum of each `run` neighbours in a row, and of each row: exact up to 2^24 columns. A row of a convolution's weight
// equals that of its matrix without padding, so that a run of C is a tap. Of a source for which check_weight() and
// check_host_tensor() hold; a run of 0 is one of 1.
std::vector<int32_t> run_sums(const HostTensor& source, int64_t run);
std::vector<int32_t> row_sums(const HostTensor& source);
// [N, K / run rounded up]; of whole rows [N].
Shape run_sums_shape(const Shape& weight, int64_t run);

}  // namespace qgen
