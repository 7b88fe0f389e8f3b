// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// pack_weight on every kernel: the bytes that the host packs, padding too, and the golden blocks of an independent
// implementation.
#include "runtime/operators/weight_packing.h"

#include <cstring>

#include "runtime/library/layout_table.h"
#include "runtime/operators/linear.h"
#include "runtime/tensor/weight_form.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using testing::Random;

class WeightPackingTest : public testing::KernelTest {
 protected:
  std::vector<std::byte> packed_on_device(const HostTensor& source, Layout form) {
    Context on_device = context();
    const auto uploaded = on_device.executor.upload(source, Storage::buffer);
    EXPECT_TRUE(uploaded) << to_text(uploaded.error());
    const auto packed = pack_weight(on_device, *uploaded, form);
    EXPECT_TRUE(packed) << to_text(packed.error());
    return *on_device.executor.download_stored(*packed);
  }
};

HostTensor weight_of(const WeightForm& form, const Shape& shape) {
  return form.bits == 4 ? Random(1).integers(DType::i8, shape, -8, 7) : Random(1).integers(DType::i8, shape, -128, 127);
}

TEST_F(WeightPackingTest, GivesTheBytesOfTheHost) {
  const Shape kShapes[] = {{1, 1}, {1, 64}, {4, 4}, {5, 3}, {8, 16}, {9, 17}, {13, 130}, {70, 33}, {0, 5}, {3, 0}};
  for (const WeightForm& form : weight_forms()) {
    for (const Shape& shape : kShapes) {
      SCOPED_TRACE(fmt::format("{} as {}", to_text(shape), name(form.layout)));
      const HostTensor source = weight_of(form, shape);
      EXPECT_EQ(packed_on_device(source, form.layout), *pack_weight(form, source));
      expect_reference("pack_weight",
                       {.inputs = {{"source", source}}, .attributes = {{"form", std::string(name(form.layout))}}});
    }
  }
}

// Nobody has looked at what is on the device: what four bits cannot hold becomes what they hold next to it.
TEST_F(WeightPackingTest, ClampsToFourBits) {
  Request request{.inputs = {{"source", testing::tensor_of(DType::i8, {2, 3}, {-128, -9, -8, 7, 8, 127})}}};
  request.attributes["form"] = std::string("weight_q4_rows");
  expect_reference("pack_weight", request);
}

// N = 12, K = 8; int8 ((7n + 11k) mod 255) - 127, and of four bits ((3n + 5k) mod 16) - 8.
TEST_F(WeightPackingTest, GivesTheGoldenBlocks) {
  struct Golden {
    Layout form;
    size_t block;  // the n-th of 16 bytes
    uint32_t words[4];
  };
  const Golden kGolden[] = {
      {Layout::weight_q8_4k4n, 0, {0xa2978c81, 0xa99e9388, 0xb0a59a8f, 0xb7aca196}},
      {Layout::weight_q8_4k4n, 1 * 3 + 2, {0x06fbf0e5, 0x0d02f7ec, 0x1409fef3, 0x1b1005fa}},
      {Layout::weight_q4_8n4k, 0, {0xbf6a15c0, 0xe29d48f3, 0x15c07b26, 0x48f3ae59}},
      {Layout::weight_q4_8n4k, 1 * 2 + 1, {0x8b86818c, 0x8e89848f, 0x818c8782, 0x848f8a85}},
      {Layout::weight_q4_4k8n, 0, {0x2fda8530, 0x8530eb96, 0xeb9641fc, 0x41fca752}},
      {Layout::weight_q4_4k8n, 1 * 2 + 1, {0xeb9641fc, 0x41fca752, 0x88888888, 0x88888888}},
  };
  HostTensor eight = zeros(DType::i8, {12, 8}), four = eight;
  for (int64_t n = 0; n < 12; ++n) {
    for (int64_t k = 0; k < 8; ++k) {
      eight.as<int8_t>()[n * 8 + k] = static_cast<int8_t>((7 * n + 11 * k) % 255 - 127);
      four.as<int8_t>()[n * 8 + k] = static_cast<int8_t>((3 * n + 5 * k) % 16 - 8);
    }
  }
  for (const Golden& golden : kGolden) {
    const auto bytes = packed_on_device(find_weight_form(golden.form)->bits == 8 ? eight : four, golden.form);
    ASSERT_GE(bytes.size(), 16 * (golden.block + 1));
    uint32_t words[4];
    std::memcpy(words, bytes.data() + 16 * golden.block, sizeof words);
    EXPECT_TRUE(std::ranges::equal(words, golden.words)) << name(golden.form) << " block " << golden.block;
  }
}

// Packed on the device or loaded from a file: the kernels find what the host would have made.
TEST_F(WeightPackingTest, MakesFormsThatWeightsKeep) {
  Context on_device = context();
  Executor& executor = on_device.executor;
  const HostTensor source = Random(2).integers(DType::i8, {12, 40}, -128, 127);
  const HostTensor x = Random(3).integers(DType::i8, {3, 40}, -128, 127);
  const auto input = executor.upload(x, Storage::buffer);
  const auto scales = executor.upload(Random(4).reals(DType::f32, {12}, 0.01, 0.02), Storage::buffer);
  ASSERT_TRUE(input && scales);
  const auto outputs = [&](Weight& weight) {
    const auto y = q8ta_linear(on_device, *input, weight, *scales, nullptr, {.input_scale = 0.02F, .output_scale = 2});
    EXPECT_TRUE(y) << to_text(y.error());
    return executor.download(*y)->data;
  };
  auto made = Weight::create(source, {});
  ASSERT_TRUE(made);
  const auto expected = outputs(*made);

  const auto on_its_own = executor.upload(source, Storage::buffer);
  for (const Layout form : {Layout::weight_q8_4k4n, Layout::weight_q8_rows, Layout::weight_q8_panels}) {
    auto kept = Weight::create(source, {});
    auto packed = pack_weight(on_device, *on_its_own, form);
    ASSERT_TRUE(kept && packed);
    const Done keeps = kept->keep(*std::move(packed));
    ASSERT_TRUE(keeps) << to_text(keeps.error());
    EXPECT_EQ(kept->form_bytes(), static_cast<uint64_t>(packed_bytes(*find_weight_form(form), source.shape)));
    EXPECT_EQ(outputs(*kept), expected) << name(form);

    const auto saved = made->packed(form);
    ASSERT_TRUE(saved) << to_text(saved.error());
    auto loaded = Weight::create(*read_packed_weight(write_packed_weight(*saved)), {});
    ASSERT_TRUE(loaded) << to_text(loaded.error());
    EXPECT_EQ(outputs(*loaded), expected) << name(form);
    EXPECT_EQ(*executor.download_stored(**loaded->form(executor, form)), saved->bytes) << name(form);
  }
}

TEST_F(WeightPackingTest, Refusals) {
  const auto said = [](const TensorDesc& source, Layout form) {
    const auto call = pack_weight_call(source, form);
    return call ? "accepted" : to_text(call.error());
  };
  EXPECT_EQ(said({DType::i8, {4, 5}}, Layout::weight_q8_rows), "accepted");
  EXPECT_EQ(said({DType::f32, {4, 5}}, Layout::weight_q8_rows),
            "f32 [4, 5] is no weight, which is a matrix [N, K] of i8");
  EXPECT_EQ(said({DType::i8, {4, 5}, Storage::buffer, Layout::packed_4w}, Layout::weight_q8_rows),
            "source is i8 in a buffer as packed_4w, and must be i8 in a plain buffer");
  EXPECT_EQ(said({DType::i8, {4, 5}}, Layout::packed_4w), "packed_4w is no form of a weight");
  EXPECT_EQ(said({DType::i8, {80000, 80000}}, Layout::weight_q8_rows),
            "output with its padding of shape [80000, 80000] has 6400000000 elements, and kernels count to 4294967295\n"
            "  hint: split the batch");
}

}  // namespace
}  // namespace qgen
