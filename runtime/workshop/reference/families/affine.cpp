// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The references of affine quantization, by name. They fill in omitted arguments as the operators do, and call
// affine.h.
#include "runtime/workshop/reference/affine.h"

#include <limits>

#include "runtime/engine/calls/attributes.h"
#include "runtime/engine/tensor/quant_params.h"
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

static constexpr Row kRows[] = {
    {"choose_qparams_affine", choose_qparams_affine},
    {"dequantize_affine", dequantize_affine},
    {"quantize_affine", quantize_affine},
    {"quantize_linear", quantize_linear},
};

std::span<const Row> affine_rows() { return kRows; }

}  // namespace qgen::reference
