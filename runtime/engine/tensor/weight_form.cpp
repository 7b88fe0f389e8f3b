// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Packing visits the form in its own order. Within a block that order is the same for all blocks, so it is stored once.
// Each element then costs only a bounds check and a copy.
#include "runtime/engine/tensor/weight_form.h"

#include <fmt/format.h>

#include <algorithm>

#include "vocabulary/integer.h"

namespace qgen {
namespace {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

struct Offset {
  int64_t n, k;
};

int64_t elements(const WeightForm& form) { return int64_t{form.block_n} * form.block_k; }

int64_t index_in_block(const WeightForm& form, int64_t n, int64_t k) {
  const int64_t block_k = form.block_k;
  if (const int64_t pair = form.pair_n; pair != 0) {
    const int64_t row = n / (2 * pair) * pair + n % pair;
    return 2 * (row * block_k + k) + n / pair % 2;
  }
  if (const int64_t pair = form.pair_k; pair != 0) {
    const int64_t column = k / (2 * pair) * pair + k % pair;
    return 2 * (n * (block_k / 2) + column) + k / pair % 2;
  }
  return n * block_k + k;
}

// The elements of a block in packed order.
std::vector<Offset> order_in_block(const WeightForm& form) {
  std::vector<Offset> order(static_cast<size_t>(elements(form)));
  for (int64_t n = 0; n < form.block_n; ++n) {
    for (int64_t k = 0; k < form.block_k; ++k) order[static_cast<size_t>(index_in_block(form, n, k))] = {n, k};
  }
  return order;
}

constexpr int64_t kPadding = -1;

// visit(index, place in the source or kPadding) for every element of the form, in packed order.
template <typename Visit>
void for_each_packed(const WeightForm& form, const Shape& shape, Visit visit) {
  const WeightMatrix matrix = matrix_of(shape);
  const int64_t blocks_n = matrix.blocks_n(form), blocks_k = matrix.blocks_k(form);
  const int64_t channels = matrix.tap_channels(form), joined = matrix.run_taps(form);
  const int64_t blocks_of_a_run = matrix.blocks_of_a_run(form);
  const std::vector<Offset> order = order_in_block(form);
  int64_t index = 0;
  for (int64_t block = 0; block < blocks_n * blocks_k; ++block) {
    const int64_t block_n = form.k_outer ? block % blocks_n : block / blocks_k;
    const int64_t block_k = form.k_outer ? block / blocks_n : block % blocks_k;
    for (const Offset& offset : order) {
      const int64_t n = block_n * form.block_n + offset.n;
      const int64_t in_run = block_k % blocks_of_a_run * form.block_k + offset.k;
      const int64_t tap = block_k / blocks_of_a_run * joined + (form.joins_lines ? in_run / channels : 0);
      const int64_t channel = form.joins_lines ? in_run % channels : in_run;
      const bool is_padding = n >= matrix.n || channel >= matrix.channels || in_run >= joined * channels;
      visit(index++, is_padding ? kPadding : (n * matrix.channels + channel) * matrix.taps + tap);
    }
  }
}

Error past_four_bits(const WeightForm& form, const Shape& shape, int64_t place, int value) {
  const int64_t row = element_count(shape) / shape[0];
  return {Error::Kind::invalid_argument,
          fmt::format("weight element [{}, {}] is {}, and {} holds -8 to 7", place / row, place % row, value,
                      name(form.layout)),
          ""};
}

constexpr int kNibbleZero = 8;

}  // namespace

int64_t WeightMatrix::blocks_n(const WeightForm& form) const { return ceil_div(n, form.block_n); }
int64_t WeightMatrix::run_taps(const WeightForm& form) const { return form.joins_lines ? line : 1; }
int64_t WeightMatrix::tap_channels(const WeightForm& form) const {
  return form.joins_lines ? ceil_div(channels, 4) * 4 : channels;
}
int64_t WeightMatrix::blocks_of_a_run(const WeightForm& form) const {
  return ceil_div(Integer(tap_channels(form)) * run_taps(form), form.block_k).value;
}
int64_t WeightMatrix::blocks_k(const WeightForm& form) const {
  return (Integer(blocks_of_a_run(form)) * (Integer(taps) / run_taps(form))).value;  // a side may be 0
}

WeightMatrix matrix_of(const Shape& weight) {
  const bool is_matrix = weight.size() == 2;
  return {weight[0], weight[1], element_count(Shape(weight.begin() + 2, weight.end())), is_matrix ? 1 : weight.back()};
}

int64_t packed_bytes(const WeightForm& form, const Shape& shape) {
  const WeightMatrix matrix = matrix_of(shape);
  // A block of 128 elements may hold one, so that the padding of 2^60 elements is past 64 bits.
  return (Integer(matrix.blocks_n(form)) * matrix.blocks_k(form) * (elements(form) * form.bits / 8)).value;
}

Done check_weight(DType dtype, const Shape& shape) {
  if (const Done sane = check_shape(shape); !sane) return sane.error();
  if (dtype == DType::i8 && shape.size() >= 2 && shape.size() <= 4) return std::monostate{};
  return Error{Error::Kind::invalid_argument,
               fmt::format("{} {} is no weight: weights are [N, K], [N, C, W] or [N, C, H, W] of i8", name(dtype),
                           to_text(shape)),
               ""};
}

Expected<std::vector<std::byte>> pack_weight(const WeightForm& form, const HostTensor& source) {
  if (const Done fits = check_weight(source.dtype, source.shape); !fits) return fits.error();
  if (const Done whole = check_host_tensor(source, "the weight"); !whole) return whole.error();
  const auto values = source.as<int8_t>();
  std::vector<std::byte> packed(static_cast<size_t>(packed_bytes(form, source.shape)));
  const auto value_at = [&](int64_t place) {
    return place == kPadding ? int8_t{0} : values[static_cast<size_t>(place)];
  };
  if (form.bits == 8) {
    for_each_packed(form, source.shape, [&](int64_t index, int64_t place) {
      packed[static_cast<size_t>(index)] = static_cast<std::byte>(value_at(place));
    });
    return packed;
  }
  std::optional<Error> fault;
  for_each_packed(form, source.shape, [&](int64_t index, int64_t place) {
    const int value = value_at(place);
    if ((value < -kNibbleZero || value >= kNibbleZero) && !fault)
      fault = past_four_bits(form, source.shape, place, value);
    packed[static_cast<size_t>(index / 2)] |= static_cast<std::byte>(((value + kNibbleZero) & 15) << (index % 2 * 4));
  });
  if (fault) return *fault;
  return packed;
}

Expected<HostTensor> unpack_weight(const WeightForm& form, const Shape& shape, std::span<const std::byte> packed) {
  if (const Done fits = check_weight(DType::i8, shape); !fits) return fits.error();
  if (static_cast<int64_t>(packed.size()) != packed_bytes(form, shape)) {
    return Error{Error::Kind::invalid_argument,
                 fmt::format("{} bytes are given for i8 {} as {}, which takes {}", packed.size(), to_text(shape),
                             name(form.layout), packed_bytes(form, shape)),
                 ""};
  }
  HostTensor weight = zeros(DType::i8, shape);
  const auto values = weight.as<int8_t>();
  for_each_packed(form, shape, [&](int64_t index, int64_t place) {
    if (place == kPadding) return;
    const auto byte = static_cast<uint8_t>(packed[static_cast<size_t>(form.bits == 8 ? index : index / 2)]);
    const int value = form.bits == 8 ? static_cast<int8_t>(byte) : (byte >> (index % 2 * 4) & 15) - kNibbleZero;
    values[static_cast<size_t>(place)] = static_cast<int8_t>(value);
  });
  return weight;
}

std::vector<int32_t> run_sums(const HostTensor& source, int64_t run) {
  const auto values = source.as<int8_t>();
  const WeightMatrix matrix = matrix_of(source.shape);
  const auto columns = static_cast<size_t>(matrix.k()), channels = static_cast<size_t>(matrix.channels);
  const auto length = static_cast<size_t>(std::max<int64_t>(run, 1));
  const size_t runs = std::max<size_t>((columns + length - 1) / length, 1);
  std::vector<int32_t> sums(static_cast<size_t>(matrix.n) * runs, 0);
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t tap = i % static_cast<size_t>(matrix.taps), channel = i / static_cast<size_t>(matrix.taps) % channels;
    sums[i / columns * runs + (tap * channels + channel) / length] += values[i];
  }
  return sums;
}

std::vector<int32_t> row_sums(const HostTensor& source) { return run_sums(source, matrix_of(source.shape).k()); }

Shape run_sums_shape(const Shape& weight, int64_t run) {
  const WeightMatrix matrix = matrix_of(weight);
  if (run >= matrix.k()) return {matrix.n};
  return {matrix.n, ceil_div(matrix.k(), std::max<int64_t>(run, 1))};
}

}  // namespace qgen
