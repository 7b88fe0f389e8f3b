// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// recognised FOLDER: shows the classes that scenes.onnx recognises in the picture of scripts/demo. Reads
// FOLDER/answers.npy, the network's output for FOLDER/original.npy. Draws FOLDER/recognised.png, and prints the share
// of correct labels.
//
// recognised --draw FOLDER: draws the picture, as FOLDER/original.png and original.npy. It opens no device.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "examples/picture/answers.h"
#include "examples/picture/png_file.h"
#include "runtime/engine/tensor/npy.h"

namespace qgen::picture {
namespace {

struct Tint {
  const char* name;
  float color[3];
};
const Tint kTints[kKindCount] = {
    {"blue", {0.2f, 0.45f, 1}}, {"green", {0.3f, 0.8f, 0.3f}}, {"purple", {0.6f, 0, 0.8f}}, {"orange", {1, 0.6f, 0}}};
const float kWrong[3] = {1, 0, 0};

// Each pixel is mixed with the tint of its label. The middle of a cell with a wrong label is red.
HostTensor tinted(const HostTensor& image, std::span<const Answer> answers) {
  HostTensor result = image;
  const auto values = result.as<float>();
  for (int64_t i = 0; i < std::ssize(values); ++i) {
    const int64_t channel = i / (kHeight * kWidth), y = i / kWidth % kHeight, x = i % kWidth;
    const auto [said, shown] = answers[y / kCell * (kWidth / kCell) + x / kCell];
    const auto is_middle = [](int64_t at) { return at % kCell == 1 || at % kCell == 2; };
    const bool is_mark = said != shown && is_middle(y) && is_middle(x);
    values[i] = is_mark ? kWrong[channel] : (values[i] + kTints[static_cast<size_t>(said)].color[channel]) / 2;
  }
  return result;
}

void print_shares(std::span<const Answer> answers) {
  const auto print = [](std::string_view what, int64_t right, int64_t all, std::string_view tint) {
    fmt::print("  {:<20} {:>5} of {:>5} cells, {:.1f} %{}\n", what, right, all,
               100.0 * static_cast<double>(right) / static_cast<double>(all), tint);
  };
  const auto is_right = [](const Answer& answer) { return answer.said == answer.shown; };
  fmt::print("\nThe network says what each cell of {0} x {0} pixels shows. Right are\n", kCell);
  for (size_t kind = 0; kind < kKindCount; ++kind) {
    const auto shows = [&](const Answer& answer) { return answer.shown == static_cast<Kind>(kind); };
    print(kKindNames[kind],
          std::ranges::count_if(answers, [&](const Answer& answer) { return shows(answer) && is_right(answer); }),
          std::ranges::count_if(answers, shows), fmt::format(", {}", kTints[kind].name));
  }
  print("all", std::ranges::count_if(answers, is_right), std::ssize(answers), "");
}

Done show(const std::filesystem::path& folder) {
  const auto logits = load_npy(folder / "answers.npy");
  if (!logits) return logits.error();
  const Drawing drawing = draw(demo_scene(), kHeight, kWidth);
  if (logits->dtype != DType::f32 || logits->shape != Shape{1, kKindCount, kHeight / kCell, kWidth / kCell})
    return refused(fmt::format("answers.npy is {}, which scenes.onnx does not give", to_text(logits->shape)));
  const std::vector<Answer> answers = answers_of(*logits, drawing.kinds);
  print_shares(answers);
  fmt::print("{}: the picture in these colours; what is wrong has red dots.\n", (folder / "recognised.png").string());
  return write_png(folder / "recognised.png", tinted(drawing.image, answers));
}

Done draw_original(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  HostTensor image = draw(demo_scene(), kHeight, kWidth).image;
  if (auto done = write_png(folder / "original.png", image); !done) return done;
  image.shape.insert(image.shape.begin(), 1);  // a batch of one
  return save_npy(folder / "original.npy", image);
}

}  // namespace
}  // namespace qgen::picture

int main(int argc, char** argv) {
  const bool draws = argc == 3 && std::string_view(argv[1]) == "--draw";
  if (argc != 2 && !draws) {
    std::fprintf(stderr, "usage: recognised [--draw] FOLDER\n");
    return 2;
  }
  const auto done = draws ? qgen::picture::draw_original(argv[2]) : qgen::picture::show(argv[1]);
  if (done) return 0;
  std::fprintf(stderr, "recognised: %s\n", to_text(done.error()).c_str());
  return 1;
}
