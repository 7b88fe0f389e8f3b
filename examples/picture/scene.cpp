// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A ray a pixel: the nearest of floor and spheres, lit by one lamp with hard shadows.
#include "examples/picture/scene.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace qgen::picture {
namespace {

struct Vec3 {
  double x = 0, y = 0, z = 0;
};
Vec3 operator+(Vec3 a, Vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
Vec3 operator-(Vec3 a, Vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
Vec3 operator*(Vec3 a, double s) { return {a.x * s, a.y * s, a.z * s}; }
double dot(Vec3 a, Vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
Vec3 normalized(Vec3 a) { return a * (1 / std::sqrt(dot(a, a))); }

struct Sphere {
  Vec3 center;
  double radius;
  Vec3 color;
};
const Sphere kSpheres[] = {
    {{-1.3, 1.0, 5.0}, 1.0, {0.9, 0.25, 0.2}},
    {{0.7, 0.7, 4.0}, 0.7, {0.2, 0.6, 0.9}},
    {{1.9, 1.2, 6.5}, 1.2, {0.95, 0.8, 0.3}},
};
const Vec3 kEye{0, 1.3, 0};
const Vec3 kLamp{-4, 6, 1};
constexpr double kTooNear = 1e-6;

struct Hit {
  double distance;
  Vec3 point, normal, color;
};

std::optional<double> distance_to(const Sphere& sphere, Vec3 from, Vec3 direction) {
  const Vec3 toward = sphere.center - from;
  const double along = dot(toward, direction);
  const double discriminant = along * along - dot(toward, toward) + sphere.radius * sphere.radius;
  if (discriminant < 0) return std::nullopt;
  const double distance = along - std::sqrt(discriminant);
  return distance > kTooNear ? std::optional(distance) : std::nullopt;
}

std::optional<Hit> floor_hit(Vec3 from, Vec3 direction) {
  if (direction.y >= 0) return std::nullopt;
  const double distance = -from.y / direction.y;
  const Vec3 point = from + direction * distance;
  const bool light = (std::lround(std::floor(point.x)) + std::lround(std::floor(point.z))) % 2 == 0;
  return Hit{distance, point, {0, 1, 0}, light ? Vec3{0.8, 0.78, 0.72} : Vec3{0.12, 0.12, 0.15}};
}

std::optional<Hit> nearest_hit(Vec3 from, Vec3 direction) {
  std::optional<Hit> nearest = floor_hit(from, direction);
  for (const Sphere& sphere : kSpheres) {
    const auto distance = distance_to(sphere, from, direction);
    if (!distance || (nearest && *distance >= nearest->distance)) continue;
    const Vec3 point = from + direction * *distance;
    nearest = Hit{*distance, point, (point - sphere.center) * (1 / sphere.radius), sphere.color};
  }
  return nearest;
}

bool is_in_shadow(const Hit& hit, Vec3 to_lamp) {
  return std::any_of(std::begin(kSpheres), std::end(kSpheres),
                     [&](const Sphere& sphere) { return distance_to(sphere, hit.point + hit.normal * 1e-4, to_lamp); });
}

Vec3 sky(Vec3 direction) {
  const double height = std::clamp(direction.y, 0.0, 1.0);
  return Vec3{0.95, 0.55, 0.3} * std::exp(-6 * height) + Vec3{0.05, 0.08, 0.2};
}

Vec3 color_of(Vec3 from, Vec3 direction) {
  const auto hit = nearest_hit(from, direction);
  if (!hit) return sky(direction);
  const Vec3 to_lamp = normalized(kLamp - hit->point);
  const double lit = is_in_shadow(*hit, to_lamp) ? 0 : std::max(0.0, dot(hit->normal, to_lamp));
  const double shine = lit > 0 ? std::pow(std::max(0.0, dot(hit->normal, normalized(to_lamp - direction))), 60) : 0;
  const double haze = std::exp(-hit->distance / 25);
  return (hit->color * (0.06 + 0.9 * lit) + Vec3{1, 1, 1} * (0.5 * shine)) * haze + sky(direction) * (1 - haze);
}

}  // namespace

HostTensor render_scene(int64_t height, int64_t width) {
  HostTensor image = zeros(DType::f32, {3, height, width});
  const auto values = image.as<float>();
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      const double across = (2 * (x + 0.5) - width) / height;
      const double up = 1 - 2 * (y + 0.5) / height;
      const Vec3 color = color_of(kEye, normalized({across, up - 0.15, 1.6}));
      const int64_t pixel = y * width + x;
      values[pixel] = static_cast<float>(std::clamp(color.x, 0.0, 1.0));
      values[height * width + pixel] = static_cast<float>(std::clamp(color.y, 0.0, 1.0));
      values[2 * height * width + pixel] = static_cast<float>(std::clamp(color.z, 0.0, 1.0));
    }
  }
  return image;
}

}  // namespace qgen::picture
