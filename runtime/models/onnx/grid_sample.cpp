// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// GridSample of images. A position of the output reads 1, 4 or 16 pixels of the input (nearest, linear, cubic). One
// chain for each axis computes the position in pixels, inside of the image if the padding brings it there. Then one
// chain for each pixel computes its index, and another one its weight. The result is the sum of gathers times weights.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/engine/operators/pointwise/chain.h"
#include "runtime/models/onnx/written_out.h"

namespace qgen::onnx {
namespace {

using chains::Formula;
using chains::Step;

enum class Sampling : uint8_t { nearest, linear, cubic };
enum class Padding : uint8_t { zeros, border, reflection };

// Along height or width.
struct GridAxis {
  int64_t side = 0;
  bool aligns_corners = false;
  Sampling sampling{};
  Padding padding{};

  double low() const { return aligns_corners ? 0 : -0.5; }
  double high() const { return static_cast<double>(side) - (aligns_corners ? 1 : 0.5); }
};

uint32_t clamped(Formula& f, uint32_t x, double low, double high) {
  return f.step(Step::minimum, f.step(Step::maximum, x, f.real(low)), f.real(high));
}

// Mirrored at both ends of the axis, as often as it takes.
uint32_t reflected(Formula& f, uint32_t x, const GridAxis& axis) {
  const double range = axis.high() - axis.low();
  if (range == 0) return clamped(f, x, axis.low(), axis.high());
  const auto distance = f.step(Step::absolute, f.step(Step::subtract, x, f.real(axis.low())));
  const auto periods = f.step(Step::floor, f.step(Step::divide, distance, f.real(2 * range)));
  const auto rest = f.step(Step::subtract, distance, f.step(Step::multiply, periods, f.real(2 * range)));
  const auto nearer = f.step(Step::minimum, rest, f.step(Step::subtract, f.real(2 * range), rest));
  return f.step(Step::add, nearer, f.real(axis.low()));
}

// From the grid's -1 to 1 to pixels, inside of the image if the padding brings it there.
Formula coordinate_of(const GridAxis& axis) {
  Formula f;
  const auto shifted = f.step(Step::add, f.input(0), f.real(1));
  const auto side = static_cast<double>(axis.side);
  auto x = axis.aligns_corners
               ? f.step(Step::multiply, f.step(Step::multiply, shifted, f.real(0.5)), f.real(side - 1))
               : f.step(Step::multiply,
                        f.step(Step::subtract, f.step(Step::multiply, shifted, f.real(side)), f.real(1)), f.real(0.5));
  if (axis.sampling == Sampling::nearest) x = f.step(Step::round, x);
  if (axis.padding == Padding::border) clamped(f, x, 0, side - 1);
  if (axis.padding == Padding::reflection) reflected(f, x, axis);
  return f;
}

int64_t tap_count(Sampling sampling) {
  return sampling == Sampling::nearest ? 1 : sampling == Sampling::linear ? 2 : 4;
}

// The number of a tap's pixel along the axis, before it is brought into the image.
uint32_t tap_place(Formula& f, uint32_t x, const GridAxis& axis, int64_t tap) {
  if (axis.sampling == Sampling::nearest) return x;
  const auto first = f.step(Step::floor, x);
  const int64_t ahead = axis.sampling == Sampling::cubic ? tap - 1 : tap;
  return ahead == 0 ? first : f.step(Step::add, first, f.real(static_cast<double>(ahead)));
}

// Inside of the image.
uint32_t tap_pixel(Formula& f, uint32_t x, const GridAxis& axis, int64_t tap) {
  auto place = tap_place(f, x, axis, tap);
  if (axis.padding == Padding::reflection) place = f.step(Step::truncate, reflected(f, place, axis));
  return clamped(f, place, 0, static_cast<double>(axis.side - 1));
}

// ((a * x + b) * x + c) * x + d
uint32_t polynomial(Formula& f, uint32_t x, const std::array<double, 4>& factors) {
  auto sum = f.step(Step::add, f.step(Step::multiply, x, f.real(factors[0])), f.real(factors[1]));
  for (const double next : {factors[2], factors[3]})
    sum = f.step(Step::add, f.step(Step::multiply, sum, x), f.real(next));
  return sum;
}

uint32_t tap_weight(Formula& f, uint32_t x, const GridAxis& axis, int64_t tap) {
  const auto after = f.step(Step::subtract, x, f.step(Step::floor, x));
  const auto before = f.step(Step::subtract, f.real(1), after);
  if (axis.sampling == Sampling::linear) return tap == 0 ? before : after;
  constexpr double a = -0.75;
  constexpr std::array<double, 4> kInner{a + 2, -(a + 3), 0, 1}, kOuter{a, -5 * a, 8 * a, -4 * a};
  if (tap == 1) return polynomial(f, after, kInner);
  if (tap == 2) return polynomial(f, before, kInner);
  return polynomial(f, f.step(Step::add, tap == 0 ? after : before, f.real(1)), kOuter);
}

// 1 where the tap's pixel is inside of the image, else 0.
uint32_t is_inside(Formula& f, uint32_t x, const GridAxis& axis, int64_t tap) {
  const auto place = tap_place(f, x, axis, tap);
  const auto reaches = f.step(Step::less_or_equal, f.real(0), place);
  return f.step(Step::multiply, reaches,
                f.step(Step::less_or_equal, place, f.real(static_cast<double>(axis.side - 1))));
}

struct Tap {
  int64_t row, column;
};

Formula pixel_number(const GridAxis& height, const GridAxis& width, Tap tap) {
  Formula f;
  const auto x = f.input(0), y = f.input(1);
  const auto row = tap_pixel(f, y, height, tap.row);
  const auto first = f.step(Step::multiply, row, f.real(static_cast<double>(width.side)));
  f.step(Step::add, first, tap_pixel(f, x, width, tap.column));
  return f;
}

// nullopt: it is 1.
std::optional<Formula> weight_of(const GridAxis& height, const GridAxis& width, Tap tap) {
  Formula f;
  const auto x = f.input(0), y = f.input(1);
  std::vector<uint32_t> factors;
  if (width.sampling != Sampling::nearest)
    factors = {tap_weight(f, x, width, tap.column), tap_weight(f, y, height, tap.row)};
  if (width.padding == Padding::zeros) {
    factors.push_back(is_inside(f, x, width, tap.column));
    factors.push_back(is_inside(f, y, height, tap.row));
  }
  if (factors.empty()) return std::nullopt;
  auto product = factors[0];
  for (const uint32_t factor : std::span(factors).subspan(1)) product = f.step(Step::multiply, product, factor);
  return f;
}

std::optional<Sampling> sampling_of(std::string_view mode) {
  if (mode == "nearest") return Sampling::nearest;
  if (mode == "linear" || mode == "bilinear") return Sampling::linear;
  if (mode == "cubic" || mode == "bicubic") return Sampling::cubic;
  return std::nullopt;
}

std::optional<Padding> padding_of(std::string_view mode) {
  if (mode == "zeros") return Padding::zeros;
  if (mode == "border") return Padding::border;
  if (mode == "reflection") return Padding::reflection;
  return std::nullopt;
}

}  // namespace

Rewritten Importer::grid_sample(const Node& node, Arguments arguments) {
  if (arguments.size() < 2 || !arguments[1]) return refused("it has no grid");
  const auto sides = known_shape(arguments[0]->shape), grid_sides = known_shape(arguments[1]->shape);
  if (!sides || !grid_sides) return unsupported("a side of its image or its grid is unknown", kHowToNumberSides);
  if (sides->size() != 4)
    return unsupported(fmt::format("its input is {}, and qgen reads images of four dimensions", to_text(*sides)));
  if (grid_sides->size() != 4 || grid_sides->back() != 2 || grid_sides->front() != sides->front())
    return refused(fmt::format("its grid is {}, and its input {}", to_text(*grid_sides), to_text(*sides)));
  const auto sampling = sampling_of(node.word("mode", "linear"));
  const auto padding = padding_of(node.word("padding_mode", "zeros"));
  if (!sampling || !padding) return refused("its mode or its padding_mode is not one of ONNX");
  const int64_t plane = (*sides)[2] * (*sides)[3], places = (*grid_sides)[1] * (*grid_sides)[2];
  constexpr int64_t kMostPixels = int64_t{1} << 24;  // a float counts them
  if (plane < 1 || plane > kMostPixels)
    return unsupported(fmt::format("its image has {} pixels, and can have 1 to 2^24", plane));
  const bool aligns = node.integer("align_corners", 0) != 0;
  const GridAxis height{(*sides)[2], aligns, *sampling, *padding}, width{(*sides)[3], aligns, *sampling, *padding};
  const auto input = computed(*arguments[0]), grid = computed(*arguments[1]);
  if (!input || !grid) return input ? grid.error() : input.error();
  const Dims image{{(*sides)[0]}, {(*sides)[1]}, {plane}}, line{{(*sides)[0]}, {1}, {places}};
  const auto pixels = viewed(node, *input, image);
  std::vector<Known> coordinates;
  for (const int64_t which : {0, 1}) {
    auto one = computed(node, "Gather", {*grid, number(which)}, {{"axis", int64_t{3}}});
    if (one) one = viewed(node, *one, line);
    if (one) one = chain_of(node, coordinate_of(which == 0 ? width : height), {&*one});
    if (!one) return one.error();
    coordinates.push_back(*std::move(one));
  }
  if (!pixels) return pixels.error();
  std::optional<Known> sum;
  const int64_t taps = tap_count(*sampling);
  for (int64_t i = 0; i < taps * taps; ++i) {
    const Tap tap{i / taps, i % taps};
    const auto part =
        sampled_tap(node, *pixels, coordinates, pixel_number(height, width, tap), weight_of(height, width, tap));
    if (!part) return part.error();
    auto both = sum ? computed(node, "Add", {*sum, *part}) : part;
    if (!both) return both.error();
    sum = *std::move(both);
  }
  return as_other(viewed(node, *sum, {{(*sides)[0]}, {(*sides)[1]}, {(*grid_sides)[1]}, {(*grid_sides)[2]}}));
}

Expected<Known> Importer::sampled_tap(const Node& node, const Known& pixels, const std::vector<Known>& coordinates,
                                      const Formula& pixel_number, const std::optional<Formula>& weight) {
  const std::vector<const Known*> inputs{&coordinates[0], &coordinates[1]};
  auto place = chain_of(node, pixel_number, inputs);
  if (place) place = as_type(node, *place, ElementType::i32);
  if (!place) return place;
  const std::vector<int64_t> shape{pixels.shape[0].value, pixels.shape[1].value, place->shape[2].value};
  if (shape[1] != 1) place = written(node, "Expand", {*place, constant_of(node.name + " shape", {3}, shape)});
  if (!place) return place;
  auto values = computed(node, "GatherElements", {pixels, *place}, {{"axis", int64_t{2}}});
  if (!values || !weight) return values;
  const auto factor = chain_of(node, *weight, inputs);
  return factor ? computed(node, "Mul", {*values, *factor}) : factor;
}

}  // namespace qgen::onnx
