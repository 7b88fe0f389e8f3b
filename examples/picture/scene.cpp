// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One ray per pixel finds the nearest of floor and balls. One lamp lights them, with hard shadows.
#include "examples/picture/scene.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

namespace qgen::picture {
namespace {

Vec3 operator+(Vec3 a, Vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
Vec3 operator-(Vec3 a, Vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
Vec3 operator*(Vec3 a, double s) { return {a.x * s, a.y * s, a.z * s}; }
double dot(Vec3 a, Vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
Vec3 normalized(Vec3 a) { return a * (1 / std::sqrt(dot(a, a))); }

constexpr double kTooNear = 1e-6;

struct Hit {
  double distance;
  Vec3 point, normal, color;
  Kind kind;
};

std::optional<double> distance_to(const Ball& ball, Vec3 from, Vec3 direction) {
  const Vec3 toward = ball.center - from;
  const double along = dot(toward, direction);
  const double discriminant = along * along - dot(toward, toward) + ball.radius * ball.radius;
  if (discriminant < 0) return std::nullopt;
  const double distance = along - std::sqrt(discriminant);
  return distance > kTooNear ? std::optional(distance) : std::nullopt;
}

std::optional<Hit> floor_hit(const Scene& scene, Vec3 from, Vec3 direction) {
  if (direction.y >= 0) return std::nullopt;
  const double distance = -from.y / direction.y;
  const Vec3 point = from + direction * distance;
  const auto square = [&](double at) { return std::lround(std::floor(at / scene.tile)); };
  const bool light = (square(point.x) + square(point.z)) % 2 == 0;
  return Hit{distance, point, {0, 1, 0}, light ? scene.light_tile : scene.dark_tile, Kind::floor};
}

std::optional<Hit> nearest_hit(const Scene& scene, Vec3 from, Vec3 direction) {
  std::optional<Hit> nearest = floor_hit(scene, from, direction);
  for (const Ball& ball : scene.balls) {
    const auto distance = distance_to(ball, from, direction);
    if (!distance || (nearest && *distance >= nearest->distance)) continue;
    const Vec3 point = from + direction * *distance;
    nearest = Hit{*distance, point, (point - ball.center) * (1 / ball.radius), ball.color, Kind::ball};
  }
  return nearest;
}

bool is_in_shadow(const Scene& scene, const Hit& hit, Vec3 to_lamp) {
  return std::ranges::any_of(scene.balls, [&](const Ball& ball) {
    return distance_to(ball, hit.point + hit.normal * 1e-4, to_lamp).has_value();
  });
}

Vec3 sky(const Scene& scene, Vec3 direction) {
  const double height = std::clamp(direction.y, 0.0, 1.0);
  return scene.horizon * std::exp(-6 * height) + scene.zenith;
}

struct Pixel {
  Vec3 color;
  Kind kind;
};

Pixel pixel_of(const Scene& scene, Vec3 direction) {
  const Vec3 eye{0, scene.eye_height, 0};
  const auto hit = nearest_hit(scene, eye, direction);
  if (!hit) return {sky(scene, direction), Kind::sky};
  const Vec3 to_lamp = normalized(scene.lamp - hit->point);
  const bool is_dark = is_in_shadow(scene, *hit, to_lamp);
  const double lit = is_dark ? 0 : std::max(0.0, dot(hit->normal, to_lamp));
  const double shine = lit > 0 ? std::pow(std::max(0.0, dot(hit->normal, normalized(to_lamp - direction))), 60) : 0;
  const double haze = std::exp(-hit->distance / 25);
  return {(hit->color * (0.06 + 0.9 * lit) + Vec3{1, 1, 1} * (0.5 * shine)) * haze + sky(scene, direction) * (1 - haze),
          hit->kind == Kind::floor && is_dark ? Kind::shadow : hit->kind};
}

// Random numbers that are the same with every standard library.
struct Random {
  std::mt19937 bits;
  double from(double low, double high) { return low + (high - low) * bits() / 4294967296.0; }
  Vec3 color(double low, double high) {
    const double red = from(low, high), green = from(low, high), blue = from(low, high);
    return {red, green, blue};
  }
};

bool are_apart(const Ball& a, const Ball& b) {
  const Vec3 between = a.center - b.center;
  return std::sqrt(dot(between, between)) >= a.radius + b.radius;
}

}  // namespace

Scene demo_scene() {
  return {.balls = {{{-1.3, 1.0, 5.0}, 1.0, {0.9, 0.25, 0.2}},
                    {{0.7, 0.7, 4.0}, 0.7, {0.2, 0.6, 0.9}},
                    {{1.9, 1.2, 6.5}, 1.2, {0.95, 0.8, 0.3}}},
          .lamp = {-4, 6, 1},
          .eye_height = 1.3,
          .downward = 0.15,
          .tile = 1,
          .light_tile = {0.8, 0.78, 0.72},
          .dark_tile = {0.12, 0.12, 0.15},
          .horizon = {0.95, 0.55, 0.3},
          .zenith = {0.05, 0.08, 0.2}};
}

Scene random_scene(uint32_t seed) {
  Random random{std::mt19937(seed)};
  Scene scene{.lamp = {random.from(-6, 6), random.from(4, 8), random.from(-2, 4)},
              .eye_height = random.from(0.9, 2),
              .downward = random.from(0.05, 0.3),
              .tile = random.from(0.7, 1.4),
              .light_tile = random.color(0.5, 0.9),
              .dark_tile = random.color(0.05, 0.3),
              .horizon = random.color(0.2, 1),
              .zenith = random.color(0, 0.4)};
  const auto count = static_cast<size_t>(random.from(1, 6));
  while (scene.balls.size() < count) {
    const double radius = random.from(0.4, 1.4), depth = random.from(3, 10);
    const Ball ball{{random.from(-0.7, 0.7) * depth, radius, depth}, radius, random.color(0.1, 1)};
    if (std::ranges::all_of(scene.balls, [&](const Ball& other) { return are_apart(ball, other); }))
      scene.balls.push_back(ball);
  }
  return scene;
}

Drawing draw(const Scene& scene, int64_t height, int64_t width) {
  Drawing drawing{zeros(DType::f32, {3, height, width}), zeros(DType::u8, {height, width})};
  const auto values = drawing.image.as<float>();
  const auto kinds = drawing.kinds.as<uint8_t>();
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      const double across = (2 * (x + 0.5) - width) / height;
      const double up = 1 - 2 * (y + 0.5) / height;
      const auto [color, kind] = pixel_of(scene, normalized({across, up - scene.downward, 1.6}));
      const int64_t pixel = y * width + x;
      values[pixel] = static_cast<float>(std::clamp(color.x, 0.0, 1.0));
      values[height * width + pixel] = static_cast<float>(std::clamp(color.y, 0.0, 1.0));
      values[2 * height * width + pixel] = static_cast<float>(std::clamp(color.z, 0.0, 1.0));
      kinds[pixel] = static_cast<uint8_t>(kind);
    }
  }
  return drawing;
}

}  // namespace qgen::picture
