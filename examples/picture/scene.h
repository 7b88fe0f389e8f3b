// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Lit balls on a checkered floor under an evening sky. Quantization is easy to see in such a picture: it has smooth
// gradients, hard edges, and large dark parts next to bright ones. The object at each pixel is known. So a network can
// be trained on random scenes, and tested on others.
//
//   const Drawing drawing = draw(demo_scene(), kHeight, kWidth);
#pragma once

#include <string_view>
#include <vector>

#include "runtime/engine/tensor/tensor.h"

namespace qgen::picture {

constexpr int64_t kHeight = 256, kWidth = 384;  // of the pictures of scripts/demo

struct Vec3 {
  double x = 0, y = 0, z = 0;
};

struct Ball {
  Vec3 center;
  double radius;
  Vec3 color;
};

struct Scene {
  std::vector<Ball> balls;
  Vec3 lamp;
  double eye_height, downward;  // the height of the camera, and its angle downward
  double tile;                  // the side of a square of the floor
  Vec3 light_tile, dark_tile, horizon, zenith;
};
Scene demo_scene();
Scene random_scene(uint32_t seed);

enum class Kind : uint8_t { sky, floor, shadow, ball };
constexpr std::string_view kKindNames[] = {"sky", "floor in the light", "floor in the shadow", "ball"};
constexpr int64_t kKindCount = std::ssize(kKindNames);

struct Drawing {
  HostTensor image;  // f32 [3, height, width]: red, green, blue in 0..1
  HostTensor kinds;  // u8 [height, width]
};
Drawing draw(const Scene& scene, int64_t height, int64_t width);

}  // namespace qgen::picture
