// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Tensors on the device: there and back in every layout, poisoned, and refused where they do not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine/tensor/packed_layout.h"
#include "runtime/engine/tensor/weight_form.h"
#include "tests/runtime/engine/dispatch/executor_fixture.h"
#include "tests/support/expected_text.h"
#include "vocabulary/layouts.h"

namespace qgen {
namespace {

using testing::counting;
using testing::ExecutorTest;
using ::testing::HasSubstr;
using testing::iota;
using testing::of;

constexpr Layout kPackings[] = {Layout::width_packed, Layout::height_packed, Layout::channels_packed};

TEST_F(ExecutorTest, BuffersComeBack) {
  for (const DType dtype :
       {DType::f32, DType::f16, DType::bf16, DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32}) {
    for (const Shape& shape : {Shape{}, {1}, {7}, {3, 5}, {2, 3, 5, 7}, {1, 2, 1, 3, 1, 2, 1, 5}}) {
      const HostTensor tensor = counting(dtype, shape);
      EXPECT_EQ(download(upload(tensor)).data, tensor.data) << name(dtype) << " " << to_text(shape);
    }
  }
}

TEST_F(ExecutorTest, PackedBuffersComeBack) {
  const Shape shapes[] = {{}, {5}, {3, 5}, {6, 3, 5}, {2, 6, 3, 5}, {2, 3, 6, 3, 5}, {0, 6, 3, 5}};
  for (const LayoutInfo& row : kLayouts) {
    if (!row.is_packed_bytes()) continue;
    for (const Shape& shape : shapes) {
      for (const DType dtype : {DType::i8, DType::u8}) {
        const HostTensor host = counting(dtype, shape);
        const DeviceTensor tensor = upload(host, Storage::buffer, row.layout);
        EXPECT_EQ(download(tensor).data, host.data) << row.name << " " << to_text(shape);
        std::vector<std::byte> packed(static_cast<size_t>(packed_layout(shape, row.dims).elements()));
        pack_elements(host, row.dims, packed);
        EXPECT_EQ(*executor().download_stored(tensor), packed) << row.name << " " << to_text(shape);
        EXPECT_TRUE(*executor().holds(tensor, packed)) << row.name << " " << to_text(shape);
        if (packed.empty()) continue;
        packed.back() ^= std::byte{1};
        EXPECT_FALSE(*executor().holds(tensor, packed)) << row.name << " " << to_text(shape);
        packed.pop_back();
        EXPECT_FALSE(*executor().holds(tensor, packed)) << "fewer bytes";
      }
    }
  }
}

TEST_F(ExecutorTest, WeightsComeBack) {
  for (const WeightForm& form : weight_forms()) {
    for (const Shape& shape : {Shape{0, 5}, {1, 1}, {5, 3}, {9, 130}, {5, 3, 2}, {5, 3, 2, 3}}) {
      HostTensor host = zeros(DType::i8, shape);
      for (int64_t i = 0; i < element_count(shape); ++i) set_element(host, i, static_cast<double>(i % 16 - 8));
      const DeviceTensor weight = upload(host, Storage::buffer, form.layout);
      EXPECT_EQ(download(weight).data, host.data) << name(form.layout) << " " << to_text(shape);
      EXPECT_EQ(*executor().download_stored(weight), *pack_weight(form, host))
          << name(form.layout) << " " << to_text(shape);
    }
  }
  const auto refused = executor().allocate(DType::i8, {6}, Storage::buffer, Layout::weight_q8_rows);
  ASSERT_FALSE(refused);
  EXPECT_TEXT(refused.error().message, "i8 [6] is no weight: weights are [N, K], [N, C, W] or [N, C, H, W] of i8");
}

TEST_F(ExecutorTest, TexturesComeBack) {
  for (const DType dtype :
       {DType::f32, DType::f16, DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32}) {
    for (const Layout layout : kPackings) {
      for (const Shape& shape : {Shape{}, {1}, {7}, {3, 5}, {5, 3, 2}, {2, 5, 3, 6}}) {
        const HostTensor tensor = counting(dtype, shape);
        const DeviceTensor uploaded = upload(tensor, Storage::texture3d, layout);
        EXPECT_EQ(download(uploaded).data, tensor.data) << name(dtype) << " " << name(layout) << " " << to_text(shape);
      }
    }
  }
}

TEST_F(ExecutorTest, EmptyTensorsWork) {
  for (const Shape& shape : {Shape{0}, {3, 0}, {2, 0, 4, 5}}) {
    EXPECT_TRUE(download(upload(zeros(DType::f16, shape))).data.empty());
    const DeviceTensor texture = upload(zeros(DType::f32, shape), Storage::texture3d, Layout::channels_packed);
    EXPECT_TRUE(download(texture).data.empty());
    EXPECT_TRUE(executor().fill(texture, 0xff));
  }
}

// Past one staging buffer, and not a multiple of it.
TEST_F(ExecutorTest, LargeTensorsGoInPieces) {
  HostTensor tensor = zeros(DType::i32, {(int64_t{70} << 20) / 4 + 3});
  const auto values = tensor.as<int32_t>();
  std::iota(values.begin(), values.end(), 0);
  EXPECT_EQ(download(upload(tensor)).data, tensor.data);

  HostTensor image = zeros(DType::f32, {10, 700, 2600});  // 2 slices fit at once
  uint32_t next = 0;
  for (float& value : image.as<float>()) value = static_cast<float>(next++ % 65521);
  EXPECT_EQ(download(upload(image, Storage::texture3d, Layout::width_packed)).data, image.data);
}

TEST_F(ExecutorTest, FillPoisonsEveryByte) {
  const DeviceTensor buffer = upload(counting(DType::i8, {13}));
  ASSERT_TRUE(executor().fill(buffer, 0xa5));
  for (const std::byte byte : download(buffer).data) EXPECT_EQ(byte, std::byte{0xa5});
  const DeviceTensor texture = upload(counting(DType::u16, {3, 5}), Storage::texture3d, Layout::width_packed);
  ASSERT_TRUE(executor().fill(texture, 0x7e));
  for (const std::byte byte : download(texture).data) EXPECT_EQ(byte, std::byte{0x7e});
}

TEST_F(ExecutorTest, WriteReplacesTheContents) {
  const DeviceTensor tensor = upload(of({1, 2, 3}));
  ASSERT_TRUE(executor().write(tensor, of({7, 8, 9})));
  EXPECT_EQ(integers(tensor), (std::vector<int32_t>{7, 8, 9}));
  EXPECT_TEXT(executor().write(tensor, of({1, 2})).error().message, "i32 [2] cannot be written to a tensor of i32 [3]");
  HostTensor torn = of({1, 2, 3});
  torn.data.pop_back();
  EXPECT_TEXT(executor().write(tensor, torn).error().message,
              "a host tensor of i32 holds 11 bytes, and its shape [3] takes 12");
}

TEST_F(ExecutorTest, RefusesWhatDoesNotFit) {
  const DeviceProfile& profile = device().profile();
  const auto refused = [&](DType dtype, const Shape& shape, Storage storage, Layout layout) {
    const auto made = executor().allocate(dtype, shape, storage, layout);
    EXPECT_FALSE(made) << to_text(shape);
    return made ? "" : made.error().message;
  };
  const int64_t limit = profile.numbers.max_storage_buffer_bytes;
  EXPECT_EQ(refused(DType::i8, {limit + 1}, Storage::buffer, Layout::strided),
            "a buffer of i8 [" + std::to_string(limit + 1) + "] takes " + std::to_string(limit + 1) + " bytes, and '" +
                profile.name + "' binds at most " + std::to_string(limit) + " at once");
  EXPECT_THAT(refused(DType::f32, {int64_t{1} << 30, 1 << 29}, Storage::buffer, Layout::strided),
              HasSubstr("takes 2305843009213693952 bytes"));
  const std::string extent = std::to_string(profile.numbers.max_image_extent);
  EXPECT_THAT(refused(DType::f32, {int64_t{1} << 20}, Storage::texture3d, Layout::height_packed),
              HasSubstr("a texture of 1048576 x 1 x 1 texels exceeds the device's limit of "));
  EXPECT_TEXT(refused(DType::f32, {1, 2, 3, 4, 5}, Storage::texture3d, Layout::width_packed),
              "shape [1, 2, 3, 4, 5] has rank 5, and textures hold ranks up to 4");
  EXPECT_TEXT(refused(DType::bf16, {4}, Storage::texture3d, Layout::width_packed),
              "bf16 has no image format, so it cannot be held in a texture");
  EXPECT_TEXT(refused(DType::f32, {4}, Storage::buffer, Layout::width_packed),
              "a buffer of f32 [4] cannot have the layout width_packed");
  EXPECT_TEXT(refused(DType::f32, {4}, Storage::buffer, Layout::packed_4c),
              "a buffer of f32 [4] cannot have the layout packed_4c");
  EXPECT_TEXT(refused(DType::i8, {4}, Storage::texture3d, Layout::packed_4c),
              "a texture cannot have the layout packed_4c");
  // Each element of a vector takes a word where channels are packed.
  EXPECT_EQ(refused(DType::i8, {limit / 4 + 1}, Storage::buffer, Layout::packed_4c),
            "a buffer of i8 [" + std::to_string(limit / 4 + 1) + "] takes " + std::to_string(limit / 4 * 4 + 4) +
                " bytes, and '" + profile.name + "' binds at most " + std::to_string(limit) + " at once");
  EXPECT_TEXT(refused(DType::f32, {-1}, Storage::buffer, Layout::strided), "shape [-1] has a negative dimension");
}

TEST_F(ExecutorTest, RefusesMemoryThatIsNotThere) {
  const auto memory = static_cast<int64_t>(device().profile().device_memory_bytes);
  std::vector<DeviceTensor> tensors;
  const int64_t piece = std::min<int64_t>(device().profile().numbers.max_storage_buffer_bytes, int64_t{1} << 27);
  if (memory / piece > 32) GTEST_SKIP() << "this device has " << memory << " bytes, too many to fill";
  for (int64_t i = 0; i <= memory / piece; ++i) {
    auto made = executor().allocate(DType::i8, {piece}, Storage::buffer);
    if (!made) {
      EXPECT_EQ(made.error().kind, Error::Kind::device);
      EXPECT_THAT(made.error().message, HasSubstr("out of device memory: " + std::to_string(piece) + " bytes"));
      return;
    }
    tensors.push_back(*std::move(made));
  }
}

TEST_F(ExecutorTest, AnothersTensorsAreRefused) {
  Executor other = make_executor({});
  const DeviceTensor tensor = upload(of({1, 2}));
  const auto reason = [](const auto& refused) {
    return refused ? std::string("not refused") : refused.error().message;
  };
  constexpr std::string_view kReason = "a tensor of i32 [2] belongs to another executor";
  EXPECT_EQ(reason(other.write(tensor, of({3, 4}))), kReason);
  EXPECT_EQ(reason(other.download(tensor)), kReason);
  EXPECT_EQ(reason(other.download_stored(tensor)), kReason);
  EXPECT_EQ(reason(other.holds(tensor, {})), kReason);
  EXPECT_EQ(reason(other.write_stored(tensor, std::vector<std::byte>(8))), kReason);
  EXPECT_EQ(reason(other.fill(tensor, 0)), kReason);
  EXPECT_EQ(reason(other.guards_are_intact(tensor)), kReason);

  const Choice add = testing::kit().choice("add.i32", {1, 1, 1}, testing::Count{2, 0});
  const Work work{&add, {&tensor}};
  EXPECT_EQ(reason(other.record({&work, 1})), kReason);
  auto recording = executor().record({&work, 1});
  ASSERT_TRUE(recording) << to_text(recording.error());
  EXPECT_TEXT(reason(other.run(*recording)), "the recording belongs to another executor");
  EXPECT_TEXT(reason(other.time(*recording)), "the recording belongs to another executor");
  EXPECT_EQ(integers(tensor), (std::vector<int32_t>{1, 2}));
}

}  // namespace
}  // namespace qgen
