// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// scenes FOLDER COUNT SEED: writes pictures of random scenes as bytes, and the object at each pixel, for train.py:
// FOLDER/images.npy [COUNT, 3, 256, 384] and FOLDER/kinds.npy [COUNT, 256, 384]. Scene i is random_scene(SEED + i).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "examples/picture/scene.h"
#include "runtime/engine/tensor/npy.h"

namespace qgen::picture {
namespace {

Done save_scenes(const std::filesystem::path& folder, int64_t count, uint32_t seed) {
  HostTensor images = zeros(DType::u8, {count, 3, kHeight, kWidth});
  HostTensor kinds = zeros(DType::u8, {count, kHeight, kWidth});
  auto image = images.as<uint8_t>().begin();
  auto kind = kinds.as<uint8_t>().begin();
  for (int64_t i = 0; i < count; ++i) {
    const Drawing drawing = draw(random_scene(seed + static_cast<uint32_t>(i)), kHeight, kWidth);
    for (const float value : drawing.image.as<float>()) *image++ = static_cast<uint8_t>(std::lround(value * 255));
    kind = std::ranges::copy(drawing.kinds.as<uint8_t>(), kind).out;
  }
  if (auto done = save_npy(folder / "images.npy", images); !done) return done;
  return save_npy(folder / "kinds.npy", kinds);
}

}  // namespace
}  // namespace qgen::picture

int main(int argc, char** argv) {
  if (argc != 4 || std::atoi(argv[2]) < 1) {
    std::fprintf(stderr, "usage: scenes FOLDER COUNT SEED\n");
    return 2;
  }
  const auto done = qgen::picture::save_scenes(argv[1], std::atoi(argv[2]), static_cast<uint32_t>(std::atoi(argv[3])));
  if (done) return 0;
  std::fprintf(stderr, "scenes: %s\n", to_text(done.error()).c_str());
  return 1;
}
