// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Convolutions as docs/convolution.md defines them: for each output, a loop over the window and the channels.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/engine/calls/attributes.h"
#include "runtime/workshop/reference/affine.h"
#include "runtime/workshop/reference/linear_requests.h"
#include "runtime/workshop/reference/real_sums.h"
#include "runtime/workshop/reference/rows.h"
#include "runtime/workshop/reference/weight_linear.h"

namespace qgen::reference {
namespace {

// [height, width].
struct Pair {
  int64_t y, x;
};

// The elements of an image or, of rank 3, of a row: one of height 1.
struct Elements {
  explicit Elements(const Shape& shape) : is_row(shape.size() == 3) {
    batch = shape[0];
    channels = shape[1];
    sides = {is_row ? 1 : shape[2], shape.back()};
  }
  // nullopt: outside.
  std::optional<int64_t> index(int64_t n, int64_t c, Pair at) const {
    if (at.y < 0 || at.x < 0 || at.y >= sides.y || at.x >= sides.x) return std::nullopt;
    return (n * channels + c) * plane() + at.y * sides.x + at.x;
  }
  int64_t plane() const { return sides.y * sides.x; }  // from one channel to the next

  bool is_row;
  int64_t batch = 0, channels = 0;
  Pair sides{};
};

// A list of an attribute: one number for both, or [height, width]; of a row its height is `otherwise`.
Pair pair_of(const std::vector<int64_t>& list, bool is_row, int64_t otherwise) {
  return {is_row ? otherwise : list.front(), list.back()};
}

struct Geometry {
  Pair taps, stride, before, after, dilation, output_padding;
};

Geometry geometry_of(const Request& request, const Elements& weight) {
  const bool is_row = weight.is_row;
  const auto list = [&](std::string_view name, int64_t otherwise) {
    return find_attribute<std::vector<int64_t>>(request, name).value_or(std::vector<int64_t>{otherwise});
  };
  const std::vector<int64_t> padding = list("padding", 0);
  const bool says_ends = padding.size() == (is_row ? 2 : 4);
  const auto middle = padding.begin() + (says_ends ? std::ssize(padding) / 2 : 0);
  return {weight.sides,
          pair_of(list("stride", 1), is_row, 1),
          pair_of(says_ends ? std::vector(padding.begin(), middle) : padding, is_row, 0),
          pair_of({middle, padding.end()}, is_row, 0),
          pair_of(list("dilation", 1), is_row, 1),
          pair_of(list("output_padding", 0), is_row, 0)};
}

// Where tap t of the window at output place o reads; a place outside of any image if it reads nothing.
using ReadAt = int64_t (*)(int64_t o, int64_t t, int64_t stride, int64_t before, int64_t dilation);
int64_t forward_at(int64_t o, int64_t t, int64_t stride, int64_t before, int64_t dilation) {
  return o * stride - before + t * dilation;
}
int64_t transposed_at(int64_t o, int64_t t, int64_t stride, int64_t before, int64_t dilation) {
  const int64_t spread = o + before - t * dilation;
  return spread >= 0 && spread % stride == 0 ? spread / stride : -1;
}

// The factors of a convolution. `weight` is [N, C / groups, taps].
struct Walk {
  Walk(const Request& request, const HostTensor& input_tensor, const HostTensor& weight_tensor, ReadAt read)
      : input(input_tensor.shape),
        weight(weight_tensor.shape),
        geometry(geometry_of(request, weight)),
        group_outputs(weight.batch / attribute<int64_t>(request, "groups")),
        read_at(read) {}

  // Calls add(element of the input, element of the weight) for each product of the output of channel o at a place.
  template <typename Add>
  void for_each_product(int64_t n, int64_t o, Pair at, const Add& add) const {
    const Geometry& g = geometry;
    const int64_t first = o / group_outputs * weight.channels;
    for (int64_t y = 0; y < g.taps.y; ++y) {
      for (int64_t x = 0; x < g.taps.x; ++x) {
        const Pair from{read_at(at.y, y, g.stride.y, g.before.y, g.dilation.y),
                        read_at(at.x, x, g.stride.x, g.before.x, g.dilation.x)};
        const auto read = input.index(n, first, from);
        if (!read) continue;
        const int64_t tap = *weight.index(o, 0, {y, x});
        for (int64_t c = 0; c < weight.channels; ++c) add(*read + c * input.plane(), tap + c * weight.plane());
      }
    }
  }

  Elements input, weight;
  Geometry geometry;
  int64_t group_outputs;
  ReadAt read_at;
};

Shape output_shape(const Elements& input, int64_t outputs, Pair sides) {
  return input.is_row ? Shape{input.batch, outputs, sides.x} : Shape{input.batch, outputs, sides.y, sides.x};
}

// f32 [N, O, sides], of integers.
HostTensor convolved(const Walk& walk, const HostTensor& input, const HostTensor& weight, Pair sides,
                     const Request& request) {
  const int64_t outputs = walk.weight.batch, zero_point = attribute<int64_t>(request, "input_zero_point");
  const auto pixels = input.as<int8_t>(), weights = weight.as<int8_t>();
  HostTensor y = zeros(DType::f32, output_shape(walk.input, outputs, sides));
  const LinearParams params = params_of(request);
  for (size_t i = 0; i < y.as<float>().size(); ++i) {
    const auto place = static_cast<int64_t>(i);
    const int64_t plane = place / (sides.y * sides.x), o = plane % outputs;
    int64_t sum = 0;
    walk.for_each_product(plane / outputs, o, {place / sides.x % sides.y, place % sides.x},
                          [&](int64_t pixel, int64_t w) { sum += (pixels[pixel] - zero_point) * weights[w]; });
    y.as<float>()[i] =
        output_of(sum, static_cast<size_t>(o), request.inputs.at("weight_scales"), find_input(request, "bias"), params);
  }
  return y;
}

int64_t places(int64_t side, int64_t stride, int64_t padding, int64_t dilation, int64_t taps) {
  return (side + padding - dilation * (taps - 1) - 1) / stride + 1;
}

// Of a forward convolution.
Pair places(Pair image, const Geometry& g) {
  return {places(image.y, g.stride.y, g.before.y + g.after.y, g.dilation.y, g.taps.y),
          places(image.x, g.stride.x, g.before.x + g.after.x, g.dilation.x, g.taps.x)};
}

// For a transposed one: the positions that the input's pixels reach.
Pair reached(Pair image, const Geometry& g) {
  const auto side = [](int64_t input, int64_t stride, int64_t padding, int64_t dilation, int64_t taps, int64_t more) {
    return (input - 1) * stride - padding + dilation * (taps - 1) + more + 1;
  };
  return {side(image.y, g.stride.y, g.before.y + g.after.y, g.dilation.y, g.taps.y, g.output_padding.y),
          side(image.x, g.stride.x, g.before.x + g.after.x, g.dilation.x, g.taps.x, g.output_padding.x)};
}

// A forward convolution of integers, with a floating-point result.
HostTensor convolved_forward(const HostTensor& input, const Request& request) {
  const HostTensor& weight = request.inputs.at("weight");
  const Walk walk(request, input, weight, forward_at);
  return convolved(walk, input, weight, places(walk.input.sides, walk.geometry), request);
}

Tensors q8ta_conv2d(const Request& request) {
  return {{"output", stored(convolved_forward(request.inputs.at("input"), request), request)}};
}

// [C, O / groups, taps] as [O, C / groups, taps].
HostTensor turned(const HostTensor& weight, int64_t groups) {
  Shape shape = weight.shape;
  const int64_t channels = shape[0] / groups, outputs = shape[1];
  shape[0] = outputs * groups;
  shape[1] = channels;
  HostTensor result = zeros(weight.dtype, shape);
  const int64_t taps = element_count(Shape(shape.begin() + 2, shape.end()));
  for (int64_t i = 0; i < element_count(shape); ++i) {
    const int64_t o = i / taps / channels, c = i / taps % channels;
    const int64_t from = (o / outputs * channels + c) * outputs + o % outputs;
    set_element(result, i, element(weight, from * taps + i % taps));
  }
  return result;
}

Tensors q8ta_conv2d_transposed(const Request& request) {
  const HostTensor weight = turned(request.inputs.at("weight"), attribute<int64_t>(request, "groups"));
  const HostTensor& input = request.inputs.at("input");
  const Walk walk(request, input, weight, transposed_at);
  const HostTensor reals = convolved(walk, input, weight, reached(walk.input.sides, walk.geometry), request);
  return {{"output", stored(reals, request)}};
}

// ---- reals in and out -----------------------------------------------------------------------------------------------

Tensors conv2d_q8ta_q8csw(const Request& request) {
  const HostTensor& input = request.inputs.at("input");
  const LinearParams params = params_of(request);
  const HostTensor q = quantized(input, {params.input_scale, params.input_zero_point});
  return {{"output", rounded_to(input.dtype, convolved_forward(q, request))}};
}

Tensors q8ta_conv2d_dequantize(const Request& request) {
  const HostTensor reals = convolved_forward(request.inputs.at("input"), request);
  return {{"output", rounded_to(dtype_attribute(request, "output_dtype"), reals)}};
}

// Of an input and a weight that are less their zero points: the sums of ONNX's ConvInteger.
Tensors dq8ta_conv2d(const Request& request) {
  const HostTensor &input = request.inputs.at("input"), &weight = request.inputs.at("weight");
  const HostTensor* weight_zero_points = find_input(request, "weight_zero_points");
  const Walk walk(request, input, weight, forward_at);
  const Pair sides = places(walk.input.sides, walk.geometry);
  const int64_t outputs = walk.weight.batch;
  const int32_t zero_point = request.inputs.at("zero_point").as<int32_t>()[0];
  const LinearParams params{.input_scale = request.inputs.at("scale").as<float>()[0],
                            .activation = activation_of(request)};
  const auto pixels = input.as<int8_t>(), weights = weight.as<int8_t>();
  HostTensor y = zeros(DType::f32, output_shape(walk.input, outputs, sides));
  for (int64_t i = 0; i < element_count(y.shape); ++i) {
    const int64_t plane = i / sides.x / sides.y, o = plane % outputs;
    const int32_t less = weight_zero_points ? weight_zero_points->as<int32_t>()[static_cast<size_t>(o)] : 0;
    int64_t sum = 0;
    walk.for_each_product(plane / outputs, o, {i / sides.x % sides.y, i % sides.x}, [&](int64_t pixel, int64_t w) {
      sum += int64_t{pixels[static_cast<size_t>(pixel)] - zero_point} * (weights[static_cast<size_t>(w)] - less);
    });
    y.as<float>()[static_cast<size_t>(i)] =
        output_of(sum, static_cast<size_t>(o), request.inputs.at("weight_scales"), find_input(request, "bias"), params);
  }
  return {{"output", std::move(y)}};
}

// The images one after another along their channels.
HostTensor joined_images(const Request& request) {
  std::vector<const HostTensor*> sources{&request.inputs.at("input")};
  for (const char* name : {"input_2", "input_3", "input_4"}) {
    if (const HostTensor* source = find_input(request, name)) sources.push_back(source);
  }
  Shape shape = sources.front()->shape;
  shape[1] = 0;
  for (const HostTensor* source : sources) shape[1] += source->shape[1];
  HostTensor joined = zeros(DType::f32, shape);
  const Elements all(shape);
  for (int64_t n = 0, at = 0; n < all.batch; ++n) {
    for (const HostTensor* source : sources) {
      const int64_t count = source->shape[1] * all.plane();
      for (int64_t i = 0; i < count; ++i) set_element(joined, at++, element(*source, n * count + i));
    }
  }
  return joined;
}

// dq8ta_conv2d of the joined images, each quantized by the range of all of them.
Tensors conv2d_dq8ta_q8csw(const Request& request) {
  const HostTensor joined = joined_images(request);
  constexpr IntegerBounds kBytes{-128, 127};
  const auto x = joined.as<float>();
  const auto to = choose_qparams(x, MappingType::asymmetric, kBytes, std::numeric_limits<float>::min());
  HostTensor codes = zeros(DType::i8, joined.shape);
  for (size_t i = 0; i < x.size(); ++i)
    codes.as<int8_t>()[i] = static_cast<int8_t>(quantize_linear(x[i], to.scale, to.zero_point, kBytes));
  Request quantized = request;
  quantized.inputs["input"] = std::move(codes);
  quantized.inputs["scale"] = make_tensor<float>(DType::f32, {1}, std::span(&to.scale, 1));
  quantized.inputs["zero_point"] = make_tensor<int32_t>(DType::i32, {1}, std::span(&to.zero_point, 1));
  return dq8ta_conv2d(quantized);
}

// The rows from `first` on of a tensor [rows, ...].
HostTensor rows_from(const HostTensor& tensor, int64_t first, int64_t rows) {
  Shape shape = tensor.shape;
  const int64_t length = shape[0] == 0 ? 0 : element_count(shape) / shape[0];
  shape[0] = rows;
  HostTensor result = zeros(tensor.dtype, shape);
  for (int64_t i = 0; i < rows * length; ++i) set_element(result, i, element(tensor, first * length + i));
  return result;
}

// The inputs of each window position, for so many channels from `first` on: [positions of all images, channels * taps].
HostTensor patches_of(const HostTensor& input, const Geometry& g, Pair sides, int64_t first, int64_t channels) {
  const Elements image(input.shape);
  HostTensor patches = zeros(input.dtype, {image.batch * sides.y * sides.x, channels * g.taps.y * g.taps.x});
  for (int64_t i = 0; i < element_count(patches.shape); ++i) {
    const int64_t place = i / patches.shape[1], tap = i % patches.shape[1];
    const Pair from{
        forward_at(place / sides.x % sides.y, tap / g.taps.x % g.taps.y, g.stride.y, g.before.y, g.dilation.y),
        forward_at(place % sides.x, tap % g.taps.x, g.stride.x, g.before.x, g.dilation.x)};
    const auto read = image.index(place / sides.x / sides.y, first + tap / g.taps.x / g.taps.y, from);
    if (read) set_element(patches, i, element(input, *read));
  }
  return patches;
}

// A linear layer with an integer weight for each group, on the inputs of its window.
Answer conv2d_q8csw(const Request& request) {
  const HostTensor &input = request.inputs.at("input"), &weight = request.inputs.at("weight");
  const HostTensor* bias = find_input(request, "bias");
  const Elements window(weight.shape);
  const Geometry g = geometry_of(request, window);
  const Elements image(input.shape);
  const Pair sides = places(image.sides, g);
  const int64_t pixels = sides.y * sides.x, groups = attribute<int64_t>(request, "groups");
  const int64_t outputs = window.batch, n = outputs / groups, k = window.channels * g.taps.y * g.taps.x;
  HostTensor y = zeros(input.dtype, output_shape(image, outputs, sides));
  const auto count = static_cast<size_t>(element_count(y.shape));
  Exact exact{std::vector<double>(count), std::vector<double>(count)};
  for (int64_t group = 0; group < groups; ++group) {
    const HostTensor patches = patches_of(input, g, sides, group * window.channels, window.channels);
    HostTensor rows = rows_from(weight, group * n, n);
    rows.shape = {n, k};
    const HostTensor scales = rows_from(request.inputs.at("weight_scales"), group * n, n);
    const HostTensor own_bias = bias ? rows_from(*bias, group * n, n) : HostTensor{};
    const ExactOutput made =
        weight_only_linear({patches, rows, scales, bias ? &own_bias : nullptr, activation_of(request)});
    for (int64_t i = 0; i < element_count(made.output.shape); ++i) {
      const int64_t place = i / n, o = group * n + i % n;
      const int64_t to = (place / pixels * outputs + o) * pixels + place % pixels;
      set_element(y, to, element(made.output, i));
      exact.values[static_cast<size_t>(to)] = made.exact.values[static_cast<size_t>(i)];
      exact.bounds[static_cast<size_t>(to)] = made.exact.bounds[static_cast<size_t>(i)];
    }
  }
  return {{{"output", std::move(y)}}, {{"output", std::move(exact)}}};
}

// ---- with a weight of reals -----------------------------------------------------------------------------------------

// `weight` is [N, C / groups, taps].
Answer convolved_reals(const Request& request, const HostTensor& weight, ReadAt read_at) {
  const HostTensor& input = request.inputs.at("input");
  const HostTensor* bias = find_input(request, "bias");
  const Walk walk(request, input, weight, read_at);
  const Geometry& g = walk.geometry;
  const Pair sides = read_at == transposed_at ? reached(walk.input.sides, g) : places(walk.input.sides, g);
  const int64_t outputs = walk.weight.batch, depth = walk.weight.channels * g.taps.y * g.taps.x;
  const Shape shape = output_shape(walk.input, outputs, sides);
  const HostTensor input_floats = rounded_to(DType::f32, input), weight_floats = rounded_to(DType::f32, weight);
  const auto pixels = input_floats.as<float>(), weights = weight_floats.as<float>();
  RealOutputs results(input.dtype, shape);
  for (int64_t i = 0; i < element_count(shape); ++i) {
    const int64_t plane = i / sides.x / sides.y, o = plane % outputs;
    RealSum sum{.absolute = 2 * kSmallestNormal};
    walk.for_each_product(plane / outputs, o, {i / sides.x % sides.y, i % sides.x},
                          [&](int64_t pixel, int64_t w) { sum.add_product(pixels[pixel], weights[w]); });
    results.add(sum, depth + 9, bias ? element(*bias, o) : 0, activation_of(request));
  }
  ExactOutput made = std::move(results).result();
  return {{{"output", std::move(made.output)}}, {{"output", std::move(made.exact)}}};
}

Answer conv2d(const Request& request) { return convolved_reals(request, request.inputs.at("weight"), forward_at); }

Answer conv2d_transposed(const Request& request) {
  const HostTensor weight = turned(request.inputs.at("weight"), attribute<int64_t>(request, "groups"));
  return convolved_reals(request, weight, transposed_at);
}

}  // namespace

std::span<const Row> conv_rows() {
  static constexpr Row kRows[] = {
      exact_row<conv2d>("conv2d"),
      exact_row<conv2d_transposed>("conv2d_transposed"),
      exact_row<conv2d_q8csw>("conv2d_q8csw"),
      {"conv2d_dq8ta_q8csw", conv2d_dq8ta_q8csw},
      {"conv2d_q8ta_q8csw", conv2d_q8ta_q8csw},
      {"dq8ta_conv2d", dq8ta_conv2d},
      {"q8ta_conv2d", q8ta_conv2d},
      {"q8ta_conv2d_dequantize", q8ta_conv2d_dequantize},
      {"q8ta_conv2d_transposed", q8ta_conv2d_transposed},
  };
  return kRows;
}

}  // namespace qgen::reference
