// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Packed weights as bytes: there and back, and each way in which bytes are none.
#include "runtime/engine/tensor/packed_weight.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/expected_text.h"

namespace qgen {
namespace {

HostTensor sample() {
  HostTensor matrix = zeros(DType::i8, {5, 35});
  for (int64_t i = 0; i < 5 * 35; ++i) matrix.as<int8_t>()[i] = static_cast<int8_t>(i % 16 - 8);
  return matrix;
}

TEST(PackedWeight, ComesBackInEveryForm) {
  for (const WeightForm& form : weight_forms()) {
    const auto packed = pack(form.layout, sample());
    ASSERT_TRUE(packed) << to_text(packed.error());
    const auto read = read_packed_weight(write_packed_weight(*packed));
    ASSERT_TRUE(read) << to_text(read.error());
    EXPECT_EQ(read->layout, form.layout);
    EXPECT_EQ(read->shape, (Shape{5, 35}));
    EXPECT_EQ(read->bytes, packed->bytes);
    EXPECT_EQ(unpack(*read)->data, sample().data);
  }
}

std::vector<std::byte> bytes_of(std::string header, size_t form_bytes) {
  header.resize(63, ' ');
  header += '\n';
  std::vector<std::byte> file(header.size() + form_bytes);
  for (size_t i = 0; i < header.size(); ++i) file[i] = static_cast<std::byte>(header[i]);
  return file;
}

TEST(PackedWeight, IsLaidOutAsItSays) {
  const PackedWeight packed{Layout::weight_q8_rows, {1, 3}, std::vector<std::byte>(16)};
  EXPECT_EQ(write_packed_weight(packed), bytes_of("qgen weight 1 weight_q8_rows 1 3", 16));
}

TEST(PackedWeight, RefusesOtherBytes) {
  const auto said = [](const std::vector<std::byte>& file) {
    const auto read = read_packed_weight(file);
    return read ? "accepted" : to_text(read.error());
  };
  EXPECT_EQ(said(bytes_of("qgen weight 1 weight_q8_rows 1 3", 16)), "accepted");
  const std::string foreign =
      "these bytes are no packed weight: they do not begin with 64 that start with 'qgen weight 1 '";
  EXPECT_EQ(said({}), foreign);
  EXPECT_EQ(said(bytes_of("qgen weight 2 weight_q8_rows 1 3", 16)), foreign);
  EXPECT_TEXT(said(bytes_of("qgen weight 1 weight_q8_row 1 3", 16)),
              "'weight_q8_row' is no weight form\n"
              "  hint: possible are weight_q8_4k4n, weight_q8_rows, weight_q8_lines, weight_q8_4n, weight_q4_rows");
  EXPECT_TEXT(said(bytes_of("qgen weight 1 packed_4w 1 3", 16)).substr(0, 33),
              "'packed_4w' is no weight form\n"
              "  h");
  EXPECT_TEXT(said(bytes_of("qgen weight 1 weight_q8_rows 1", 16)),
              "the packed weight lacks two dimensions after its form");
  EXPECT_TEXT(said(bytes_of("qgen weight 1 weight_q8_rows -1 3", 16)),
              "the packed weight lacks two dimensions after its form");
  EXPECT_TEXT(said(bytes_of("qgen weight 1 weight_q8_rows 99999999999 3", 16)),
              "the packed weight lacks two dimensions after its form");
  EXPECT_TEXT(said(bytes_of("qgen weight 1 weight_q8_rows 4294967295 4294967295", 16)),
              "shape [4294967295, 4294967295] has more than 2^60 elements");
  EXPECT_TEXT(said(bytes_of("qgen weight 1 weight_q8_rows 2 3", 16)),
              "the packed weight holds 16 bytes, and [2, 3] as weight_q8_rows takes 32");
}

TEST(PackedWeights, AreNotMadeOfTornMatrices) {
  for (const size_t size : {size_t{0}, size_t{7}, size_t{4} << 20}) {
    const auto packed = pack(Layout::weight_q8_rows, {DType::i8, {64, 1024}, std::vector<std::byte>(size)});
    ASSERT_FALSE(packed);
    EXPECT_EQ(packed.error().message,
              "the weight holds " + std::to_string(size) + " bytes, and its shape [64, 1024] takes 65536");
  }
}

}  // namespace
}  // namespace qgen
