// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Everything that needs a device: memory both ways, pipelines, recordings, recipes, guards, timing, the cache on disk.
#include "runtime/dispatch/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <numeric>

#include "runtime/device/handles.h"
#include "runtime/dispatch/pipeline_cache_file.h"
#include "runtime/dispatch/pipelines.h"
#include "runtime/tensor/packed_layout.h"
#include "runtime/tensor/weight_form.h"
#include "tests/runtime/dispatch/kernel_kit.h"
#include "tests/runtime/dispatch/temporary_folder.h"
#include "tests/support/device_test.h"

namespace qgen {
namespace {

using dispatch::Pipelines;
using ::testing::HasSubstr;
using testing::KernelKit;
using testing::Sketch;
using testing::TemporaryFolder;

constexpr Layout kPackings[] = {Layout::width_packed, Layout::height_packed, Layout::channels_packed};

// ---- kernels -----------------------------------------------------------------------------------------------------------

struct Count {
  uint32_t count = 0;
  uint32_t value = 0;
};

constexpr OperandForm kF32Buffer{DType::f32, Storage::buffer, 0};
constexpr OperandForm kI32Buffer{DType::i32, Storage::buffer, 0};
constexpr BindingInfo kReads0{0, 0, BindingKind::storage_buffer, Access::read};
constexpr BindingInfo kWrites0{0, 0, BindingKind::storage_buffer, Access::write};
constexpr BindingInfo kUpdates0{0, 0, BindingKind::storage_buffer, Access::read_write};
constexpr BindingInfo kWrites1{1, 1, BindingKind::storage_buffer, Access::write};
const std::vector<BlockField> kCountPushed = {{0, offsetof(Count, count), 4}, {4, offsetof(Count, value), 4}};

#define HEAD "#version 450\nlayout(push_constant, std430) uniform Problem { uint count; uint value; } problem;\n"
#define WORKGROUP_INDEX                                                       \
  "uint workgroup_index() { return gl_WorkGroupID.x + gl_NumWorkGroups.x *"   \
  " (gl_WorkGroupID.y + gl_NumWorkGroups.y * gl_WorkGroupID.z); }\n"

// The workgroup size is specialization constant 0.
constexpr std::string_view kCopy = HEAD WORKGROUP_INDEX R"(
layout(local_size_x_id = 0) in;
layout(std430, binding = 0) readonly buffer Input { int input_data[]; };
layout(std430, binding = 1) writeonly buffer Output { int output_data[]; };
void main() {
  uint i = workgroup_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (i < problem.count) output_data[i] = input_data[i];
})";

constexpr std::string_view kAdd = HEAD WORKGROUP_INDEX R"(
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Data { int data[]; };
void main() {
  uint i = workgroup_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (i < problem.count) data[i] += int(problem.value);
})";

// Reads its mirror image: wrong unless everything before it is done.
constexpr std::string_view kMirror = HEAD R"(
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Input { int input_data[]; };
layout(std430, binding = 1) writeonly buffer Output { int output_data[]; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < problem.count) output_data[i] = input_data[problem.count - 1 - i] + int(problem.value);
})";

// Writes one element, wherever it is told to.
constexpr std::string_view kPoke = HEAD R"(
layout(local_size_x = 1) in;
layout(std430, binding = 0) writeonly buffer Data { int data[]; };
void main() { data[problem.count] = int(problem.value); })";

constexpr std::string_view kNegateI8 = R"(#version 450
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
layout(push_constant, std430) uniform Problem { uint count; uint value; } problem;
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Input { int8_t input_data[]; };
layout(std430, binding = 1) writeonly buffer Output { int8_t output_data[]; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < problem.count) output_data[i] = int8_t(-int(input_data[i]));
})";

constexpr std::string_view kDoubleF16 = R"(#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
layout(push_constant, std430) uniform Problem { uint count; uint value; } problem;
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Input { float16_t input_data[]; };
layout(std430, binding = 1) writeonly buffer Output { float16_t output_data[]; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < problem.count) output_data[i] = input_data[i] + input_data[i];
})";

constexpr std::string_view kDoubleTexture = R"(#version 450
layout(local_size_x = 4, local_size_y = 4, local_size_z = 4) in;
layout(binding = 0, rgba32f) uniform readonly restrict image3D input_image;
layout(binding = 1, rgba32f) uniform writeonly restrict image3D output_image;
void main() {
  ivec3 at = ivec3(gl_GlobalInvocationID);
  if (all(lessThan(at, imageSize(output_image)))) imageStore(output_image, at, 2.0 * imageLoad(input_image, at));
})";

// 40 words: too many for push constants everywhere.
struct Wide {
  uint32_t values[40];
};
constexpr std::string_view kWide = R"(#version 450
layout(local_size_x = 40) in;
layout(std430, binding = 0) writeonly buffer Output { int output_data[]; };
layout(std430, binding = 1) readonly buffer ProblemBuffer { uint values[40]; } problem;
void main() { output_data[gl_LocalInvocationID.x] = int(problem.values[gl_LocalInvocationID.x]); })";

constexpr std::string_view kBias = HEAD R"(
layout(local_size_x = 64) in;
layout(std430, binding = 0) writeonly buffer Output { int output_data[]; };
layout(std430, binding = 1) readonly buffer Bias { int bias_data[]; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < problem.count) output_data[i] = problem.value != 0 ? bias_data[i] : 1;
})";

constexpr std::string_view kSubgroup = R"(#version 450
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) writeonly buffer Output { int output_data[]; };
void main() { output_data[gl_LocalInvocationID.x] = int(gl_SubgroupSize); })";

std::vector<Sketch> sketches() {
  const std::vector<OperandInfo> in_out = {{"input", Access::read, false}, {"output", Access::write, false}};
  const std::vector<OperandInfo> data = {{"data", Access::read_write, false}};
  const std::vector<OperandInfo> output = {{"output", Access::write, false}};
  const auto both = [](DType dtype) { return std::vector<OperandForm>(2, {dtype, Storage::buffer, 0}); };
  const std::vector<OperandForm> textures(2, {DType::f32, Storage::texture3d, 0});
  constexpr OperandForm kWidthPacked{DType::f32, Storage::texture3d, 1u << static_cast<unsigned>(Layout::width_packed)};
  const std::vector<BindingInfo> images = {{0, 0, BindingKind::storage_image, Access::read},
                                           {1, 1, BindingKind::storage_image, Access::write}};
  const BlockField wide{0, 0, sizeof(Wide)};
  std::vector<Sketch> all;
  all.push_back({.id = "add.i32", .glsl = kAdd, .operands = data, .forms = {kI32Buffer}, .bindings = {kUpdates0},
                 .push_constants = kCountPushed});
  all.push_back({.id = "bias.i32", .glsl = kBias,
                 .operands = {{"output", Access::write, false}, {"bias", Access::read, true}},
                 .forms = both(DType::i32),
                 .bindings = {kWrites0, {1, 1, BindingKind::storage_buffer, Access::read}},
                 .push_constants = kCountPushed});
  all.push_back({.id = "copy.i32", .glsl = kCopy, .operands = in_out, .forms = both(DType::i32),
                 .bindings = {kReads0, kWrites1}, .push_constants = kCountPushed, .workgroups = {64, 128}});
  all.push_back({.id = "double.f16", .glsl = kDoubleF16, .operands = in_out, .forms = both(DType::f16),
                 .bindings = {kReads0, kWrites1}, .push_constants = kCountPushed,
                 .needs = bit(Feature::shader_float16) | bit(Feature::storage_buffer_16bit)});
  all.push_back({.id = "mirror.i32", .glsl = kMirror, .operands = in_out, .forms = both(DType::i32),
                 .bindings = {kReads0, kWrites1}, .push_constants = kCountPushed});
  all.push_back({.id = "negate.i8", .glsl = kNegateI8, .operands = in_out, .forms = both(DType::i8),
                 .bindings = {kReads0, kWrites1}, .push_constants = kCountPushed,
                 .needs = bit(Feature::shader_int8) | bit(Feature::storage_buffer_8bit)});
  all.push_back({.id = "picky.f32", .glsl = kDoubleTexture, .operands = in_out, .forms = {kWidthPacked, kF32Buffer},
                 .bindings = images});
  all.push_back({.id = "poke.i32", .glsl = kPoke, .operands = data, .forms = {kI32Buffer}, .bindings = {kWrites0},
                 .push_constants = kCountPushed});
  all.push_back({.id = "starving.i32", .glsl = kPoke, .operands = data, .forms = {kI32Buffer}, .bindings = {kWrites0},
                 .push_constants = kCountPushed, .needs = bit(Feature::bfloat16)});
  all.push_back({.id = "subgroup.i32", .glsl = kSubgroup, .operands = output, .forms = {kI32Buffer},
                 .bindings = {kWrites0},
                 .required_subgroup_size = 0});
  all.push_back({.id = "texture.f32", .glsl = kDoubleTexture, .operands = in_out, .forms = textures,
                 .bindings = images});
  all.push_back({.id = "wide.i32", .glsl = kWide, .operands = output, .forms = {kI32Buffer},
                 .bindings = {kWrites0, {1, kProblemOperand, BindingKind::storage_buffer, Access::read}},
                 .problem_buffer = {wide}});
  return all;
}

const KernelKit& kit() {
  static const KernelKit kit(sketches());
  return kit;
}

// ---- fixture -----------------------------------------------------------------------------------------------------------

class ExecutorTest : public testing::DeviceTest {
 protected:
  void SetUp() override {
    testing::DeviceTest::SetUp();
    library_.emplace(kit().library());
    executor_.emplace(make_executor({}));
  }
  void TearDown() override {
    executor_.reset();
    testing::DeviceTest::TearDown();
  }

  Executor make_executor(const ExecutorOptions& options) {
    auto made = Executor::create(device(), *library_, options);
    EXPECT_TRUE(made) << to_text(made.error());
    return *std::move(made);
  }
  Executor& executor() { return *executor_; }
  const KernelLibrary& library() { return *library_; }

  DeviceTensor upload(const HostTensor& tensor, Storage storage = Storage::buffer, Layout layout = Layout::strided) {
    auto made = executor().upload(tensor, storage, layout);
    EXPECT_TRUE(made) << to_text(made.error());
    return *std::move(made);
  }
  DeviceTensor allocate(DType dtype, const Shape& shape, Storage storage = Storage::buffer,
                        Layout layout = Layout::strided) {
    auto made = executor().allocate(dtype, shape, storage, layout);
    EXPECT_TRUE(made) << to_text(made.error());
    return *std::move(made);
  }
  HostTensor download(const DeviceTensor& tensor) {
    auto made = executor().download(tensor);
    EXPECT_TRUE(made) << to_text(made.error());
    return *std::move(made);
  }
  std::vector<int32_t> integers(const DeviceTensor& tensor) {
    const HostTensor host = download(tensor);
    const auto values = host.as<int32_t>();
    return {values.begin(), values.end()};
  }

  Recording record(const std::vector<Work>& works) {
    auto made = executor().record(works);
    EXPECT_TRUE(made) << to_text(made.error());
    return *std::move(made);
  }
  void run(Recording& recording) {
    const Done ran = executor().run(recording);
    EXPECT_TRUE(ran) << to_text(ran.error());
  }
  void run(const std::vector<Work>& works) {
    Recording recording = record(works);
    run(recording);
  }
  // The message of a recording that must be refused.
  std::string refusal(const std::vector<Work>& works) {
    const auto recorded = executor().record(works);
    EXPECT_FALSE(recorded);
    return recorded ? "" : recorded.error().message;
  }

 private:
  std::optional<KernelLibrary> library_;
  std::optional<Executor> executor_;
};

HostTensor counting(DType dtype, const Shape& shape) {
  HostTensor tensor = zeros(dtype, shape);
  for (int64_t i = 0; i < element_count(shape); ++i) set_element(tensor, i, static_cast<double>(i % 100 + 1));
  return tensor;
}

std::vector<int32_t> iota(size_t count, int32_t first = 0) {
  std::vector<int32_t> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

HostTensor of(const std::vector<int32_t>& values) {
  HostTensor tensor = zeros(DType::i32, {static_cast<int64_t>(values.size())});
  std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

uint64_t groups_of(uint64_t count, uint64_t workgroup = 64) { return (count + workgroup - 1) / workgroup; }

// ---- memory ------------------------------------------------------------------------------------------------------------

TEST_F(ExecutorTest, BuffersComeBack) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::i8, DType::u8, DType::i16, DType::u16,
                            DType::i32, DType::u32}) {
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
      }
    }
  }
}

TEST_F(ExecutorTest, WeightsComeBack) {
  for (const WeightForm& form : weight_forms()) {
    for (const Shape& shape : {Shape{0, 5}, {1, 1}, {5, 3}, {9, 130}}) {
      HostTensor host = zeros(DType::i8, shape);
      for (int64_t i = 0; i < element_count(shape); ++i) set_element(host, i, static_cast<double>(i % 16 - 8));
      const DeviceTensor weight = upload(host, Storage::buffer, form.layout);
      EXPECT_EQ(download(weight).data, host.data) << name(form.layout) << " " << to_text(shape);
      EXPECT_EQ(*executor().download_stored(weight), *pack_weight(form, host)) << name(form.layout) << " " << to_text(shape);
    }
  }
  const auto refused = executor().allocate(DType::i8, {1, 2, 3}, Storage::buffer, Layout::weight_q8_rows);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "i8 [1, 2, 3] is no weight, which is a matrix [N, K] of i8");
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
  EXPECT_EQ(executor().write(tensor, of({1, 2})).error().message,
            "i32 [2] cannot be written to a tensor of i32 [3]");
  HostTensor torn = of({1, 2, 3});
  torn.data.pop_back();
  EXPECT_EQ(executor().write(tensor, torn).error().message,
            "a host tensor of i32 [3] holds 11 bytes, and its shape wants 12");
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
                profile.name + "' binds " + std::to_string(limit) + " at once");
  EXPECT_THAT(refused(DType::f32, {int64_t{1} << 30, 1 << 29}, Storage::buffer, Layout::strided),
              HasSubstr("takes 2305843009213693952 bytes"));
  const std::string extent = std::to_string(profile.numbers.max_image_extent);
  EXPECT_THAT(refused(DType::f32, {int64_t{1} << 20}, Storage::texture3d, Layout::height_packed),
              HasSubstr("a texture of 1048576 x 1 x 1 texels is past the device's "));
  EXPECT_THAT(refused(DType::f32, {1, 2, 3, 4, 5}, Storage::texture3d, Layout::width_packed), HasSubstr("rank 5"));
  EXPECT_THAT(refused(DType::bf16, {4}, Storage::texture3d, Layout::width_packed), HasSubstr("bf16"));
  EXPECT_EQ(refused(DType::f32, {4}, Storage::buffer, Layout::width_packed),
            "a buffer of f32 [4] cannot have the layout width_packed");
  EXPECT_EQ(refused(DType::f32, {4}, Storage::buffer, Layout::packed_4c),
            "a buffer of f32 [4] cannot have the layout packed_4c");
  EXPECT_EQ(refused(DType::i8, {4}, Storage::texture3d, Layout::packed_4c), "a texture cannot have the layout packed_4c");
  // Each element of a vector takes a word where channels are packed.
  EXPECT_EQ(refused(DType::i8, {limit / 4 + 1}, Storage::buffer, Layout::packed_4c),
            "a buffer of i8 [" + std::to_string(limit / 4 + 1) + "] takes " + std::to_string(limit / 4 * 4 + 4) +
                " bytes, and '" + profile.name + "' binds " + std::to_string(limit) + " at once");
  EXPECT_THAT(refused(DType::f32, {-1}, Storage::buffer, Layout::strided), HasSubstr("negative"));
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

// ---- kernels -----------------------------------------------------------------------------------------------------------

TEST_F(ExecutorTest, CopiesWithEachSpecialization) {
  const std::vector<int32_t> values = iota(1000, 5);
  const DeviceTensor from = upload(of(values));
  for (size_t row = 0; row < 2; ++row) {
    const DeviceTensor to = allocate(DType::i32, {1000});
    ASSERT_TRUE(executor().fill(to, 0xee));
    const uint64_t workgroup = row == 0 ? 64 : 128;
    const Choice copy = kit().choice("copy.i32", {groups_of(1000, workgroup), 1, 1}, Count{1000, 0}, row);
    run({{&copy, {&from, &to}}});
    EXPECT_EQ(integers(to), values);
  }
}

TEST_F(ExecutorTest, FoldsLongGrids) {
  const uint32_t groups = device().profile().max_workgroup_count[0] > 100'000 ? 100 : 70'000;
  const uint32_t count = groups * 64 - 5;
  const DeviceTensor data = upload(of(iota(count)));
  const Choice add = kit().choice("add.i32", {groups, 1, 1}, Count{count, 7});
  run({{&add, {&data}}});
  EXPECT_EQ(integers(data), iota(count, 7));
}

TEST_F(ExecutorTest, SmallTypes) {
  const HostTensor bytes = counting(DType::i8, {2, 3, 7});
  const DeviceTensor i8 = upload(bytes), negated = allocate(DType::i8, bytes.shape);
  const Choice negate = kit().choice("negate.i8", {1, 1, 1}, Count{42, 0});
  const HostTensor halves = counting(DType::f16, {33});
  const DeviceTensor f16 = upload(halves), doubled = allocate(DType::f16, halves.shape);
  const Choice twice = kit().choice("double.f16", {1, 1, 1}, Count{33, 0});
  run({{&negate, {&i8, &negated}}, {&twice, {&f16, &doubled}}});
  const HostTensor got_bytes = download(negated), got_halves = download(doubled);
  for (int64_t i = 0; i < 42; ++i) EXPECT_EQ(element(got_bytes, i), -element(bytes, i));
  for (int64_t i = 0; i < 33; ++i) EXPECT_EQ(element(got_halves, i), 2 * element(halves, i));
}

TEST_F(ExecutorTest, Textures) {
  for (const Layout layout : kPackings) {
    const HostTensor tensor = counting(DType::f32, {2, 5, 3, 7});
    const DeviceTensor from = upload(tensor, Storage::texture3d, layout);
    const DeviceTensor to = allocate(DType::f32, tensor.shape, Storage::texture3d, layout);
    const Choice twice = kit().choice("texture.f32", {2, 2, 3}, Count{});
    run({{&twice, {&from, &to}}});
    const HostTensor got = download(to);
    for (int64_t i = 0; i < element_count(tensor.shape); ++i) EXPECT_EQ(element(got, i), 2 * element(tensor, i));
  }
}

TEST_F(ExecutorTest, ProblemBuffers) {
  Wide first{}, second{};
  for (uint32_t i = 0; i < 40; ++i) first.values[i] = i, second.values[i] = 100 + i;
  const DeviceTensor a = allocate(DType::i32, {40}), b = allocate(DType::i32, {40});
  const Choice to_a = kit().choice("wide.i32", {1, 1, 1}, first), to_b = kit().choice("wide.i32", {1, 1, 1}, second);
  run({{&to_a, {&a}}, {&to_b, {&b}}});
  EXPECT_EQ(integers(a), iota(40));
  EXPECT_EQ(integers(b), iota(40, 100));
}

TEST_F(ExecutorTest, OptionalOperands) {
  const DeviceTensor bias = upload(of(iota(10, 50))), output = allocate(DType::i32, {10});
  const Choice with = kit().choice("bias.i32", {1, 1, 1}, Count{10, 1});
  run({{&with, {&output, &bias}}});
  EXPECT_EQ(integers(output), iota(10, 50));
  const Choice without = kit().choice("bias.i32", {1, 1, 1}, Count{10, 0});
  run({{&without, {&output, nullptr}}});
  EXPECT_EQ(integers(output), std::vector<int32_t>(10, 1));
}

TEST_F(ExecutorTest, EmptyGridsDoNothing) {
  const DeviceTensor data = upload(of({1, 2, 3}));
  const Choice nothing = kit().choice("add.i32", {0, 1, 1}, Count{3, 5});
  Recording recording = record({{&nothing, {&data}}});
  run(recording);
  EXPECT_EQ(integers(data), (std::vector<int32_t>{1, 2, 3}));
  const auto timing = executor().time(recording);
  ASSERT_TRUE(timing) << to_text(timing.error());
  EXPECT_EQ(timing->launches_us.size(), 1u);
  Recording empty = record({});
  run(empty);
}

TEST_F(ExecutorTest, SubgroupSizes) {
  const DeviceProfile& profile = device().profile();
  if (!profile.has_subgroup_size_control) GTEST_SKIP() << "this device has one subgroup size";
  for (uint32_t size = profile.min_subgroup_size; size <= profile.max_subgroup_size; size *= 2) {
    std::vector<Sketch> all = sketches();
    const auto sketch = std::find_if(all.begin(), all.end(), [](const Sketch& s) { return s.id == "subgroup.i32"; });
    Sketch one = *sketch;
    one.required_subgroup_size = static_cast<uint8_t>(size);
    const KernelKit own({one});
    const KernelLibrary own_library = own.library();
    auto own_executor = Executor::create(device(), own_library, {});
    ASSERT_TRUE(own_executor) << to_text(own_executor.error());
    auto output = own_executor->allocate(DType::i32, {64}, Storage::buffer);
    const Choice choice = own.choice("subgroup.i32", {1, 1, 1}, Count{});
    const Work work{&choice, {&*output}};
    auto recording = own_executor->record({&work, 1});
    ASSERT_TRUE(recording) << to_text(recording.error());
    ASSERT_TRUE(own_executor->run(*recording));
    const auto host = own_executor->download(*output);
    for (const int32_t value : host->as<int32_t>()) EXPECT_EQ(value, static_cast<int32_t>(size));
  }
}

TEST_F(ExecutorTest, RefusesWhatKernelsDoNotTake) {
  const DeviceTensor f32 = allocate(DType::f32, {8}), i32 = allocate(DType::i32, {8});
  const DeviceTensor tall = allocate(DType::f32, {8}, Storage::texture3d, Layout::height_packed);
  const Choice copy = kit().choice("copy.i32", {1, 1, 1}, Count{8, 0});
  const Choice picky = kit().choice("picky.f32", {1, 1, 1}, Count{});
  EXPECT_EQ(refusal({{&copy, {&f32, &i32}}}),
            "operand 'input' of kernel 'copy.i32' takes i32 buffer, and was given f32 buffer strided");
  EXPECT_EQ(refusal({{&picky, {&tall, &f32}}}),
            "operand 'input' of kernel 'picky.f32' takes f32 texture3d width_packed, and was given f32 texture3d "
            "height_packed");
  EXPECT_EQ(refusal({{&copy, {&i32, nullptr}}}), "operand 'output' of kernel 'copy.i32' is left out");
  EXPECT_EQ(refusal({{&copy, {&i32}}}), "'copy.i32' was given 1 operands, and kernel 'copy.i32' reads operand 1");
}

TEST_F(ExecutorTest, RefusesKernelsThatTheDeviceCannotRun) {
  if (device().profile().features & bit(Feature::bfloat16)) GTEST_SKIP() << "this device has what the kernel needs";
  const DeviceTensor data = allocate(DType::i32, {8});
  const Choice starving = kit().choice("starving.i32", {1, 1, 1}, Count{});
  EXPECT_EQ(refusal({{&starving, {&data}}}), "kernel 'starving.i32' needs bfloat16, which the device lacks");
}

// ---- recordings --------------------------------------------------------------------------------------------------------

TEST_F(ExecutorTest, ReplaysAHundredTimes) {
  const DeviceTensor data = upload(of(std::vector<int32_t>(5000, 0)));
  const Choice one = kit().choice("add.i32", {groups_of(5000), 1, 1}, Count{5000, 1});
  const Choice two = kit().choice("add.i32", {groups_of(5000), 1, 1}, Count{5000, 2});
  Recording recording = record({{&one, {&data}}, {&two, {&data}}});
  for (int i = 0; i < 100; ++i) run(recording);
  EXPECT_EQ(integers(data), std::vector<int32_t>(5000, 300));
}

TEST_F(ExecutorTest, WorksWaitForOneAnother) {
  constexpr uint32_t kCount = 100'000;
  const DeviceTensor a = upload(of(iota(kCount))), b = allocate(DType::i32, {kCount}), c = allocate(DType::i32, {kCount});
  const Choice mirror = kit().choice("mirror.i32", {groups_of(kCount), 1, 1}, Count{kCount, 1});
  Recording recording = record({{&mirror, {&a, &b}}, {&mirror, {&b, &c}}, {&mirror, {&c, &b}}, {&mirror, {&b, &a}}});
  for (int i = 0; i < 5; ++i) {
    run(recording);
    EXPECT_EQ(integers(c), iota(kCount, i * 4 + 2));
    EXPECT_EQ(integers(a), iota(kCount, i * 4 + 4));
  }
}

class RecipeTest : public ExecutorTest {
 protected:
  // input -> mirror -> scratch 1 -> mirror -> scratch 0 -> copy -> output: input + 10.
  static Choice choice(uint32_t count) {
    static constexpr ScratchInfo kScratch[] = {{"first", DType::i32, nullptr}, {"second", DType::i32, nullptr}};
    static constexpr RecipeInfo kRecipe{.id = "copy.long_way", .scratch = kScratch};
    Choice choice;
    choice.id = "copy.long_way(...)";
    choice.recipe = &kRecipe;
    choice.scratch_elements = {count, count};
    const uint64_t groups = groups_of(count);
    choice.launches = {kit().launch("mirror.i32", {groups, 1, 1}, Count{count, 3}),
                       kit().launch("mirror.i32", {groups, 1, 1}, Count{count, 7}),
                       kit().launch("copy.i32", {groups, 1, 1}, Count{count, 0})};
    choice.launches[0].operands = {{false, 0}, {true, 1}};
    choice.launches[1].operands = {{true, 1}, {true, 0}};
    choice.launches[2].operands = {{true, 0}, {false, 1}};
    return choice;
  }
};

TEST_F(RecipeTest, StepsWaitForOneAnother) {
  constexpr uint32_t kCount = 50'001;
  const Choice recipe = choice(kCount);
  const DeviceTensor from = upload(of(iota(kCount))), to = allocate(DType::i32, {kCount});
  Recording recording = record({{&recipe, {&from, &to}}});
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(executor().fill(to, 0xee));
    run(recording);
    EXPECT_EQ(integers(to), iota(kCount, 10));
  }
}

// The second recipe's scratch is the first one's.
TEST_F(RecipeTest, ShareTheirScratch) {
  const Choice large = choice(3000), small = choice(100);
  const DeviceTensor a = upload(of(iota(3000))), b = allocate(DType::i32, {3000});
  const DeviceTensor c = upload(of(iota(100, 5))), d = allocate(DType::i32, {100});
  run({{&large, {&a, &b}}, {&small, {&c, &d}}, {&large, {&a, &b}}});
  EXPECT_EQ(integers(b), iota(3000, 10));
  EXPECT_EQ(integers(d), iota(100, 15));
}

TEST_F(RecipeTest, RefuseScratchThatCannotBeBound) {
  Choice recipe = choice(100);
  recipe.scratch_elements[1] = uint64_t{1} << 40;
  const DeviceTensor from = allocate(DType::i32, {100}), to = allocate(DType::i32, {100});
  EXPECT_THAT(refusal({{&recipe, {&from, &to}}}),
              HasSubstr("scratch 'second' of 'copy.long_way' takes 4398046511104 bytes, and a storage buffer of '"));
}

TEST_F(ExecutorTest, TimesEachLaunch) {
  const DeviceTensor data = upload(of(iota(100'000)));
  const Choice add = kit().choice("add.i32", {groups_of(100'000), 1, 1}, Count{100'000, 1});
  Recording recording = record({{&add, {&data}}, {&add, {&data}}, {&add, {&data}}});
  for (int i = 1; i <= 3; ++i) {
    const auto timing = executor().time(recording);
    ASSERT_TRUE(timing) << to_text(timing.error());
    ASSERT_EQ(timing->launches_us.size(), 3u);
    double sum = 0;
    for (const double launch_us : timing->launches_us) {
      EXPECT_GT(launch_us, 0);
      sum += launch_us;
    }
    EXPECT_NEAR(timing->device_us, sum, 1e-6 * sum);
    EXPECT_EQ(integers(data), iota(100'000, 3 * i)) << "timing runs the work";
  }
}

TEST_F(ExecutorTest, MovesWithItsTensorsAndRecordings) {
  DeviceTensor data = upload(of({1, 2, 3}));
  const Choice add = kit().choice("add.i32", {1, 1, 1}, Count{3, 1});
  Recording recording = record({{&add, {&data}}});
  Executor moved = std::move(executor());
  Recording moved_recording = std::move(recording);
  ASSERT_TRUE(moved.run(moved_recording));
  const DeviceTensor moved_data = std::move(data);
  const auto host = moved.download(moved_data);
  ASSERT_TRUE(host);
  EXPECT_EQ(host->as<int32_t>()[2], 4);
  executor() = std::move(moved);
}

// ---- guards ------------------------------------------------------------------------------------------------------------

class GuardTest : public ExecutorTest {
 protected:
  void SetUp() override {
    ExecutorTest::SetUp();
    guarded_.emplace(make_executor({.guard_bytes = 64}));
  }
  void TearDown() override {
    guarded_.reset();
    ExecutorTest::TearDown();
  }

  // Whether the guards of an i32 tensor of 10 elements live after element `index` was written. 48 bytes are the tensor.
  bool survives(uint32_t index) {
    auto data = guarded_->allocate(DType::i32, {10}, Storage::buffer);
    EXPECT_TRUE(data) << to_text(data.error());
    const Choice poke = kit().choice("poke.i32", {1, 1, 1}, Count{index, 42});
    const Work work{&poke, {&*data}};
    auto recording = guarded_->record({&work, 1});
    EXPECT_TRUE(recording && guarded_->run(*recording));
    const auto intact = guarded_->guards_are_intact(*data);
    EXPECT_TRUE(intact) << to_text(intact.error());
    return *intact;
  }

  std::optional<Executor> guarded_;
};

TEST_F(GuardTest, CatchWritesPastTheEnd) {
  EXPECT_TRUE(survives(0));
  EXPECT_TRUE(survives(9));
  EXPECT_TRUE(survives(11)) << "the rounding to 16 bytes belongs to the tensor";
  EXPECT_FALSE(survives(12));
  EXPECT_FALSE(survives(20));
  EXPECT_FALSE(survives(27)) << "the last guarded word";
}

TEST_F(GuardTest, OutliveCopiesAndFills) {
  auto data = guarded_->upload(counting(DType::i8, {13}), Storage::buffer);
  ASSERT_TRUE(data);
  EXPECT_TRUE(*guarded_->guards_are_intact(*data));
  ASSERT_TRUE(guarded_->fill(*data, 0));
  EXPECT_TRUE(*guarded_->guards_are_intact(*data));
  EXPECT_EQ(guarded_->download(*data)->data.size(), 13u);
}

TEST_F(GuardTest, AreNotNeededByTextures) {
  auto texture = guarded_->upload(counting(DType::f32, {5}), Storage::texture3d, Layout::width_packed);
  ASSERT_TRUE(texture);
  EXPECT_TRUE(*guarded_->guards_are_intact(*texture));
}

TEST_F(ExecutorTest, WithoutGuardsNothingIsAmiss) {
  const DeviceTensor data = upload(of({1}));
  EXPECT_TRUE(*executor().guards_are_intact(data));
}

// ---- pipelines ---------------------------------------------------------------------------------------------------------

class PipelinesTest : public ExecutorTest {
 protected:
  void get(Pipelines& pipelines, std::string_view id, size_t specialization = 0) {
    const OperatorInfo& op = kit().op(id);
    const auto pipeline = pipelines.get(op, op.kernels.front(), specialization);
    ASSERT_TRUE(pipeline) << to_text(pipeline.error());
  }
};

TEST_F(PipelinesTest, AreMadeOnce) {
  Pipelines pipelines(device().handles(), library());
  ASSERT_TRUE(pipelines.init({}));
  EXPECT_EQ(pipelines.count(), 0u) << "on demand";
  get(pipelines, "copy.i32");
  get(pipelines, "copy.i32");
  EXPECT_EQ(pipelines.count(), 1u);
  get(pipelines, "copy.i32", 1);
  EXPECT_EQ(pipelines.count(), 2u) << "another workgroup size is another pipeline";
}

TEST_F(PipelinesTest, KeepTheirCacheOnDisk) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache" / dispatch::cache_file_name(device().profile());
  {
    Pipelines pipelines(device().handles(), library());
    ASSERT_TRUE(pipelines.init(folder.path() / "cache"));
    EXPECT_FALSE(pipelines.was_cache_read());
    get(pipelines, "copy.i32");
    EXPECT_TRUE(pipelines.has_unsaved_pipelines());
    ASSERT_TRUE(pipelines.save_cache());
    EXPECT_FALSE(pipelines.has_unsaved_pipelines());
  }
  ASSERT_TRUE(std::filesystem::exists(path));
  {
    Pipelines pipelines(device().handles(), library());
    ASSERT_TRUE(pipelines.init(folder.path() / "cache"));
    EXPECT_TRUE(pipelines.was_cache_read());
    get(pipelines, "copy.i32");
  }
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(40);
  file.put('\x7f');
  file.close();
  Pipelines pipelines(device().handles(), library());
  ASSERT_TRUE(pipelines.init(folder.path() / "cache")) << "a damaged file is no error";
  EXPECT_FALSE(pipelines.was_cache_read());
  get(pipelines, "copy.i32");
}

TEST_F(PipelinesTest, AreSavedByTheExecutorsEnd) {
  const TemporaryFolder folder;
  const auto path = folder.path() / dispatch::cache_file_name(device().profile());
  {
    Executor keeping = make_executor({.pipeline_cache_folder = folder.path()});
    auto data = keeping.allocate(DType::i32, {3}, Storage::buffer);
    const Choice add = kit().choice("add.i32", {1, 1, 1}, Count{3, 1});
    const Work work{&add, {&*data}};
    ASSERT_TRUE(keeping.record({&work, 1}));
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(PipelinesTest, SayWhereTheyCannotBeSaved) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "x";
  Executor keeping = make_executor({.pipeline_cache_folder = folder.path() / "file"});
  const Done saved = keeping.save_pipeline_cache();
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().kind, Error::Kind::system);
}

}  // namespace
}  // namespace qgen
