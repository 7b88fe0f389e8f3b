// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// How convolutions are computed on devices that nobody tuned, beside the rules by hand of ExecuTorch's Vulkan backend.
// docs/convolution.md says where they differ, and why.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "operators.h"
#include "registry.h"
#include "runtime/device/estimates.h"
#include "runtime/selector/select.h"

namespace qgen {
namespace {

using namespace generated::operators;
using Kind = DeviceProfile::Kind;

// As Vulkan numbers them.
constexpr uint32_t kAmd = 0x1002, kImagination = 0x1010, kApple = 0x106b, kNvidia = 0x10de, kArm = 0x13b5,
                   kQualcomm = 0x5143, kIntel = 0x8086;

// Numbers that Vulkan does not tell are those that estimate() makes of the rest, as on a device never seen before.
struct GivenDevice {
  std::string name;
  Kind kind;
  uint32_t vendor;
  uint64_t memory_gib;
  uint32_t subgroup;
  int64_t units;  // 0: the driver does not tell
  bool has_dot_products;
  std::array<uint16_t, 3> matrix{};  // m, n, k of int8; 0: none
};

// clang-format off
const GivenDevice kDevices[] = {
    {"Adreno 660",   Kind::integrated, kQualcomm,    8, 64,   0, false},
    {"Adreno 740",   Kind::integrated, kQualcomm,   12, 64,   0, true},
    {"Mali-G78",     Kind::integrated, kArm,         8, 16,  20, true},
    {"Mali-G715",    Kind::integrated, kArm,        12, 16,  10, true},
    {"PowerVR BXM",  Kind::integrated, kImagination, 4, 32,   0, false},
    {"Apple M2",     Kind::integrated, kApple,      16, 32,   0, false},
    {"Arc A770",     Kind::discrete,   kIntel,      16, 32,   0, true, {8, 16, 32}},
    {"RX 7900 XTX",  Kind::discrete,   kAmd,        24, 64,  96, true, {16, 16, 16}},
    {"RTX 4090",     Kind::discrete,   kNvidia,     24, 32, 128, true, {16, 16, 32}},
    {"H200",         Kind::discrete,   kNvidia,    139, 32, 132, true, {16, 16, 32}},
};
// clang-format on

DeviceProfile profile_of(const GivenDevice& device) {
  DeviceProfile profile;
  profile.name = device.name;
  profile.kind = device.kind;
  profile.vendor_id = device.vendor;
  profile.features = bit(Feature::storage_buffer_8bit) | bit(Feature::storage_buffer_16bit) |
                     bit(Feature::shader_int8) | bit(Feature::subgroup_basic) | bit(Feature::subgroup_vote) |
                     bit(Feature::subgroup_arithmetic);
  if (device.has_dot_products) profile.features |= bit(Feature::integer_dot_product);
  profile.max_workgroup_size = {1024, 1024, 64};
  profile.min_subgroup_size = profile.max_subgroup_size = device.subgroup;
  profile.max_storage_buffers_per_stage = 32;
  profile.numbers.subgroup_size = device.subgroup;
  profile.numbers.max_workgroup_invocations = profile.numbers.max_workgroup_size_x = 1024;
  profile.numbers.shared_memory_bytes = 32768;
  profile.numbers.is_integrated = device.kind == Kind::integrated;
  estimate({.kind = device.kind,
            .vendor_id = device.vendor,
            .device_memory_bytes = device.memory_gib << 30,
            .subgroup_size = device.subgroup,
            .reported_compute_units = device.units,
            .has_fast_integer_dot = device.has_dot_products},
           profile.numbers);
  if (const auto [m, n, k] = device.matrix; m != 0) {
    profile.features |= bit(Feature::cooperative_matrix) | bit(Feature::vulkan_memory_model);
    profile.cooperative_matrices = {{m, n, k, DType::i8, DType::i8, DType::i32, DType::i32, false}};
  }
  return profile;
}

// Images are square, and so are windows.
struct Layer {
  int64_t channels, outputs, side, taps, stride, padding, groups = 1;
};
const Layer kLayers[] = {{3, 32, 256, 3, 1, 1},     {32, 64, 128, 3, 1, 1},    {64, 64, 128, 3, 1, 1},
                         {64, 64, 128, 3, 1, 1, 2}, {128, 128, 56, 3, 2, 1},   {512, 512, 7, 3, 1, 1},
                         {64, 256, 56, 1, 1, 0},    {1024, 2048, 14, 1, 2, 0}, {128, 128, 128, 3, 1, 1, 128}};

std::string text(const Layer& layer) {
  return fmt::format("{} -> {}, {}x{} s{} at {}{}", layer.channels, layer.outputs, layer.taps, layer.taps, layer.stride,
                     layer.side, layer.groups > 1 ? fmt::format(", {} groups", layer.groups) : "");
}

// What is written by hand: q8ta_conv2d's dispatcher, behind the patterns that look for one tap and for one channel.
std::string by_hand(const Layer& layer, const GivenDevice& device) {
  const int64_t of_a_group = layer.channels / layer.groups;
  const int64_t side = (layer.side + 2 * layer.padding - layer.taps) / layer.stride + 1;
  if (layer.groups > 1 && of_a_group == 1) return "depthwise";
  if (layer.taps == 1 && layer.stride == 1 && layer.padding == 0) return "pointwise";
  const bool is_eligible = of_a_group % 4 == 0;
  if (device.vendor == kArm) return is_eligible ? "im2col" : "direct";
  return is_eligible && layer.groups == 1 && (of_a_group >= 32 || side * side <= 4096) ? "im2col" : "direct";
}

std::string chosen(const Layer& layer, const GivenDevice& device, const KernelLibrary& library) {
  TensorDesc weight{DType::i8, {layer.outputs, layer.channels / layer.groups, layer.taps, layer.taps}};
  weight.layout = Layout::weight_q8_rows;
  weight.other_layouts = bit(Layout::weight_q8_4k4n) | bit(Layout::weight_q8_lines) | bit(Layout::weight_q8_4n);
  const auto call = q8ta_conv2d_call(
      {.input = TensorDesc{DType::i8, {1, layer.channels, layer.side, layer.side}, Storage::buffer, Layout::packed_4c},
       .weight = weight,
       .weight_scales = TensorDesc{DType::f32, {layer.outputs}}},
      {.stride = std::vector{layer.stride},
       .padding = std::vector{layer.padding},
       .groups = layer.groups,
       .input_scale = 1,
       .output_scale = 1},
      {.output = Place{Storage::buffer, Layout::packed_4c}});
  if (!call) return to_text(call.error());
  const Selection selection = select(call->problem, profile_of(device), library);
  if (selection.ranked.empty()) return "nothing";
  const std::string_view id = selection.ranked.front().recipe->id;  // q8ta_conv2d.tile
  return std::string(id.substr(id.find('.') + 1));
}

// Of a layer, what rules by hand and we choose, and on which devices.
std::string choices_of(const Layer& layer, const KernelLibrary& library) {
  std::map<std::string, std::string> devices;
  for (const GivenDevice& device : kDevices) {
    std::string& names = devices[by_hand(layer, device) + " -> " + chosen(layer, device, library)];
    names += (names.empty() ? "" : ", ") + device.name;
  }
  std::string lines = text(layer) + "\n";
  for (const auto& [choice, names] : devices) lines += fmt::format("  {}: {}\n", choice, names);
  return lines;
}

TEST(ConvChoices, BesideRulesByHand) {
  const KernelLibrary library = *KernelLibrary::open(generated::library());
  std::string table = "\n";
  for (const Layer& layer : kLayers) table += choices_of(layer, library);
  EXPECT_EQ(table, R"(
3 -> 32, 3x3 s1 at 256
  direct -> coopmat: Arc A770, RX 7900 XTX, RTX 4090, H200
  direct -> plain: Adreno 660, Adreno 740, Mali-G78, Mali-G715, PowerVR BXM, Apple M2
32 -> 64, 3x3 s1 at 128
  im2col -> coopmat: Arc A770, RX 7900 XTX, RTX 4090, H200
  im2col -> tile: Adreno 660, Adreno 740, Mali-G78, Mali-G715, PowerVR BXM, Apple M2
64 -> 64, 3x3 s1 at 128
  im2col -> coopmat: Arc A770, RX 7900 XTX, RTX 4090, H200
  im2col -> tile: Adreno 660, Adreno 740, Mali-G78, Mali-G715, PowerVR BXM, Apple M2
64 -> 64, 3x3 s1 at 128, 2 groups
  direct -> coopmat: Arc A770, RX 7900 XTX, RTX 4090, H200
  direct -> tile: Adreno 660, Adreno 740, PowerVR BXM, Apple M2
  im2col -> tile: Mali-G78, Mali-G715
128 -> 128, 3x3 s2 at 56
  im2col -> coopmat: Arc A770, RX 7900 XTX, H200
  im2col -> coopmat_split: RTX 4090
  im2col -> tile: Adreno 660, Adreno 740, Mali-G78, Mali-G715, PowerVR BXM, Apple M2
512 -> 512, 3x3 s1 at 7
  im2col -> coopmat_split: Arc A770, RX 7900 XTX, RTX 4090, H200
  im2col -> im2col_tile: Adreno 740, Mali-G715
  im2col -> plain: Mali-G78
  im2col -> tile: Adreno 660, PowerVR BXM, Apple M2
64 -> 256, 1x1 s1 at 56
  pointwise -> pointwise_coopmat: Arc A770, RX 7900 XTX, RTX 4090, H200
  pointwise -> pointwise_tile: Adreno 740, Mali-G78, Mali-G715
  pointwise -> tile: Adreno 660, PowerVR BXM, Apple M2
1024 -> 2048, 1x1 s2 at 14
  im2col -> coopmat: Arc A770, RX 7900 XTX, H200
  im2col -> coopmat_split: RTX 4090
  im2col -> im2col_tile: Adreno 740, Mali-G715
  im2col -> plain: Mali-G78
  im2col -> tile: Adreno 660, PowerVR BXM, Apple M2
128 -> 128, 3x3 s1 at 128, 128 groups
  depthwise -> depthwise: Adreno 660, Adreno 740, Mali-G78, Mali-G715, PowerVR BXM, Apple M2, Arc A770, RX 7900 XTX, RTX 4090, H200
)");
}

}  // namespace
}  // namespace qgen
