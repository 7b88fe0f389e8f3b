// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/quantized.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <iterator>
#include <numeric>

#include "runtime/engine/tensor/quant_params.h"

namespace qgen::onnx {

bool is_byte(ElementType type) { return type == ElementType::i8 || type == ElementType::u8; }
bool is_unsigned_byte(ElementType type) { return type == ElementType::u8; }
bool is_code(ElementType type) { return is_byte(type) || is_nibble(type); }
int32_t shift_of(ElementType type) { return is_unsigned_byte(type) ? 128 : 0; }

std::optional<IntegerRange> range_of(ElementType type) {
  if (type == ElementType::i4) return IntegerRange{-8, 7};
  if (type == ElementType::u4) return IntegerRange{0, 15};
  const auto dtype = dtype_of(type);
  return dtype && dtype != DType::u32 ? qgen::range_of(*dtype) : std::nullopt;
}

// ---- parameters -----------------------------------------------------------------------------------------------------

namespace {

Expected<Parameters> read_parameters(const TensorPtr& scale, const TensorPtr& zero_point, ElementType type) {
  if (!scale || !is_real(scale->type)) return refused("its scale is not a floating-point constant");
  Parameters result{.shape = scale->shape, .type = zero_point ? zero_point->type : type};
  const auto range = range_of(result.type);
  if (!range)
    return refused(fmt::format("its quantized type is {}, and can be int32 or an integer type of up to 16 bits",
                               name(result.type)));
  if (zero_point && zero_point->size() != scale->size() && zero_point->size() != 1)
    return refused(fmt::format("it has {} scales and {} zero points", scale->size(), zero_point->size()));
  for (int64_t i = 0; i < scale->size(); ++i) {
    const float value = scale->real(i);
    if (!(value > 0) || std::isinf(value)) return refused(fmt::format("its scale is {}", value));
    result.scales.push_back(value);
    const int64_t zero = zero_point ? zero_point->integer(zero_point->size() == 1 ? 0 : i) : 0;
    if (zero < range->min || zero > range->max) return refused(fmt::format("its zero point is {}", zero));
    result.zero_points.push_back(static_cast<int32_t>(zero));
  }
  if (result.scales.empty()) return refused("it has no scale");
  return result;
}

}  // namespace

Parameters in_whole_blocks(const Parameters& parameters, size_t axis, int64_t block, int64_t side) {
  const int64_t smaller = std::gcd(block, side), blocks = parameters.shape[axis];
  Parameters result{.shape = parameters.shape, .type = parameters.type};
  result.shape[axis] = side / smaller;
  const auto product = [&](size_t first, size_t last) {
    int64_t count = 1;
    for (size_t d = first; d < last; ++d) count *= parameters.shape[d];
    return count;
  };
  const int64_t outer = product(0, axis), inner = product(axis + 1, parameters.shape.size());
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t b = 0; b < result.shape[axis]; ++b) {
      for (int64_t i = 0; i < inner; ++i) {
        const auto from = static_cast<size_t>((o * blocks + b * smaller / block) * inner + i);
        result.scales.push_back(parameters.scales[from]);
        result.zero_points.push_back(parameters.zero_points[from]);
      }
    }
  }
  return result;
}

Expected<Parameters> parameters_along(size_t axis, size_t rank, const TensorPtr& scale, const TensorPtr& zero_point,
                                      ElementType type) {
  auto result = read_parameters(scale, zero_point, type);
  if (!result) return result;
  const auto count = static_cast<int64_t>(result->scales.size());
  result->shape.clear();
  if (count == 1) return result;
  result->shape.assign(rank, 1);
  result->shape[axis] = count;
  return result;
}

Expected<Parameters> parameters_of(const Node& node, const TensorPtr& scale, const TensorPtr& zero_point,
                                   ElementType type, const std::optional<Shape>& data) {
  auto result = read_parameters(scale, zero_point, type);
  if (!result || result->is_per_tensor()) {
    if (result) result->shape.clear();
    return result;
  }
  if (!data) return refused("it has several scales, but its input has an unknown dimension");
  const auto rank = static_cast<int64_t>(data->size());
  int64_t axis = node.integer("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return refused(fmt::format("its axis is {}, and its tensor has rank {}", axis, rank));
  const int64_t block = node.integer("block_size", 0), side = (*data)[static_cast<size_t>(axis)];
  if (block == 0) {
    if (scale->shape.size() != 1 || scale->shape[0] != side)
      return refused(fmt::format("it has scales {} for {} elements along axis {}", to_text(scale->shape), side, axis));
    result->shape.assign(data->size(), 1);
    result->shape[static_cast<size_t>(axis)] = side;
    return result;
  }
  Shape blocks = *data;
  blocks[static_cast<size_t>(axis)] = block > 0 ? side / block + (side % block != 0) : 0;
  if (block < 0 || scale->shape != blocks)
    return refused(fmt::format("it has scales {} for a tensor {} in blocks of {} along axis {}", to_text(scale->shape),
                               to_text(*data), block, axis));
  return side % block == 0 ? result
                           : Expected<Parameters>(in_whole_blocks(*result, static_cast<size_t>(axis), block, side));
}

Expected<PerTensor> per_tensor_of(const Parameters& parameters) {
  if (!parameters.is_per_tensor()) return refused("it has several scales, and int8 activations have a single one");
  if (!is_code(parameters.type))
    return refused(fmt::format("its integers are {}, and activations can have 8 or 4 bits", name(parameters.type)));
  const float scale = parameters.scales.front();
  if (scale < kLeastScale || scale > kLargestScale)
    return refused(fmt::format("its scale is {}, and can be 2^-125 to 2^119", scale));
  return PerTensor{scale, parameters.zero_points.front() - shift_of(parameters.type)};
}

// ---- constants ------------------------------------------------------------------------------------------------------

namespace {

// The parameter of each element, in order.
std::vector<int64_t> parameter_indices(const Shape& data, const Parameters& parameters) {
  std::vector<int64_t> indices(static_cast<size_t>(element_count(data)), 0);
  if (parameters.is_per_tensor()) return indices;
  const auto block = block_of(data, parameters.shape);
  if (!block) return indices;
  // Neighbours of one parameter: whole sides, and a block of the one before.
  int64_t run = 1;
  for (size_t d = data.size(); d-- > 0;) {
    run *= (*block)[d];
    if ((*block)[d] != data[d]) break;
  }
  for (int64_t i = 0; i < std::ssize(indices); i += run)
    std::fill_n(indices.begin() + i, run, param_index(data, *block, i));
  return indices;
}

}  // namespace

Expected<TensorPtr> quantized(const Tensor& reals, const Parameters& parameters) {
  const auto range = range_of(parameters.type);
  if (!range || bytes(parameters.type) != 1)
    return refused(fmt::format("constants are not quantized to {}", name(parameters.type)));
  Tensor codes{reals.name, parameters.type, reals.shape, {}};
  const auto indices = parameter_indices(reals.shape, parameters);
  for (size_t i = 0; i < indices.size(); ++i) {
    const auto parameter = static_cast<size_t>(indices[i]);
    const double t = std::nearbyint(reals.real(static_cast<int64_t>(i)) / parameters.scales[parameter]);
    const double q = std::isnan(t) ? parameters.zero_points[parameter] : t + parameters.zero_points[parameter];
    const double bounded = std::clamp<double>(q, static_cast<double>(range->min), static_cast<double>(range->max));
    codes.data.push_back(static_cast<std::byte>(static_cast<int>(bounded)));
  }
  return TensorPtr(std::make_shared<const Tensor>(std::move(codes)));
}

HostTensor dequantized(const QuantizedConstant& constant) {
  HostTensor reals = zeros(DType::f32, constant.codes->shape);
  const auto indices = parameter_indices(constant.codes->shape, constant.parameters);
  for (size_t i = 0; i < indices.size(); ++i) {
    const auto parameter = static_cast<size_t>(indices[i]);
    const int64_t code = constant.codes->integer(static_cast<int64_t>(i));
    reals.as<float>()[i] =
        static_cast<float>(code - constant.parameters.zero_points[parameter]) * constant.parameters.scales[parameter];
  }
  return reals;
}

HostTensor reals_of(const Tensor& tensor, DType dtype) {
  HostTensor result = zeros(dtype, tensor.shape);
  for (int64_t i = 0; i < tensor.size(); ++i) set_element(result, i, tensor.real(i));
  return result;
}

Tensor transposed(const Tensor& tensor, const std::vector<int64_t>& order) {
  Tensor result{tensor.name, tensor.type, {}, std::vector<std::byte>(tensor.data.size())};
  const Strides strides = row_major_strides(tensor.shape);
  Strides from;
  for (const int64_t d : order) {
    result.shape.push_back(tensor.shape[static_cast<size_t>(d)]);
    from.push_back(strides[static_cast<size_t>(d)]);
  }
  const auto size = static_cast<size_t>(bytes(tensor.type));
  Shape at(order.size(), 0);
  int64_t source = 0;
  for (size_t i = 0; i * size < result.data.size(); ++i) {
    std::memcpy(&result.data[i * size], &tensor.data[static_cast<size_t>(source) * size], size);
    for (size_t d = order.size(); d-- > 0;) {
      source += from[d];
      if (++at[d] < result.shape[d]) break;
      source -= from[d] * at[d];
      at[d] = 0;
    }
  }
  return result;
}

QuantizedConstant transposed(const QuantizedConstant& constant, const std::vector<int64_t>& order) {
  QuantizedConstant result{std::make_shared<const Tensor>(transposed(*constant.codes, order)), constant.parameters};
  if (constant.parameters.is_per_tensor()) return result;
  const auto turned = [&](const auto& values, ElementType type) {
    using T = typename std::decay_t<decltype(values)>::value_type;
    return transposed(tensor_of<T>(type, constant.parameters.shape, values), order);
  };
  const Tensor scales = turned(constant.parameters.scales, ElementType::f32);
  const Tensor zeros = turned(constant.parameters.zero_points, ElementType::i32);
  result.parameters.shape = scales.shape;
  for (int64_t i = 0; i < scales.size(); ++i) {
    result.parameters.scales[static_cast<size_t>(i)] = scales.real(i);
    result.parameters.zero_points[static_cast<size_t>(i)] = static_cast<int32_t>(zeros.integer(i));
  }
  return result;
}

Expected<QuantizedConstant> reshaped(const QuantizedConstant& constant, const Shape& shape) {
  Tensor codes = *constant.codes;
  const Shape before = std::exchange(codes.shape, shape);
  QuantizedConstant result{std::make_shared<const Tensor>(std::move(codes)), constant.parameters};
  if (constant.parameters.is_per_tensor()) return result;
  // Scales along one axis stay valid if the reshape keeps that dimension, and everything before it.
  const auto axis = channel_axis(constant.parameters.shape);
  const auto leading = [](const Shape& of, size_t count) {
    return element_count(Shape(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(count)));
  };
  const bool is_channels = axis && constant.parameters.shape[*axis] == before[*axis];
  for (size_t d = 0; is_channels && d < shape.size(); ++d) {
    if (shape[d] != before[*axis] || leading(shape, d) != leading(before, *axis)) continue;
    result.parameters.shape.assign(shape.size(), 1);
    result.parameters.shape[d] = shape[d];
    return result;
  }
  return refused(fmt::format("scales {} of {} cannot be kept in a reshape to {}", to_text(constant.parameters.shape),
                             to_text(before), to_text(shape)));
}

HostTensor signed_codes(const Tensor& codes) {
  HostTensor result = zeros(DType::i8, codes.shape);
  for (size_t i = 0; i < result.data.size(); ++i) {
    const auto byte = std::to_integer<unsigned>(codes.data[i]);
    result.data[i] = static_cast<std::byte>(is_unsigned_byte(codes.type) ? byte ^ 0x80U : byte);
  }
  return result;
}

// ---- weights --------------------------------------------------------------------------------------------------------

namespace {

// The integers minus their zero points, if they are from `least` to `greatest`: then the weight has none.
Expected<HostTensor> symmetric_codes(const QuantizedConstant& constant, int64_t least, int64_t greatest) {
  const ElementType type = constant.codes->type;
  if (bytes(type) != 1 || type == ElementType::boolean)
    return refused(fmt::format("weight '{}' is {}, and weights have 4 or 8 bits", constant.codes->name, name(type)));
  HostTensor codes = zeros(DType::i8, constant.codes->shape);
  const auto indices = parameter_indices(constant.codes->shape, constant.parameters);
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t zero_point = constant.parameters.zero_points[static_cast<size_t>(indices[i])];
    const int64_t code = constant.codes->integer(static_cast<int64_t>(i)) - zero_point;
    if (code < least || code > greatest)
      return refused(fmt::format("weight '{}' of {} has zero point {}: an integer minus it is {}, and can be {} to {}",
                                 constant.codes->name, name(type), zero_point, code, least, greatest));
    codes.as<int8_t>()[i] = static_cast<int8_t>(code);
  }
  return codes;
}

}  // namespace

Expected<SymmetricWeight> symmetric_along(const QuantizedConstant& constant, size_t axis) {
  auto codes = symmetric_codes(constant, -128, 127);
  if (!codes) return codes.error();
  const Parameters& parameters = constant.parameters;
  const Shape& shape = constant.codes->shape;
  if (element_count(shape) == 0) return refused(fmt::format("weight '{}' has no elements", constant.codes->name));
  const bool is_channels = channel_axis(parameters.shape) == axis && parameters.shape[axis] == shape[axis];
  if (!parameters.is_per_tensor() && !is_channels)
    return refused(fmt::format("weight '{}' {} has scales {}, and can have one for each element along axis {}",
                               constant.codes->name, to_text(shape), to_text(parameters.shape), axis));
  std::vector<float> scales = parameters.scales;
  if (parameters.is_per_tensor()) scales.assign(static_cast<size_t>(shape[axis]), parameters.scales.front());
  return SymmetricWeight{*std::move(codes), make_tensor<float>(DType::f32, {std::ssize(scales)}, scales)};
}

Expected<RepeatedWeight> symmetric_in_copies(const QuantizedConstant& constant) {
  const Shape& shape = constant.codes->shape;
  if (shape.size() < 2 || element_count(shape) == 0 || bytes(constant.codes->type) != 1)
    return refused(
        fmt::format("weight '{}' is {} of {}", constant.codes->name, to_text(shape), name(constant.codes->type)));
  // Without zero points the scales stay the same. The integers may not fit then, so they are left out here.
  QuantizedConstant scales_alone = constant;
  for (size_t i = 0; i < scales_alone.parameters.zero_points.size(); ++i) scales_alone.parameters.zero_points[i] = 0;
  scales_alone.codes = std::make_shared<const Tensor>(
      Tensor{constant.codes->name, ElementType::i8, shape, std::vector<std::byte>(constant.codes->data.size())});
  auto weight = symmetric_along(scales_alone, 0);
  if (!weight) return weight.error();
  const auto indices = parameter_indices(shape, constant.parameters);
  std::vector<int64_t> left;
  for (size_t i = 0; i < indices.size(); ++i)
    left.push_back(constant.codes->integer(static_cast<int64_t>(i)) -
                   constant.parameters.zero_points[static_cast<size_t>(indices[i])]);
  const auto row = static_cast<size_t>(element_count(shape) / shape[0]);
  std::vector<std::vector<int8_t>> copies;
  while (std::ranges::any_of(left, [](int64_t one) { return one != 0; }) || copies.empty()) {
    auto& copy = copies.emplace_back();
    for (int64_t& one : left) {
      copy.push_back(static_cast<int8_t>(std::clamp<int64_t>(one, -128, 127)));
      one -= copy.back();
    }
  }
  Shape repeated = shape;
  repeated[1] *= std::ssize(copies);
  HostTensor codes = zeros(DType::i8, repeated);
  auto to = codes.as<int8_t>().begin();
  for (size_t begin = 0; begin < left.size(); begin += row) {
    for (const auto& copy : copies) {
      const auto from = copy.begin() + static_cast<std::ptrdiff_t>(begin);
      to = std::copy(from, from + static_cast<std::ptrdiff_t>(row), to);
    }
  }
  weight->codes = std::move(codes);
  return RepeatedWeight{*std::move(weight), std::ssize(copies)};
}

Expected<SymmetricWeight> symmetric_groups(const QuantizedConstant& constant) {
  const Parameters& parameters = constant.parameters;
  const Shape& shape = constant.codes->shape;
  assert(shape.size() == 2 && "a matrix");
  auto codes = symmetric_codes(constant, -8, 7);
  if (!codes) return codes.error();
  if (parameters.is_per_tensor()) {
    const std::vector<float> scales(static_cast<size_t>(element_count(shape) == 0 ? 0 : shape[0]),
                                    parameters.scales[0]);
    return SymmetricWeight{*std::move(codes), make_tensor<float>(DType::f32, {std::ssize(scales), 1}, scales)};
  }
  if (parameters.shape[0] != shape[0])
    return refused(fmt::format("weight '{}' {} has scales {}, and can have them for rows or groups of each row",
                               constant.codes->name, to_text(shape), to_text(parameters.shape)));
  return SymmetricWeight{*std::move(codes), make_tensor<float>(DType::f32, parameters.shape, parameters.scales)};
}

}  // namespace qgen::onnx
