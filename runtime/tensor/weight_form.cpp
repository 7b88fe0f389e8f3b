// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Packing walks the form in its own order. Within a block that order is the same for all blocks, so it is written down
// once, and what is left for each element is a bounds check and a copy.
#include "runtime/tensor/weight_form.h"

#include <fmt/format.h>

#include <algorithm>

#include "vocabulary/integer.h"

namespace qgen {
namespace {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

struct Blocks {
  int64_t n, k;
};
Blocks blocks_of(const WeightForm& form, const Shape& shape) {
  return {ceil_div(shape[0], form.block_n), ceil_div(shape[1], form.block_k)};
}

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

// visit(index, n, k) for every element of the form, padding too, in packed order.
template <typename Visit>
void for_each_packed(const WeightForm& form, const Shape& shape, Visit visit) {
  const Blocks blocks = blocks_of(form, shape);
  const std::vector<Offset> order = order_in_block(form);
  int64_t index = 0;
  for (int64_t block = 0; block < blocks.n * blocks.k; ++block) {
    const int64_t n = (form.k_outer ? block % blocks.n : block / blocks.k) * form.block_n;
    const int64_t k = (form.k_outer ? block / blocks.n : block % blocks.k) * form.block_k;
    for (const Offset& offset : order) visit(index++, n + offset.n, k + offset.k);
  }
}

Error past_four_bits(const WeightForm& form, int64_t n, int64_t k, int value) {
  return {Error::Kind::invalid_argument,
          fmt::format("weight element [{}, {}] is {}, and {} holds -8 to 7", n, k, value, name(form.layout)), ""};
}

constexpr int kNibbleZero = 8;

}  // namespace

int64_t packed_index(const WeightForm& form, const Shape& shape, int64_t n, int64_t k) {
  const Blocks blocks = blocks_of(form, shape);
  const int64_t block_n = n / form.block_n;
  const int64_t block_k = k / form.block_k;
  const int64_t block = form.k_outer ? block_k * blocks.n + block_n : block_n * blocks.k + block_k;
  return block * elements(form) + index_in_block(form, n % form.block_n, k % form.block_k);
}

int64_t packed_bytes(const WeightForm& form, const Shape& shape) {
  const Blocks blocks = blocks_of(form, shape);
  // A block of 128 elements may hold one, so that the padding of 2^60 elements is past 64 bits.
  return (Integer(blocks.n) * blocks.k * (elements(form) * form.bits / 8)).value;
}

Done check_weight(DType dtype, const Shape& shape) {
  if (const Done sane = check_shape(shape); !sane) return sane.error();
  if (dtype == DType::i8 && shape.size() == 2) return std::monostate{};
  return Error{Error::Kind::invalid_argument,
               fmt::format("{} {} is no weight, which is a matrix [N, K] of i8", name(dtype), to_text(shape)), ""};
}

Expected<std::vector<std::byte>> pack_weight(const WeightForm& form, const HostTensor& source) {
  if (const Done fits = check_weight(source.dtype, source.shape); !fits) return fits.error();
  if (const Done whole = check_host_tensor(source, "the weight"); !whole) return whole.error();
  const auto values = source.as<int8_t>();
  const int64_t rows = source.shape[0];
  const int64_t columns = source.shape[1];
  std::vector<std::byte> packed(static_cast<size_t>(packed_bytes(form, source.shape)));
  const auto value_at = [&](int64_t n, int64_t k) {
    return n < rows && k < columns ? values[static_cast<size_t>(n * columns + k)] : int8_t{0};
  };
  if (form.bits == 8) {
    for_each_packed(form, source.shape, [&](int64_t index, int64_t n, int64_t k) {
      packed[static_cast<size_t>(index)] = static_cast<std::byte>(value_at(n, k));
    });
    return packed;
  }
  std::optional<Error> fault;
  for_each_packed(form, source.shape, [&](int64_t index, int64_t n, int64_t k) {
    const int value = value_at(n, k);
    if ((value < -kNibbleZero || value >= kNibbleZero) && !fault) fault = past_four_bits(form, n, k, value);
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
  HostTensor matrix = zeros(DType::i8, shape);
  const auto values = matrix.as<int8_t>();
  for_each_packed(form, shape, [&](int64_t index, int64_t n, int64_t k) {
    if (n >= shape[0] || k >= shape[1]) return;
    const auto byte = static_cast<uint8_t>(packed[static_cast<size_t>(form.bits == 8 ? index : index / 2)]);
    const int value = form.bits == 8 ? static_cast<int8_t>(byte) : (byte >> (index % 2 * 4) & 15) - kNibbleZero;
    values[static_cast<size_t>(n * shape[1] + k)] = static_cast<int8_t>(value);
  });
  return matrix;
}

std::vector<int32_t> run_sums(const HostTensor& source, int64_t run) {
  const auto values = source.as<int8_t>();
  const auto rows = static_cast<size_t>(source.shape[0]), columns = static_cast<size_t>(source.shape[1]);
  const auto length = static_cast<size_t>(std::max<int64_t>(run, 1));
  const size_t runs = std::max<size_t>((columns + length - 1) / length, 1);
  std::vector<int32_t> sums(rows * runs, 0);
  for (size_t n = 0; n < rows; ++n) {
    for (size_t k = 0; k < columns; ++k) sums[n * runs + k / length] += values[n * columns + k];
  }
  return sums;
}

std::vector<int32_t> row_sums(const HostTensor& source) { return run_sums(source, source.shape[1]); }

Shape run_sums_shape(const Shape& weight, int64_t run) {
  if (run >= weight[1]) return {weight[0]};
  return {weight[0], ceil_div(weight[1], std::max<int64_t>(run, 1))};
}

}  // namespace qgen
