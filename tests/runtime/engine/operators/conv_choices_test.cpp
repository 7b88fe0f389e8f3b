// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The recipes of convolutions on devices that nobody tuned, next to the rules of ExecuTorch's Vulkan backend.
// docs/convolution_choices.md says where they differ, and why.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <span>

#include "operators.h"
#include "registry.h"
#include "runtime/engine/selector/select.h"
#include "tests/support/described_device.h"
#include "tests/support/expected_text.h"

namespace qgen {
namespace {

using namespace generated::operators;
// Of devices/. Numbers that nobody measured or published are those that estimate() makes of the rest, as on a device
// never seen before.
constexpr std::string_view kDevices[] = {"adreno-660",       "adreno-740",      "mali-g78",       "mali-g715",
                                         "powervr-bxe-4-32", "apple-m1",        "intel-arc-a770", "amd-rx-7900-xtx",
                                         "amd-mi210",        "nvidia-rtx-4090", "nvidia-h200"};

struct GivenDevice {
  std::string name;
  DeviceProfile profile;
};

std::vector<GivenDevice> given_devices() {
  std::vector<GivenDevice> devices;
  for (const std::string_view name : kDevices) {
    devices.push_back({std::string(name), tests::described_device(std::string(name))});
  }
  return devices;
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

bool is_mali(const GivenDevice& device) {
  constexpr uint32_t kArm = 0x13b5;
  return device.profile.vendor_id == kArm;
}

// A hand-written choice: q8ta_conv2d's dispatcher, after the patterns for one tap and for one channel.
std::string by_hand(const Layer& layer, const GivenDevice& device) {
  const int64_t of_a_group = layer.channels / layer.groups;
  const int64_t side = (layer.side + 2 * layer.padding - layer.taps) / layer.stride + 1;
  if (layer.groups > 1 && of_a_group == 1) return "depthwise";
  if (layer.taps == 1 && layer.stride == 1 && layer.padding == 0) return "pointwise";
  const bool is_eligible = of_a_group % 4 == 0;
  if (is_mali(device)) return is_eligible ? "im2col" : "direct";
  return is_eligible && layer.groups == 1 && (of_a_group >= 32 || side * side <= 4096) ? "im2col" : "direct";
}

// And in floating point, for layers of one group that are not pointwise.
std::string by_hand_of_reals(const Layer& layer, const GivenDevice& device) {
  return is_mali(device) || layer.outputs >= 128 ? "im2col" : "direct";
}

// q8ta_conv2d.tile: tile.
std::string first_of(const Expected<Call>& call, const GivenDevice& device, const KernelLibrary& library) {
  if (!call) return to_text(call.error());
  const Selection selection = select(call->problem, device.profile, library);
  if (selection.ranked.empty()) return "nothing";
  const std::string_view id = selection.ranked.front().recipe->id;
  return std::string(id.substr(id.find('.') + 1));
}

TensorDesc weight_of(const Layer& layer) {
  TensorDesc weight{DType::i8, {layer.outputs, layer.channels / layer.groups, layer.taps, layer.taps}};
  weight.layout = Layout::weight_q8_rows;
  return weight;
}

std::string chosen(const Layer& layer, const GivenDevice& device, const KernelLibrary& library) {
  TensorDesc weight = weight_of(layer);
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
      {.output = Representation{Storage::buffer, Layout::packed_4c}});
  return first_of(call, device, library);
}

// Of halves, with a weight of int8.
std::string chosen_of_reals(const Layer& layer, const GivenDevice& device, const KernelLibrary& library) {
  const auto call = conv2d_q8csw_call(
      {.input = TensorDesc{DType::f16, {1, layer.channels, layer.side, layer.side}},
       .weight = weight_of(layer),
       .weight_scales = TensorDesc{DType::f32, {layer.outputs}}},
      {.stride = std::vector{layer.stride}, .padding = std::vector{layer.padding}, .groups = layer.groups});
  return first_of(call, device, library);
}

using ByHand = std::string (*)(const Layer& layer, const GivenDevice& device);
using Chosen = std::string (*)(const Layer& layer, const GivenDevice& device, const KernelLibrary& library);

// For a layer, the choices of rules by hand and ours, and on which devices.
std::string choices_of(const Layer& layer, std::span<const GivenDevice> given, const KernelLibrary& library,
                       ByHand theirs, Chosen ours) {
  std::map<std::string, std::string> devices;
  for (const GivenDevice& device : given) {
    std::string& names = devices[theirs(layer, device) + " -> " + ours(layer, device, library)];
    names += (names.empty() ? "" : ", ") + device.name;
  }
  std::string lines = text(layer) + "\n";
  for (const auto& [choice, names] : devices) lines += fmt::format("  {}: {}\n", choice, names);
  return lines;
}

TEST(ConvChoices, BesideRulesByHand) {
  const KernelLibrary library = *KernelLibrary::open(generated::library());
  const std::vector<GivenDevice> devices = given_devices();
  std::string table = "\n";
  for (const Layer& layer : kLayers) table += choices_of(layer, devices, library, by_hand, chosen);
  EXPECT_TEXT(table, R"(
3 -> 32, 3x3 s1 at 256
  direct -> coopmat: amd-rx-7900-xtx, nvidia-rtx-4090, nvidia-h200
  direct -> tile: adreno-660, adreno-740, mali-g78, mali-g715, powervr-bxe-4-32, apple-m1, intel-arc-a770, amd-mi210
32 -> 64, 3x3 s1 at 128
  im2col -> coopmat: amd-rx-7900-xtx, nvidia-rtx-4090, nvidia-h200
  im2col -> im2col_tile: intel-arc-a770
  im2col -> tile: adreno-660, adreno-740, mali-g78, mali-g715, powervr-bxe-4-32, apple-m1, amd-mi210
64 -> 64, 3x3 s1 at 128
  im2col -> coopmat: amd-rx-7900-xtx, nvidia-rtx-4090, nvidia-h200
  im2col -> im2col_tile: intel-arc-a770, amd-mi210
  im2col -> tile: adreno-660, adreno-740, mali-g78, mali-g715, powervr-bxe-4-32, apple-m1
64 -> 64, 3x3 s1 at 128, 2 groups
  direct -> coopmat: amd-rx-7900-xtx, nvidia-rtx-4090, nvidia-h200
  direct -> tile: adreno-660, adreno-740, powervr-bxe-4-32, apple-m1, intel-arc-a770, amd-mi210
  im2col -> tile: mali-g78, mali-g715
128 -> 128, 3x3 s2 at 56
  im2col -> sliced_k: amd-rx-7900-xtx, nvidia-rtx-4090, nvidia-h200
  im2col -> tile: adreno-660, adreno-740, mali-g78, mali-g715, powervr-bxe-4-32, apple-m1, intel-arc-a770
  im2col -> tile_split: amd-mi210
512 -> 512, 3x3 s1 at 7
  im2col -> coopmat_split: amd-rx-7900-xtx
  im2col -> im2col_tile: adreno-740, mali-g715, powervr-bxe-4-32
  im2col -> plain: mali-g78
  im2col -> sliced_k: nvidia-rtx-4090, nvidia-h200
  im2col -> tile: adreno-660, apple-m1
  im2col -> tile_split: intel-arc-a770, amd-mi210
64 -> 256, 1x1 s1 at 56
  pointwise -> pointwise_coopmat: amd-rx-7900-xtx, nvidia-rtx-4090, nvidia-h200
  pointwise -> pointwise_tile: adreno-660, adreno-740, mali-g78, mali-g715, powervr-bxe-4-32, apple-m1, intel-arc-a770, amd-mi210
1024 -> 2048, 1x1 s2 at 14
  im2col -> im2col_tile: adreno-740, mali-g78, mali-g715, powervr-bxe-4-32
  im2col -> sliced_k: amd-rx-7900-xtx, nvidia-rtx-4090, nvidia-h200
  im2col -> tile: adreno-660, apple-m1, intel-arc-a770
  im2col -> tile_split: amd-mi210
128 -> 128, 3x3 s1 at 128, 128 groups
  depthwise -> depthwise: adreno-660, adreno-740, mali-g78, mali-g715, powervr-bxe-4-32, apple-m1, intel-arc-a770, amd-rx-7900-xtx, amd-mi210, nvidia-rtx-4090, nvidia-h200
)");
}

TEST(ConvChoices, OfRealsBesideRulesByHand) {
  const KernelLibrary library = *KernelLibrary::open(generated::library());
  const std::vector<GivenDevice> devices = given_devices();
  std::string table = "\n";
  for (const Layer& layer : kLayers) {
    const bool is_pointwise = layer.taps == 1 && layer.stride == 1;
    if (layer.groups == 1 && !is_pointwise)
      table += choices_of(layer, devices, library, by_hand_of_reals, chosen_of_reals);
  }
  EXPECT_TEXT(table, R"(
3 -> 32, 3x3 s1 at 256
  direct -> matrices_of_pixels: amd-rx-7900-xtx, nvidia-rtx-4090, nvidia-h200
  direct -> tiled: adreno-660, adreno-740, powervr-bxe-4-32, apple-m1, intel-arc-a770, amd-mi210
  im2col -> tiled: mali-g78, mali-g715
32 -> 64, 3x3 s1 at 128
  direct -> matrices_of_pixels: amd-rx-7900-xtx, nvidia-rtx-4090, nvidia-h200
  direct -> tiled: adreno-660, adreno-740, powervr-bxe-4-32, apple-m1, intel-arc-a770, amd-mi210
  im2col -> tiled: mali-g78, mali-g715
64 -> 64, 3x3 s1 at 128
  direct -> matrices_of_pixels: amd-rx-7900-xtx, nvidia-rtx-4090, nvidia-h200
  direct -> tiled: adreno-660, adreno-740, powervr-bxe-4-32, apple-m1, intel-arc-a770, amd-mi210
  im2col -> tiled: mali-g78, mali-g715
128 -> 128, 3x3 s2 at 56
  im2col -> matrices_of_pixels: amd-rx-7900-xtx, nvidia-rtx-4090, nvidia-h200
  im2col -> tiled: adreno-660, adreno-740, mali-g78, mali-g715, powervr-bxe-4-32, apple-m1, intel-arc-a770, amd-mi210
512 -> 512, 3x3 s1 at 7
  im2col -> matrices: nvidia-h200
  im2col -> matrices_of_pixels: amd-rx-7900-xtx, nvidia-rtx-4090
  im2col -> tiled: adreno-660, adreno-740, mali-g78, mali-g715, powervr-bxe-4-32, apple-m1, intel-arc-a770, amd-mi210
1024 -> 2048, 1x1 s2 at 14
  im2col -> matrices: nvidia-h200
  im2col -> matrices_of_pixels: amd-rx-7900-xtx, nvidia-rtx-4090
  im2col -> tiled: adreno-660, adreno-740, mali-g78, mali-g715, powervr-bxe-4-32, apple-m1, intel-arc-a770, amd-mi210
)");
}

}  // namespace
}  // namespace qgen
