// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Host floats are IEEE 754 and round to nearest even: each operator of C++ below is one RN of docs/q8ta.md.
#include <algorithm>
#include <cmath>

#include "runtime/engine/calls/attributes.h"
#include "runtime/workshop/reference/affine.h"
#include "runtime/workshop/reference/rows.h"

namespace qgen::reference {
namespace {

constexpr IntegerBounds kInt8{-128, 127};

struct Params {
  float scale;
  int32_t zero_point;
};
Params params_of(const Request& request, const std::string& operand) {
  return {static_cast<float>(attribute<double>(request, operand + "_scale")),
          static_cast<int32_t>(attribute<int64_t>(request, operand + "_zero_point"))};
}

float real_of(const HostTensor& tensor, int64_t index, const Params& params) {
  return dequantize(tensor.as<int8_t>()[static_cast<size_t>(index)], params.scale, params.zero_point);
}

void set_real(HostTensor& tensor, int64_t index, float x, const Params& params) {
  tensor.as<int8_t>()[static_cast<size_t>(index)] =
      static_cast<int8_t>(quantize(x, params.scale, params.zero_point, kInt8));
}

// ---- of one element -------------------------------------------------------------------------------------------------

template <typename Function>
Tensors unary(const Request& request, Function function) {
  const HostTensor& input = request.inputs.at("input");
  const Params from = params_of(request, "input"), to = params_of(request, "output");
  HostTensor output = zeros(DType::i8, input.shape);
  for (int64_t i = 0; i < element_count(input.shape); ++i) {
    set_real(output, i, static_cast<float>(function(double{real_of(input, i, from)})), to);
  }
  return {{"output", std::move(output)}};
}

// ---- of two ---------------------------------------------------------------------------------------------------------

float activated(float x, Activation activation) {
  switch (activation) {
    case Activation::none: return x;
    case Activation::relu: return std::max(x, 0.0f);
    case Activation::relu6: return std::clamp(x, 0.0f, 6.0f);
    case Activation::hardswish: return x * std::clamp(x + 3.0f, 0.0f, 6.0f) * static_cast<float>(1.0 / 6.0);
  }
  return x;
}

// The side of a dimension counted from the innermost; 1 past the outermost.
int64_t side_of(const Shape& shape, size_t dimension) {
  return dimension < shape.size() ? shape[shape.size() - 1 - dimension] : 1;
}

Shape broadcast_shape(const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()));
  for (size_t d = 0; d < shape.size(); ++d) {
    shape[shape.size() - 1 - d] = side_of(a, d) == 1 ? side_of(b, d) : side_of(a, d);
  }
  return shape;
}

// The index into a tensor of shape `own` of element `index` of the broadcast `shape`.
int64_t own_index(const Shape& shape, const Shape& own, int64_t index) {
  int64_t result = 0, stride = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    result += index % side_of(shape, d) % side_of(own, d) * stride;
    stride *= side_of(own, d);
    index /= side_of(shape, d);
  }
  return result;
}

template <typename Function>
Tensors binary(const Request& request, Params other_params, Function function) {
  const HostTensor& input = request.inputs.at("input");
  const HostTensor& other = request.inputs.at("other");
  const Params input_params = params_of(request, "input"), to = params_of(request, "output");
  const auto activation = word_attribute<Activation>(request, "activation", generated::words::kActivation);
  HostTensor output = zeros(DType::i8, broadcast_shape(input.shape, other.shape));
  for (int64_t i = 0; i < element_count(output.shape); ++i) {
    const float a = real_of(input, own_index(output.shape, input.shape, i), input_params);
    const float b = real_of(other, own_index(output.shape, other.shape, i), other_params);
    set_real(output, i, activated(function(a, b), activation), to);
  }
  return {{"output", std::move(output)}};
}

Tensors sum(const Request& request, float sign) {
  Params other = params_of(request, "other");
  other.scale *= sign * static_cast<float>(attribute<double>(request, "alpha"));
  if (std::abs(other.scale) < 0x1p-125f) other.scale = 0;
  return binary(request, other, [](float a, float b) { return a + b; });
}

Tensors q8ta_table(const Request& request) {
  const HostTensor& input = request.inputs.at("input");
  const auto answers = attribute<std::vector<int64_t>>(request, "table");
  HostTensor output = zeros(DType::i8, input.shape);
  for (int64_t i = 0; i < element_count(input.shape); ++i) {
    const int byte = input.as<int8_t>()[static_cast<size_t>(i)];
    set_element(output, i, static_cast<double>(answers[static_cast<size_t>(byte + 128)]));
  }
  return {{"output", std::move(output)}};
}

Tensors q8ta_relu(const Request& request) {
  return unary(request, [](double x) { return x > 0 ? x : 0; });
}
Tensors q8ta_hardswish(const Request& request) {
  return unary(request, [](double x) { return x <= -3 ? 0 : x >= 3 ? x : x * (x + 3) / 6; });
}
Tensors q8ta_leaky_relu(const Request& request) {
  const auto slope = attribute<double>(request, "slope");
  return unary(request, [&](double x) { return x > 0 ? x : slope * x; });
}
Tensors q8ta_sigmoid(const Request& request) {
  return unary(request, [](double x) { return 1 / (1 + std::exp(-x)); });
}

Tensors q8ta_add(const Request& request) { return sum(request, 1); }
Tensors q8ta_sub(const Request& request) { return sum(request, -1); }
Tensors q8ta_mul(const Request& request) {
  return binary(request, params_of(request, "other"), [](float a, float b) { return a * b; });
}

// ---- pixel shuffle --------------------------------------------------------------------------------------------------

Tensors q8ta_pixel_shuffle(const Request& request) {
  const HostTensor& input = request.inputs.at("input");
  const Params from = params_of(request, "input"), to = params_of(request, "output");
  const int64_t r = attribute<int64_t>(request, "upscale_factor");
  const int64_t channels = side_of(input.shape, 2) / (r * r);
  const int64_t height = side_of(input.shape, 1) * r, width = side_of(input.shape, 0) * r;
  Shape shape(input.shape.begin(), input.shape.end() - 3);
  shape.insert(shape.end(), {channels, height, width});
  HostTensor output = zeros(DType::i8, shape);
  for (int64_t i = 0; i < element_count(shape); ++i) {
    const int64_t w = i % width, h = i / width % height, c = i / width / height % channels,
                  n = i / width / height / channels;
    const int64_t channel = (c * r + h % r) * r + w % r;
    const int64_t source = ((n * channels * r * r + channel) * (height / r) + h / r) * (width / r) + w / r;
    set_real(output, i, real_of(input, source, from), to);
  }
  return {{"output", std::move(output)}};
}

// ---- concat ---------------------------------------------------------------------------------------------------------

// For inputs input_1, input_2, ... in order, the elements that follow each other along the axis.
Tensors q8ta_concat(const Request& request) {
  const Params to = params_of(request, "output");
  Shape shape = request.inputs.at("input_1").shape;
  const int64_t given = attribute<int64_t>(request, "axis"), rank = static_cast<int64_t>(shape.size());
  const auto axis = static_cast<size_t>(given < 0 ? given + rank : given);
  shape[axis] = 0;
  for (const auto& [name, input] : request.inputs) shape[axis] += input.shape[axis];
  const int64_t outer = element_count(Shape(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(axis)));
  HostTensor output = zeros(DType::i8, shape);
  int64_t next = 0;
  for (int64_t i = 0; i < outer; ++i) {
    for (const auto& [name, input] : request.inputs) {
      const int64_t run = element_count(input.shape) / outer;
      for (int64_t j = 0; j < run; ++j)
        set_real(output, next++, real_of(input, i * run + j, params_of(request, name)), to);
    }
  }
  return {{"output", std::move(output)}};
}

}  // namespace

std::span<const Row> elementwise_rows() {
  static constexpr Row kRows[] = {
      {"q8ta_add", q8ta_add},
      {"q8ta_concat", q8ta_concat},
      {"q8ta_hardswish", q8ta_hardswish},
      {"q8ta_leaky_relu", q8ta_leaky_relu},
      {"q8ta_mul", q8ta_mul},
      {"q8ta_pixel_shuffle", q8ta_pixel_shuffle},
      {"q8ta_relu", q8ta_relu},
      {"q8ta_sigmoid", q8ta_sigmoid},
      {"q8ta_sub", q8ta_sub},
      {"q8ta_table", q8ta_table},
  };
  return kRows;
}

}  // namespace qgen::reference
