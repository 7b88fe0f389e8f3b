// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// picture FOLDER [DEVICE]: quantizes and dequantizes a picture on the device. It uses 8 and 4 bits, with one scale for
// the picture and with one per block of 8 x 8 pixels. Prints which kernel ran each step and why, and the error of each
// method. Writes the original, the results and the errors as PNG files, and original.npy, which a network reads.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <string>

#include "examples/picture/png_file.h"
#include "examples/picture/scene.h"
#include "operators.h"
#include "registry.h"
#include "runtime/engine/tensor/npy.h"

namespace qgen::picture {
namespace {

using namespace generated::operators;

struct Method {
  const char* name;
  const char* file;
  Shape block;
  int bits;
};
const Method kMethods[] = {
    {"per tensor, 8 bits", "tensor_8bit", {3, kHeight, kWidth}, 8},
    {"per block, 8 bits", "block_8bit", {1, 8, 8}, 8},
    {"per tensor, 4 bits", "tensor_4bit", {3, kHeight, kWidth}, 4},
    {"per block, 4 bits", "block_4bit", {1, 8, 8}, 4},
};

// Errors are drawn brighter: half a quantization step of the whole range is white.
float brightness_of(const Method& way) { return static_cast<float>(2 * ((1 << way.bits) - 1)); }

struct Roundtrip {
  HostTensor result;
  int64_t scales = 0;
};

// Chooses parameters, quantizes and dequantizes, all on the device. 4 bits are a smaller range of u8.
Expected<Roundtrip> quantize_and_back(Context& context, const DeviceTensor& image, const Method& way) {
  const int64_t quant_max = (1 << way.bits) - 1;
  auto params = choose_qparams_affine(
      context, {.input = image},
      {.block_size = way.block, .target_dtype = DType::u8, .quant_min = 0, .quant_max = quant_max});
  if (!params) return params.error();
  auto quantized =
      quantize_affine(context, {.input = image, .scale = params->scale, .zero_point = &params->zero_point},
                      {.block_size = way.block, .output_dtype = DType::u8, .quant_min = 0, .quant_max = quant_max});
  if (!quantized) return quantized.error();
  auto real =
      dequantize_affine(context, {.input = *quantized, .scale = params->scale, .zero_point = &params->zero_point},
                        {.block_size = way.block});
  if (!real) return real.error();
  auto result = context.executor.download(*real);
  if (!result) return result.error();
  return Roundtrip{*std::move(result), element_count(params->scale.shape())};
}

struct Difference {
  HostTensor image;  // |a - b| * brightness
  double mean = 0, largest = 0, psnr_db = 0;
};

Difference difference_of(const HostTensor& a, const HostTensor& b, float brightness) {
  Difference difference{zeros(DType::f32, a.shape)};
  const auto drawn = difference.image.as<float>();
  double squares = 0;
  for (size_t i = 0; i < drawn.size(); ++i) {
    const double error = std::fabs(a.as<float>()[i] - b.as<float>()[i]);
    drawn[i] = static_cast<float>(error) * brightness;
    difference.mean += error;
    difference.largest = std::max(difference.largest, error);
    squares += error * error;
  }
  const auto count = static_cast<double>(drawn.size());
  difference.mean /= count;
  difference.psnr_db = 10 * std::log10(count / squares);
  return difference;
}

// Prints which kernel was chosen and why. For a kernel that was explained before it prints only the name.
class Narrator {
 public:
  void tell(const Selection& selection) {
    if (selection.ranked.empty()) return;  // the following error explains it
    const Choice& best = selection.ranked.front();
    const bool is_new = told_.insert(best.id).second;
    fmt::print("  {}{}\n", best.id, is_new ? "" : ", as above");
    if (is_new) fmt::print("{}{}", merit(selection.ranked), refusal(selection.rejected));
    std::fflush(stdout);
  }

 private:
  static std::string merit(const std::vector<Choice>& ranked) {
    if (ranked.size() == 1) return fmt::format("    {:.0f} us estimated; no other fits\n", ranked[0].cost_us);
    return fmt::format("    {:.0f} us estimated, the least of {} that fit; the next takes {:.0f} us:\n      {}\n",
                       ranked[0].cost_us, ranked.size(), ranked[1].cost_us, ranked[1].id);
  }
  static std::string refusal(const std::vector<Rejection>& rejected) {
    if (rejected.empty()) return "";
    const Rejection& nearest = *std::ranges::max_element(rejected, {}, &Rejection::refused_by);
    return fmt::format("    {} do not fit; the nearest is {}:\n      {}\n", rejected.size(), nearest.id,
                       nearest.reason);
  }

  std::set<std::string> told_;
};

Done show_way(Context& context, const std::filesystem::path& folder, const HostTensor& original,
              const DeviceTensor& image, const Method& way, std::string& table) {
  fmt::print("\n{}\n", way.name);
  const auto roundtrip = quantize_and_back(context, image, way);
  if (!roundtrip) return roundtrip.error();
  const Difference difference = difference_of(original, roundtrip->result, brightness_of(way));
  // A scale and a zero point are 32 bits each.
  const double bits =
      way.bits + 64.0 * static_cast<double>(roundtrip->scales) / static_cast<double>(element_count(original.shape));
  table += fmt::format("{:<20} {:>7} {:>11.2f} {:>12.5f} {:>14.5f} {:>9.1f} dB\n", way.name, roundtrip->scales, bits,
                       difference.mean, difference.largest, difference.psnr_db);
  if (auto done = write_png(folder / fmt::format("{}_result.png", way.file), roundtrip->result); !done) return done;
  return write_png(folder / fmt::format("{}_error.png", way.file), difference.image);
}

void print_results(const std::filesystem::path& folder, const std::string& table) {
  fmt::print("\nerror of values in 0..1\n{:<20} {:>7} {:>11} {:>12} {:>14} {:>12}\n{}", "", "scales", "bits/value",
             "mean", "largest", "PSNR", table);
  fmt::print("\nIn {}: original.png, and of each way\n", folder.string());
  for (const Method& way : kMethods) fmt::print("  {0}_result.png  {0}_error.png\n", way.file);
  fmt::print("White in an error picture is half a step of its 8 or 4 bits.\n");
}

Done show_all(const std::filesystem::path& folder, std::string_view which_device) {
  const auto library = KernelLibrary::open(generated::library());
  if (!library) return library.error();
  const auto device = Device::open(which_device);
  if (!device) return device.error();
  auto executor = Executor::create(*device, *library, {});
  if (!executor) return executor.error();

  const HostTensor original = draw(demo_scene(), kHeight, kWidth).image;
  if (auto done = write_png(folder / "original.png", original); !done) return done;
  HostTensor batch = original;
  batch.shape.insert(batch.shape.begin(), 1);
  if (auto done = save_npy(folder / "original.npy", batch); !done) return done;
  const auto image = executor->upload(original, Storage::buffer);
  if (!image) return image.error();
  fmt::print(
      "A picture of {} x {} pixels, red, green and blue in f32, on \"{}\".\n"
      "Which kernel finds the scales, which quantizes, which dequantizes, and why not another:\n",
      kWidth, kHeight, device->profile().name);

  Narrator narrator;
  Context context{.profile = device->profile(), .library = *library, .executor = *executor};
  context.on_selection = [&](const Selection& selection) { narrator.tell(selection); };
  std::string table;
  for (const Method& way : kMethods) {
    if (auto done = show_way(context, folder, original, *image, way, table); !done) return done;
  }
  print_results(folder, table);
  return std::monostate{};
}

}  // namespace
}  // namespace qgen::picture

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: picture FOLDER [DEVICE]\n");
    return 2;
  }
  std::error_code error;
  std::filesystem::create_directories(argv[1], error);
  const auto done = qgen::picture::show_all(argv[1], argc > 2 ? argv[2] : "");
  if (done) return 0;
  std::fprintf(stderr, "picture: %s\n", to_text(done.error()).c_str());
  return 1;
}
