// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Weight forms: golden blocks that an independent implementation packed, a packing by packed_index() alone, and each
// fault.
#include "runtime/engine/tensor/weight_form.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/expected_text.h"
#include "vocabulary/layouts.h"

namespace qgen {
namespace {

// int8 ((7n + 11k) mod 255) - 127, and of four bits ((3n + 5k) mod 16) - 8.
HostTensor sample(int64_t rows, int64_t columns, uint32_t bits) {
  HostTensor matrix = zeros(DType::i8, {rows, columns});
  for (int64_t n = 0; n < rows; ++n) {
    for (int64_t k = 0; k < columns; ++k) {
      set_element(matrix, n * columns + k,
                  static_cast<double>(bits == 8 ? (7 * n + 11 * k) % 255 - 127 : (3 * n + 5 * k) % 16 - 8));
    }
  }
  return matrix;
}

// In a block, of pairs that are nibbles of a byte.
int64_t place_of_pairs(int64_t i, int64_t pair) { return i / (2 * pair) * pair + i % pair; }

int64_t index_in_block(const WeightForm& form, int64_t n, int64_t k) {
  if (form.pair_n != 0) return 2 * (place_of_pairs(n, form.pair_n) * form.block_k + k) + n / form.pair_n % 2;
  if (form.pair_k != 0) return n * form.block_k + 2 * place_of_pairs(k, form.pair_k) + k / form.pair_k % 2;
  return n * form.block_k + k;
}

// The index in the packed form of an element of a matrix [N, K], or of a padded one with the columns of blocks_k(). It
// counts bytes, or with 4 bits nibbles, low ones first. It follows vocabulary/weight_forms.h, one element at a time.
int64_t packed_index(const WeightForm& form, const Shape& shape, int64_t n, int64_t k) {
  const WeightMatrix matrix = matrix_of(shape);
  const int64_t block_n = n / form.block_n, block_k = k / form.block_k;
  const int64_t block =
      form.k_outer ? block_k * matrix.blocks_n(form) + block_n : block_n * matrix.blocks_k(form) + block_k;
  return block * form.block_n * form.block_k + index_in_block(form, n % form.block_n, k % form.block_k);
}

std::string words_at(const std::vector<std::byte>& packed, size_t block) {
  uint32_t words[4];
  std::memcpy(words, packed.data() + 16 * block, sizeof words);
  return fmt::format("{:08x} {:08x} {:08x} {:08x}", words[0], words[1], words[2], words[3]);
}

// No layout has rows side by side in a byte. The kernel pack_weight and the table of forms can.
constexpr WeightForm kRowsFourApart = {.bits = 4, .block_n = 8, .block_k = 4, .pair_n = 4};
constexpr WeightForm kNeighbouringRows = {.bits = 4, .block_n = 8, .block_k = 4, .k_outer = true, .pair_n = 1};

struct GoldenCase {
  WeightForm form;
  size_t block;  // the n-th of 16 bytes
  std::string words;
};

// Of N = 12, K = 8.
const GoldenCase kGolden[] = {
    {*find_weight_form(Layout::weight_q8_4k4n), 0, "a2978c81 a99e9388 b0a59a8f b7aca196"},
    {*find_weight_form(Layout::weight_q8_4k4n), 1 * 3 + 2, "06fbf0e5 0d02f7ec 1409fef3 1b1005fa"},
    {kRowsFourApart, 0, "bf6a15c0 e29d48f3 15c07b26 48f3ae59"},
    // Rows 12 to 15 are padding.
    {kRowsFourApart, 1 * 2 + 1, "8b86818c 8e89848f 818c8782 848f8a85"},
    {kNeighbouringRows, 0, "2fda8530 8530eb96 eb9641fc 41fca752"},
    {kNeighbouringRows, 1 * 2 + 1, "eb9641fc 41fca752 88888888 88888888"},
    // A row a block here: eight columns, then padding up to 32.
    {*find_weight_form(Layout::weight_q4_rows), 0, "3fea9540 88888888 88888888 88888888"},
    {*find_weight_form(Layout::weight_q4_rows), 11, "40fba651 88888888 88888888 88888888"},
};

TEST(WeightForms, PackTheGoldenBlocks) {
  for (const GoldenCase& c : kGolden) {
    const auto packed = pack_weight(c.form, sample(12, 8, c.form.bits));
    ASSERT_TRUE(packed) << c.words;
    EXPECT_EQ(words_at(*packed, c.block), c.words) << "block " << c.block;
  }
}

TEST(WeightForms, PackWhatPackedIndexSaysAndUnpackIt) {
  const Shape shapes[] = {{1, 1}, {1, 64}, {4, 4}, {5, 3}, {8, 16}, {9, 17}, {13, 130}, {0, 5}, {3, 0}};
  std::vector<WeightForm> forms(weight_forms().begin(), weight_forms().end());
  forms.insert(forms.end(), {kRowsFourApart, kNeighbouringRows});
  for (const WeightForm& form : forms) {
    for (const Shape& shape : shapes) {
      const HostTensor source = sample(shape[0], shape[1], form.bits);
      std::vector<std::byte> expected(static_cast<size_t>(packed_bytes(form, shape)),
                                      static_cast<std::byte>(form.bits == 8 ? 0 : 0x88));
      for (int64_t n = 0; n < shape[0]; ++n) {
        for (int64_t k = 0; k < shape[1]; ++k) {
          const int64_t index = packed_index(form, shape, n, k);
          const auto value = static_cast<int8_t>(element(source, n * shape[1] + k));
          if (form.bits == 8) {
            expected[static_cast<size_t>(index)] = static_cast<std::byte>(value);
          } else {
            std::byte& byte = expected[static_cast<size_t>(index / 2)];
            byte &= static_cast<std::byte>(0xf0 >> (index % 2 * 4));
            byte |= static_cast<std::byte>((value + 8) << (index % 2 * 4));
          }
        }
      }
      const auto packed = pack_weight(form, source);
      ASSERT_TRUE(packed);
      EXPECT_EQ(*packed, expected) << name(form.layout) << " " << to_text(shape);
      const auto unpacked = unpack_weight(form, shape, *packed);
      ASSERT_TRUE(unpacked);
      EXPECT_EQ(unpacked->data, source.data) << name(form.layout) << " " << to_text(shape);
    }
  }
}

// Of [n, c, y, x], as vocabulary/weight_forms.h says: the taps of a window, each of whole blocks of channels.
TEST(WeightForms, PutTapsOfAWindowSideBySide) {
  const Shape shape{3, 5, 2, 3};
  HostTensor source = zeros(DType::i8, shape);
  for (int64_t i = 0; i < element_count(shape); ++i) set_element(source, i, static_cast<double>(i % 251 - 125));
  for (const WeightForm& form : weight_forms()) {
    if (form.bits != 8) continue;
    const int64_t channels = form.joins_lines ? 8 : (5 + form.block_k - 1) / form.block_k * form.block_k;
    const int64_t line = form.joins_lines ? 32 : 3 * channels;  // 3 taps of 8 bytes in two blocks of 16
    std::vector<std::byte> expected(static_cast<size_t>(packed_bytes(form, shape)));
    for (int64_t i = 0; i < element_count(shape); ++i) {
      const int64_t x = i % 3, y = i / 3 % 2, c = i / 6 % 5, n = i / 30;
      const int64_t index = packed_index(form, shape, n, y * line + x * channels + c);
      expected[static_cast<size_t>(index)] = static_cast<std::byte>(source.as<int8_t>()[static_cast<size_t>(i)]);
    }
    const auto packed = pack_weight(form, source);
    ASSERT_TRUE(packed);
    EXPECT_EQ(*packed, expected) << name(form.layout);
    const auto unpacked = unpack_weight(form, shape, *packed);
    ASSERT_TRUE(unpacked);
    EXPECT_EQ(unpacked->data, source.data) << name(form.layout);
  }
  const std::vector<int32_t> of_taps = run_sums(source, 5), of_rows = row_sums(source);
  for (size_t n = 0; n < 3; ++n) {
    int32_t sum = 0;
    for (size_t tap = 0; tap < 6; ++tap) sum += of_taps[n * 6 + tap];
    EXPECT_EQ(sum, of_rows[n]);
    EXPECT_EQ(of_taps[n * 6], static_cast<int32_t>(element(source, static_cast<int64_t>(n) * 30)) +
                                  static_cast<int32_t>(element(source, static_cast<int64_t>(n) * 30 + 6)) +
                                  static_cast<int32_t>(element(source, static_cast<int64_t>(n) * 30 + 12)) +
                                  static_cast<int32_t>(element(source, static_cast<int64_t>(n) * 30 + 18)) +
                                  static_cast<int32_t>(element(source, static_cast<int64_t>(n) * 30 + 24)));
  }
}

TEST(WeightForms, AreFoundByTheirLayout) {
  for (const LayoutInfo& row : kLayouts) {
    const WeightForm* form = find_weight_form(row.layout);
    EXPECT_EQ(form != nullptr, row.is_weight) << row.name;
    if (form) {
      EXPECT_EQ(form->layout, row.layout);
    }
  }
}

TEST(WeightForms, RefuseWhatTheyCannotHold) {
  const auto message = [](Layout layout, const HostTensor& source) {
    const auto packed = pack_weight(*find_weight_form(layout), source);
    return packed ? "" : to_text(packed.error());
  };
  EXPECT_TEXT(message(Layout::weight_q8_rows, zeros(DType::f32, {2, 3})),
              "f32 [2, 3] is no weight: weights are [N, K], [N, C, W] or [N, C, H, W] of i8");
  EXPECT_TEXT(message(Layout::weight_q8_rows, zeros(DType::i8, {6})),
              "i8 [6] is no weight: weights are [N, K], [N, C, W] or [N, C, H, W] of i8");
  HostTensor wide = zeros(DType::i8, {2, 3});
  set_element(wide, 5, 9);
  EXPECT_TEXT(message(Layout::weight_q4_rows, wide), "weight element [1, 2] is 9, and weight_q4_rows holds -8 to 7");
  const auto unpacked = unpack_weight(*find_weight_form(Layout::weight_q8_rows), {2, 3}, std::vector<std::byte>(31));
  ASSERT_FALSE(unpacked);
  EXPECT_TEXT(unpacked.error().message, "31 bytes are given for i8 [2, 3] as weight_q8_rows, which takes 32");
}

TEST(WeightForms, SumRows) {
  HostTensor matrix = zeros(DType::i8, {2, 131072});
  for (int64_t k = 0; k < 131072; ++k) set_element(matrix, k, -128);
  EXPECT_EQ(row_sums(matrix), (std::vector<int32_t>{-(1 << 24), 0}));
  EXPECT_EQ(row_sums(zeros(DType::i8, {2, 0})), (std::vector<int32_t>{0, 0}));
}

TEST(WeightForms, SumRunsOfRows) {
  HostTensor matrix = zeros(DType::i8, {2, 5});
  for (int64_t i = 0; i < 10; ++i) set_element(matrix, i, static_cast<double>(i));
  EXPECT_EQ(run_sums(matrix, 2), (std::vector<int32_t>{0 + 1, 2 + 3, 4, 5 + 6, 7 + 8, 9}));
  EXPECT_EQ(run_sums(matrix, 5), row_sums(matrix));
  EXPECT_EQ(run_sums(zeros(DType::i8, {2, 0}), 0), (std::vector<int32_t>{0, 0}));
}

// 2^59 rows of whole 16-byte loads are past 64 bits, and wrapped.
TEST(WeightForms, SizesSaturate) {
  for (const WeightForm& form : weight_forms()) {
    EXPECT_GE(packed_bytes(form, {int64_t{1} << 59, 1}), int64_t{1} << 59) << name(form.layout);
    EXPECT_EQ(packed_bytes(form, {int64_t{1} << 59, 0}), 0) << name(form.layout);
  }
}

TEST(WeightForms, AWindowMayHaveNoTap) {
  const HostTensor source = zeros(DType::i8, {4, 4, 3, 0});
  for (const WeightForm& form : weight_forms()) EXPECT_EQ(pack_weight(form, source)->size(), 0u) << name(form.layout);
}

}  // namespace
}  // namespace qgen
