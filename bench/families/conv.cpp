// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Rows of convolutions, int8 and floating-point.
#include <fmt/format.h>

#include "bench/family.h"

namespace qgen::bench {
namespace {

// Windows are square, with equal padding on all sides; `output_padding` is the extra end of a transposed one.
struct Convolution {
  int images, channels, outputs, height, width, taps, stride, padding, groups = 1, output_padding = 0, dilation = 1;
};

// The sizes of ExecuTorch's benchmarks: for images, with one tap, and depthwise.
constexpr Convolution kConvolutions[] = {
    {1, 3, 32, 256, 256, 3, 1, 0},         {1, 32, 64, 128, 128, 3, 1, 1},     {1, 64, 64, 128, 128, 3, 1, 1},
    {1, 64, 64, 128, 128, 3, 1, 1, 2},     {1, 96, 96, 128, 128, 3, 2, 1, 3},  {1, 128, 128, 128, 128, 5, 2, 2, 4},
    {1, 128, 128, 256, 256, 5, 2, 2, 4},   {1, 64, 64, 256, 256, 3, 1, 1, 2},  {1, 512, 512, 7, 7, 3, 1, 1},
    {1, 1024, 2048, 14, 14, 1, 2, 0},      {1, 480, 160, 8, 8, 1, 1, 0},       {1, 48, 22, 256, 256, 1, 1, 0},
    {1, 48, 48, 128, 128, 1, 1, 0},        {1, 128, 128, 128, 128, 1, 1, 0},   {1, 576, 64, 128, 128, 1, 1, 0},
    {1, 128, 128, 128, 128, 3, 1, 1, 128}, {1, 64, 64, 256, 256, 3, 1, 1, 64}, {1, 288, 288, 16, 16, 3, 1, 1, 288},
    {1, 32, 32, 128, 128, 3, 1, 2, 32}};

// The sizes of networks for images, one at a time and in batches, and one that fills a large device.
constexpr Convolution kLayersOfImages[] = {
    {1, 3, 64, 224, 224, 7, 2, 3},     {1, 64, 64, 56, 56, 3, 1, 1},     {1, 64, 256, 56, 56, 1, 1, 0},
    {1, 256, 128, 56, 56, 1, 1, 0},    {1, 128, 128, 56, 56, 3, 2, 1},   {1, 256, 256, 14, 14, 3, 1, 1},
    {1, 128, 128, 128, 128, 3, 1, 1},  {32, 64, 64, 56, 56, 3, 1, 1},    {32, 256, 256, 14, 14, 3, 1, 1},
    {32, 64, 256, 56, 56, 1, 1, 0},    {8, 256, 256, 128, 128, 3, 1, 1}, {1, 128, 128, 56, 56, 3, 1, 1, 128},
    {1, 64, 64, 128, 128, 3, 1, 1, 64}};

// The sizes of ExecuTorch's tests: small ones, most of which end within tiles.
constexpr Convolution kSmallConvolutions[] = {
    {1, 3, 32, 64, 64, 3, 1, 1},      {1, 3, 32, 64, 64, 3, 2, 1},      {1, 32, 64, 8, 8, 3, 1, 1},
    {1, 32, 64, 64, 64, 3, 1, 1},     {1, 32, 64, 64, 64, 3, 2, 1},     {1, 32, 16, 77, 77, 3, 1, 1},
    {1, 32, 64, 64, 64, 3, 1, 1, 2},  {1, 96, 96, 81, 81, 3, 2, 1, 3},  {1, 96, 96, 64, 64, 5, 2, 2, 4},
    {1, 16, 1, 8, 8, 1, 1, 0},        {1, 16, 2, 8, 8, 1, 1, 0},        {1, 16, 3, 8, 8, 1, 1, 0},
    {1, 3, 32, 64, 64, 1, 1, 0},      {1, 32, 64, 32, 32, 1, 1, 0},     {1, 64, 96, 16, 16, 1, 1, 0},
    {1, 7, 13, 57, 33, 1, 1, 0},      {1, 40, 80, 64, 64, 1, 1, 0},     {1, 32, 32, 64, 64, 3, 1, 1, 32},
    {1, 64, 64, 32, 32, 3, 2, 2, 64}, {1, 64, 64, 32, 32, 3, 2, 1, 64}, {1, 80, 80, 16, 16, 3, 1, 1, 80},
    {1, 16, 16, 57, 33, 3, 1, 1, 16}, {1, 32, 32, 64, 64, 5, 1, 2, 32}, {1, 96, 96, 64, 64, 5, 2, 2, 96}};

// The sizes of ExecuTorch's tests and timings of floating-point layers with an int8 weight.
constexpr Convolution kConvolutionsOfReals[] = {
    {1, 3, 32, 64, 64, 3, 2, 1},           {1, 16, 32, 32, 32, 3, 1, 1},         {1, 32, 64, 16, 16, 3, 1, 1},
    {1, 32, 1, 55, 55, 3, 1, 1},           {1, 32, 64, 32, 32, 3, 2, 1},         {1, 16, 32, 28, 28, 5, 1, 2},
    {1, 32, 64, 14, 14, 7, 1, 3},          {1, 32, 32, 32, 32, 3, 1, 1, 4},      {1, 64, 64, 16, 16, 3, 1, 1, 8},
    {1, 128, 256, 128, 128, 1, 1, 1},      {1, 64, 128, 128, 128, 3, 1, 1},      {1, 1024, 128, 128, 128, 1, 1, 0},
    {1, 16, 32, 32, 32, 3, 1, 2, 1, 0, 2}, {1, 32, 64, 16, 16, 3, 1, 3, 1, 0, 3}};

constexpr Convolution kTransposed[] = {{1, 128, 64, 32, 32, 3, 2, 1, 1, 1}, {1, 256, 128, 16, 16, 4, 2, 1},
                                       {1, 32, 16, 8, 8, 3, 2, 1, 1, 1},    {1, 64, 32, 4, 4, 3, 2, 1, 1, 1},
                                       {1, 32, 16, 8, 8, 4, 2, 1},          {1, 16, 16, 8, 8, 3, 1, 1},
                                       {1, 64, 32, 8, 8, 3, 2, 1, 2, 1},    {1, 128, 64, 16, 16, 4, 2, 1}};

// As 1x64x128x128.64.3x3s1p1, followed by .g64 for groups and .d2 for a dilation.
std::string text(const Convolution& c) {
  const std::string groups = c.groups > 1 ? fmt::format(".g{}", c.groups) : "";
  const std::string dilation = c.dilation > 1 ? fmt::format(".d{}", c.dilation) : "";
  return fmt::format("{}x{}x{}x{}.{}.{}x{}s{}p{}{}{}", c.images, c.channels, c.height, c.width, c.outputs, c.taps,
                     c.taps, c.stride, c.padding, groups, dilation);
}

Texts attributes_of(const Convolution& c, Texts attributes) {
  for (const auto& [name, value] : {std::pair{"stride", c.stride}, {"padding", c.padding}, {"groups", c.groups}})
    attributes.push_back(fmt::format("{}={}", name, value));
  if (c.output_padding > 0) attributes.push_back(fmt::format("output_padding={}", c.output_padding));
  if (c.dilation > 1) attributes.push_back(fmt::format("dilation={}", c.dilation));
  return attributes;
}

// A weight is [rows, columns, taps, taps]; each is used at so many places of the window.
Row convolution(std::string op, const Convolution& c, int rows, int columns, double places, std::string_view layout) {
  const Texts shapes = {fmt::format("input={}x{}x{}x{}:i8", c.images, c.channels, c.height, c.width),
                        fmt::format("weight={}x{}x{}x{}:i8", rows, columns, c.taps, c.taps),
                        fmt::format("weight_scales={}:f32=0.01", c.outputs), fmt::format("bias={}:f32", c.outputs)};
  Row row = in_layouts(std::move(op), text(c), shapes, attributes_of(c, joined(kInput, kOutput)),
                       {fmt::format("input={}", layout), fmt::format("output={}", layout)}, ".plain(");
  row.operations = 2.0 * rows * columns * c.taps * c.taps * places;
  return row;
}

double places_of(const Convolution& c) {
  const int reach = c.dilation * (c.taps - 1) + 1;
  const auto along = [&](int side) { return (side + 2 * c.padding - reach) / c.stride + 1; };
  return 1.0 * c.images * along(c.height) * along(c.width);
}

void add_forward(std::vector<Row>& rows, const Convolution& c, std::string_view layout) {
  rows.push_back(convolution("q8ta_conv2d", c, c.outputs, c.channels / c.groups, places_of(c), layout));
}

// Floating-point: a weight is [rows, columns, taps, taps], as above.
Row convolution_of_reals(std::string op, const Convolution& c, int rows, int columns, double places,
                         std::string_view dtype) {
  const bool is_int8 = op.ends_with("q8csw");
  Texts shapes = {fmt::format("input={}x{}x{}x{}:{}", c.images, c.channels, c.height, c.width, dtype),
                  fmt::format("weight={}x{}x{}x{}:{}", rows, columns, c.taps, c.taps, is_int8 ? "i8" : dtype)};
  if (is_int8) shapes.push_back(fmt::format("weight_scales={}:f32=0.01", c.outputs));
  shapes.push_back(fmt::format("bias={}:f32", c.outputs));
  const runner::RequestText request{.shapes = shapes,
                                    .attributes = attributes_of(c, op == "conv2d_q8ta_q8csw" ? kInput : Texts{})};
  return {std::move(op),
          fmt::format("{}.{}", text(c), dtype),
          {request},
          TimedRequest{request, ".plain("},
          2.0 * rows * columns * c.taps * c.taps * places};
}

void add_forward_to_reals(std::vector<Row>& rows, const Convolution& c) {
  const Texts shapes = {fmt::format("input={}x{}x{}x{}:i8", c.images, c.channels, c.height, c.width),
                        fmt::format("weight={}x{}x{}x{}:i8", c.outputs, c.channels / c.groups, c.taps, c.taps),
                        fmt::format("weight_scales={}:f32=0.01", c.outputs), fmt::format("bias={}:f32", c.outputs)};
  Row row =
      in_layouts("q8ta_conv2d_dequantize", text(c), shapes, attributes_of(c, kInput), {"input=packed_4c"}, ".plain(");
  row.operations = 2.0 * c.outputs * c.channels / c.groups * c.taps * c.taps * places_of(c);
  rows.push_back(std::move(row));
}

void add_forward_of_a_computed_scale(std::vector<Row>& rows, const Convolution& c) {
  const Texts shapes = {fmt::format("input={}x{}x{}x{}:i8", c.images, c.channels, c.height, c.width),
                        "scale=1:f32=0.04",
                        "zero_point=1:i32=-3",
                        fmt::format("weight={}x{}x{}x{}:i8", c.outputs, c.channels / c.groups, c.taps, c.taps),
                        fmt::format("weight_scales={}:f32=0.01", c.outputs),
                        fmt::format("bias={}:f32", c.outputs)};
  Row row = in_layouts("dq8ta_conv2d", text(c), shapes, attributes_of(c, {}), {"input=packed_4c"}, ".plain(");
  row.operations = 2.0 * c.outputs * c.channels / c.groups * c.taps * c.taps * places_of(c);
  rows.push_back(std::move(row));
}

// Two inputs of half the channels each, joined and quantized by their range.
void add_forward_by_its_range(std::vector<Row>& rows, const Convolution& c) {
  const int channels = c.channels / 2;
  const Texts shapes = {fmt::format("input={}x{}x{}x{}:f32", c.images, channels, c.height, c.width),
                        fmt::format("input_2={}x{}x{}x{}:f32", c.images, c.channels - channels, c.height, c.width),
                        fmt::format("weight={}x{}x{}x{}:i8", c.outputs, c.channels / c.groups, c.taps, c.taps),
                        fmt::format("weight_scales={}:f32=0.01", c.outputs), fmt::format("bias={}:f32", c.outputs)};
  const runner::RequestText request{.shapes = shapes, .attributes = attributes_of(c, {})};
  rows.push_back({"conv2d_dq8ta_q8csw",
                  text(c),
                  {request},
                  TimedRequest{request, ".plain("},
                  2.0 * c.outputs * c.channels / c.groups * c.taps * c.taps * places_of(c)});
}

// Computed in int8, with a weight of int8 alone, and without integers.
void add_forward_of_reals(std::vector<Row>& rows, const Convolution& c, std::string_view dtype) {
  for (const std::string op : {"conv2d_q8ta_q8csw", "conv2d_q8csw", "conv2d"})
    rows.push_back(convolution_of_reals(op, c, c.outputs, c.channels / c.groups, places_of(c), dtype));
}

// The last layers of blocks of residual networks, with the sum that would otherwise be a q8ta_add.
constexpr Convolution kResidualLayers[] = {
    {1, 64, 64, 56, 56, 3, 1, 1}, {1, 64, 256, 56, 56, 1, 1, 0}, {32, 64, 256, 56, 56, 1, 1, 0}};

void add_residual(Row& row, const Convolution& c) {
  row.size += ".residual";
  for (TimedRequest* way : {&row.chosen, &*row.plain}) {
    way->request.shapes.push_back(fmt::format("residual={}x{}x{}x{}:i8", c.images, c.outputs, c.height, c.width));
    way->request.attributes = joined(std::move(way->request.attributes), {"result_scale=0.05", "residual_scale=0.04"});
  }
  row.chosen.request.layouts.push_back("residual=packed_4c");
}

void add_transposed(std::vector<Row>& rows, const Convolution& c, std::string_view layout) {
  const double places = 1.0 * c.images * c.height * c.width;
  rows.push_back(convolution("q8ta_conv2d_transposed", c, c.channels, c.outputs / c.groups, places, layout));
}
void add_transposed_of_reals(std::vector<Row>& rows, const Convolution& c, std::string_view dtype) {
  const double places = 1.0 * c.images * c.height * c.width;
  rows.push_back(convolution_of_reals("conv2d_transposed", c, c.channels, c.outputs / c.groups, places, dtype));
}

void add_convolutions(std::vector<Row>& rows) {
  for (const std::string_view layout : {"packed_4c", "packed_4w4c", "packed_4c1w"}) {
    for (const Convolution& c : kConvolutions) add_forward(rows, c, layout);
    for (const Convolution& c : kTransposed) add_transposed(rows, c, layout);
  }
  for (const Convolution& c : kLayersOfImages) {
    add_forward(rows, c, "packed_4c");
    for (const std::string_view dtype : {"f32", "f16"}) add_forward_of_reals(rows, c, dtype);
  }
  for (const Convolution& c : kConvolutionsOfReals) add_forward_of_reals(rows, c, "f32");
  for (const Convolution& c : kTransposed) {
    for (const std::string_view dtype : {"f32", "f16"}) add_transposed_of_reals(rows, c, dtype);
  }
  for (const Convolution& c : kSmallConvolutions) add_forward(rows, c, "packed_4c");
  for (const Convolution& c : kLayersOfImages) add_forward_to_reals(rows, c);
  for (const Convolution& c : kLayersOfImages) add_forward_of_a_computed_scale(rows, c);
  for (const Convolution& c : kLayersOfImages) add_forward_by_its_range(rows, c);
  for (const Convolution& c : kResidualLayers) {
    add_forward(rows, c, "packed_4c");
    add_residual(rows.back(), c);
  }
}

}  // namespace

Family conv_family() {
  Family family;
  add_convolutions(family.rows);
  family.short_sizes = {
      // Lines of an image, vectors of channels, slices of a long k, a linear layer of pixels, depthwise, phases.
      {"q8ta_conv2d",
       {"1x3x224x224.64.7x7s2p3.packed_4c.packed_4c", "8x256x128x128.256.3x3s1p1.packed_4c.packed_4c",
        "1x512x7x7.512.3x3s1p1.packed_4c.packed_4c", "32x64x56x56.256.1x1s1p0.packed_4c.packed_4c",
        "1x64x128x128.64.3x3s1p1.g64.packed_4c.packed_4c"}},
      {"q8ta_conv2d_dequantize", {"32x256x14x14.256.3x3s1p1.packed_4c"}},
      {"dq8ta_conv2d", {"32x256x14x14.256.3x3s1p1.packed_4c"}},
      {"conv2d_dq8ta_q8csw", {"32x256x14x14.256.3x3s1p1"}},
      {"conv2d_q8ta_q8csw", {"32x256x14x14.256.3x3s1p1.f32", "1x64x128x128.64.3x3s1p1.g64.f16"}},
      {"conv2d_q8csw", {"32x256x14x14.256.3x3s1p1.f32", "32x256x14x14.256.3x3s1p1.f16"}},
      {"conv2d", {"32x256x14x14.256.3x3s1p1.f32", "32x256x14x14.256.3x3s1p1.f16", "1x64x128x128.64.3x3s1p1.g64.f16"}},
      {"conv2d_transposed", {"1x128x32x32.64.3x3s2p1.f16"}},
      {"q8ta_conv2d_transposed", {"1x128x32x32.64.3x3s2p1.packed_4c.packed_4c"}},
  };
  return family;
}

}  // namespace qgen::bench
