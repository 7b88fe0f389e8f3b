// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The references of affine quantization, by name. They fill in omitted arguments as the operators do, and call
// affine.h.
#include "runtime/workshop/reference/affine.h"

#include <limits>

#include "runtime/engine/calls/attributes.h"
#include "runtime/engine/tensor/quant_params.h"
#include "runtime/workshop/reference/linear.h"
#include "runtime/workshop/reference/rows.h"

namespace qgen::reference {
namespace {

Shape block_of_request(const Request& request) {
  if (const auto block = find_attribute<Shape>(request, "block_size")) return *block;
  return *block_of(request.inputs.at("input").shape, request.inputs.at("scale").shape);
}

IntegerBounds bounds_of(const Request& request, DType dtype) {
  const IntegerRange all = *range_of(dtype);
  return {static_cast<int32_t>(find_attribute<int64_t>(request, "quant_min").value_or(all.min)),
          static_cast<int32_t>(find_attribute<int64_t>(request, "quant_max").value_or(all.max))};
}

float eps_of(const Request& request) {
  constexpr float kSmallestNormalHalf = 0x1p-14f;
  const bool is_half = request.inputs.at("input").dtype == DType::f16;
  const float least = is_half ? kSmallestNormalHalf : std::numeric_limits<float>::min();
  return static_cast<float>(find_attribute<double>(request, "eps").value_or(least));
}

void drop_spanned(Shape& counts, const Shape& data) {
  Shape kept;
  for (size_t d = 0; d < data.size(); ++d) {
    if (counts[d] != 1 || data[d] == 1) kept.push_back(counts[d]);
  }
  counts = kept;
}

}  // namespace

// They share a name with the functions that they call, so they are in the same namespace.
static Tensors quantized_by(const Request& request, Quantize one) {
  const DType dtype = dtype_attribute(request, "output_dtype");
  return {{"output", quantize_affine(request.inputs.at("input"), block_of_request(request), request.inputs.at("scale"),
                                     find_input(request, "zero_point"), dtype, bounds_of(request, dtype), one)}};
}

static Tensors quantize_affine(const Request& request) { return quantized_by(request, quantize); }
static Tensors quantize_linear(const Request& request) { return quantized_by(request, quantize_linear); }

static Tensors dequantize_affine(const Request& request) {
  return {
      {"output", dequantize_affine(request.inputs.at("input"), block_of_request(request), request.inputs.at("scale"),
                                   find_input(request, "zero_point"), dtype_attribute(request, "output_dtype"))}};
}

static Tensors choose_qparams_affine(const Request& request) {
  const HostTensor& input = request.inputs.at("input");
  const Shape block = find_attribute<Shape>(request, "block_size").value_or(input.shape);
  const auto mapping = word_attribute<MappingType>(request, "mapping_type", generated::words::kMappingType);
  auto [scale, zero_point] = choose_qparams_affine(
      input, block, mapping, bounds_of(request, dtype_attribute(request, "target_dtype")), eps_of(request));
  if (!attribute<bool>(request, "keepdim")) {
    drop_spanned(scale.shape, input.shape);
    drop_spanned(zero_point.shape, input.shape);
  }
  return {{"scale", std::move(scale)}, {"zero_point", std::move(zero_point)}};
}

static Tensors dynamic_quantize_image(const Request& request) {
  const HostTensor& input = request.inputs.at("input");
  const HostTensor reals = rounded_to(DType::f32, input);
  constexpr IntegerBounds kBytes{-128, 127};
  const auto to = choose_qparams(reals.as<float>(), MappingType::asymmetric, kBytes, eps_of(request));
  const HostTensor scale = make_tensor<float>(DType::f32, {1}, std::span(&to.scale, 1));
  const HostTensor zero_point = make_tensor<int32_t>(DType::i32, {1}, std::span(&to.zero_point, 1));
  HostTensor codes = zeros(DType::i8, input.shape);
  const auto x = reals.as<float>();
  for (size_t i = 0; i < x.size(); ++i)
    codes.as<int8_t>()[i] = static_cast<int8_t>(quantize_linear(x[i], to.scale, to.zero_point, kBytes));
  Shape shape = input.shape;
  shape[1] = 1;
  HostTensor sums = zeros(DType::i32, shape);
  const int64_t plane = element_count(Shape(shape.begin() + 2, shape.end()));
  for (int64_t i = 0; i < element_count(input.shape); ++i) {
    const auto pixel = static_cast<size_t>(i / plane / input.shape[1] * plane + i % plane);
    sums.as<int32_t>()[pixel] += codes.as<int8_t>()[static_cast<size_t>(i)] - to.zero_point;
  }
  return {
      {"output", std::move(codes)}, {"scale", scale}, {"zero_point", zero_point}, {"channel_sums", std::move(sums)}};
}

std::span<const Row> affine_rows() {
  static constexpr Row kRows[] = {
      {"choose_qparams_affine", choose_qparams_affine},
      {"dequantize_affine", dequantize_affine},
      {"dynamic_quantize_image", dynamic_quantize_image},
      {"quantize_affine", quantize_affine},
      {"quantize_linear", quantize_linear},
  };
  return kRows;
}

}  // namespace qgen::reference
