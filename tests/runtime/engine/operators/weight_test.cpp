// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Weights and their forms: refusals, the effect of a memory limit, and that they are made once.
#include "runtime/engine/calls/weight.h"

#include <gtest/gtest.h>

#include "registry.h"
#include "tests/support/device_test.h"
#include "tests/support/expected_text.h"
#include "tests/support/tensors.h"
#include "vocabulary/layouts.h"

namespace qgen {
namespace {

using testing::tensor_of;

std::string said(const Expected<Weight>& weight) { return weight ? "accepted" : to_text(weight.error()); }

TEST(Weights, SayWhatTheyCannotHold) {
  EXPECT_TEXT(said(Weight::create(zeros(DType::f32, {4, 4}), {})),
              "f32 [4, 4] is no weight: weights are [N, K], [N, C, W] or [N, C, H, W] of i8");
  EXPECT_TEXT(said(Weight::create(zeros(DType::i8, {4}), {})),
              "i8 [4] is no weight: weights are [N, K], [N, C, W] or [N, C, H, W] of i8");
  EXPECT_TEXT(said(Weight::create(zeros(DType::i8, {4, 64}), {.max_form_bytes = 100})),
              "no form of a weight [4, 64] fits 100 bytes\n  hint: raise max_form_bytes");
  const PackedWeight torn{Layout::weight_q8_rows, {4, 64}, std::vector<std::byte>(255)};
  EXPECT_TEXT(said(Weight::create(torn, {})), "255 bytes are given for i8 [4, 64] as weight_q8_rows, which takes 256");
}

// Zero points were loaded, and never used.
TEST(Weights, A7_ZeroPointsAreLookedAt) {
  const int32_t zeros_only[] = {0, 0}, one[] = {0, 3};
  EXPECT_TRUE(Weight::create(zeros(DType::i8, {2, 4}), {.zero_points = zeros_only}));
  EXPECT_TEXT(
      said(Weight::create(zeros(DType::i8, {2, 4}), {.zero_points = one})),
      "weight zero point [1] is 3, and kernels take symmetric weights\n  hint: quantize the weight with zero point 0");
}

// 4 MB for a shape of eight elements crashed, and seven bytes for 65,536 packed the memory after them.
TEST(Weights, BytesMustFitTheShape) {
  EXPECT_TEXT(said(Weight::create({DType::i8, {2, 4}, std::vector<std::byte>(4 << 20)}, {})),
              "the weight holds 4194304 bytes, and its shape [2, 4] takes 8");
  EXPECT_TEXT(said(Weight::create({DType::i8, {64, 1024}, std::vector<std::byte>(7)}, {})),
              "the weight holds 7 bytes, and its shape [64, 1024] takes 65536");
  EXPECT_TEXT(said(Weight::create({DType::i8, {0, 1024}, std::vector<std::byte>(7)}, {})),
              "the weight holds 7 bytes, and its shape [0, 1024] takes 0");
  const PackedWeight vast{Layout::weight_q8_rows, {int64_t{1} << 59, 1}, std::vector<std::byte>(64)};
  EXPECT_NE(said(Weight::create(vast, {})).find("64 bytes are given for i8 [576460752303423488, 1]"),
            std::string::npos);
}

class WeightTest : public testing::DeviceTest {
 protected:
  KernelLibrary library = *KernelLibrary::open(generated::library());
  Executor executor = *Executor::create(device(), library, {});
};

TEST_F(WeightTest, MakesAFormOnceAndWithinItsBound) {
  auto weight = Weight::create(tensor_of(DType::i8, {4, 64}, {1, -8, 7}), {.max_form_bytes = 400});
  ASSERT_TRUE(weight);
  const auto first = weight->form(executor, Layout::weight_q8_rows);
  ASSERT_TRUE(first) << to_text(first.error());
  EXPECT_EQ(weight->form_bytes(), 256u);
  EXPECT_EQ(*weight->form(executor, Layout::weight_q8_rows), *first);
  // 144 bytes are left: for four bits.
  EXPECT_EQ(weight->layouts(), bit(Layout::weight_q8_rows) | bit(Layout::weight_q4_rows));
  const auto past = weight->form(executor, Layout::weight_q8_4k4n);
  ASSERT_FALSE(past);
  EXPECT_TEXT(to_text(past.error()),
              "a weight [4, 64] takes 256 bytes as weight_q8_4k4n, and 144 of the 400 bytes for its forms are free\n"
              "  hint: raise max_form_bytes, or choose a kernel that reads a form that was already made");
  EXPECT_TEXT(to_text(weight->form(executor, Layout::strided).error()), "strided is no weight form");
}

TEST_F(WeightTest, KeepsFormsThatFit) {
  auto weight = Weight::create(zeros(DType::i8, {4, 64}), {.max_form_bytes = 400});
  ASSERT_TRUE(weight);
  const auto kept = [&](const Shape& shape, Layout layout) {
    const Done done = weight->keep(*executor.allocate(DType::i8, shape, Storage::buffer, layout));
    return done ? "kept" : to_text(done.error());
  };
  EXPECT_TEXT(kept({4, 65}, Layout::weight_q8_rows), "a form of a weight [4, 65] is given for a weight [4, 64]");
  EXPECT_TEXT(kept({4, 64}, Layout::strided), "strided is no weight form");
  EXPECT_EQ(kept({4, 64}, Layout::weight_q8_rows), "kept");
  EXPECT_EQ(kept({4, 64}, Layout::weight_q8_rows), "kept");
  EXPECT_EQ(weight->form_bytes(), 256u);
  EXPECT_TEXT(kept({4, 64}, Layout::weight_q8_4k4n).substr(0, 50),
              "a weight [4, 64] takes 256 bytes as weight_q8_4k4n");
}

// A run of 0 was a division by it.
TEST_F(WeightTest, SumsOfAnyRun) {
  auto weight = Weight::create(tensor_of(DType::i8, {2, 5}, {1, -8, 7}), {});
  ASSERT_TRUE(weight);
  for (const auto& [run, shape] : {std::pair(int64_t{0}, Shape{2, 5}), {2, {2, 3}}, {5, {2}}, {1 << 30, {2}}}) {
    const auto sums = weight->sums(executor, run);
    ASSERT_TRUE(sums) << to_text(sums.error());
    EXPECT_EQ((*sums)->shape(), shape) << run;
  }
}

// A weight that is only on the device comes to the host when another form is made of it.
TEST_F(WeightTest, TakesAFormFromTheDevice) {
  const HostTensor codes = tensor_of(DType::i8, {4, 64}, {1, -8, 7});
  auto weight = Weight::create(*executor.upload(codes, Storage::buffer, Layout::weight_q4_rows), {});
  ASSERT_TRUE(weight) << to_text(weight.error());
  EXPECT_EQ(weight->form_bytes(), 128u);
  EXPECT_TRUE(weight->fits_four_bits());
  const auto sums = weight->sums(executor);
  ASSERT_TRUE(sums) << to_text(sums.error());
  EXPECT_EQ(executor.download(**sums)->data, make_tensor<int32_t>(DType::i32, {4}, row_sums(codes)).data);
  const auto eight = weight->form(executor, Layout::weight_q8_rows);
  ASSERT_TRUE(eight) << to_text(eight.error());
  EXPECT_EQ(executor.download(**eight)->data, codes.data);

  const auto refused = [&](const Shape& shape, Layout layout, const WeightOptions& options) {
    const auto made = Weight::create(*executor.allocate(DType::i8, shape, Storage::buffer, layout), options);
    return made ? "accepted" : to_text(made.error());
  };
  EXPECT_EQ(refused({4, 64}, Layout::weight_q8_rows, {}), "accepted");
  EXPECT_TEXT(refused({4, 64}, Layout::strided, {}), "strided is no weight form");
  EXPECT_TEXT(refused({64}, Layout::strided, {}),
              "i8 [64] is no weight: weights are [N, K], [N, C, W] or [N, C, H, W] of i8");
  EXPECT_TEXT(refused({4, 64}, Layout::weight_q8_rows, {.max_form_bytes = 200}),
              "a weight [4, 64] takes 256 bytes as weight_q8_rows, and 200 of the 200 bytes for its forms are free\n"
              "  hint: raise max_form_bytes, or choose a kernel that reads a form that was already made");
}

}  // namespace
}  // namespace qgen
