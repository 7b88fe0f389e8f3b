// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/tensor/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "vocabulary/integer.h"

namespace qgen {

// ---- shapes ---------------------------------------------------------------------------------------------------------

Done check_shape(const Shape& shape) {
  constexpr int64_t kMostElements = int64_t{1} << 60;
  const auto refuse = [&](const std::string& reason) {
    return Error{Error::Kind::invalid_argument, fmt::format("shape {} {}", to_text(shape), reason), ""};
  };
  if (shape.size() > kMaxRank) {
    return refuse(fmt::format("has rank {}, and the highest possible is {}", shape.size(), kMaxRank));
  }
  int64_t count = 1;
  for (int64_t side : shape) {
    if (side < 0) return refuse("has a negative dimension");
    if (side > 0 && count > kMostElements / side) return refuse("has more than 2^60 elements");
    count *= std::max<int64_t>(side, 1);
  }
  return std::monostate{};
}

int64_t element_count(const Shape& shape) {
  Integer count = 1;
  for (int64_t side : shape) {
    if (side == 0) return 0;
    count = count * side;
  }
  return count.value;
}

Strides row_major_strides(const Shape& shape) {
  Strides strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) {
    strides[d - 1] = (Integer(strides[d]) * std::max<int64_t>(shape[d], 1)).value;
  }
  return strides;
}

bool is_row_major(const Shape& shape, const Strides& strides) {
  if (shape.size() != strides.size()) return false;
  if (element_count(shape) == 0) return true;
  const Strides dense = row_major_strides(shape);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != 1 && strides[d] != dense[d]) return false;
  }
  return true;
}

std::string to_text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

HostTensor zeros(DType dtype, const Shape& shape) {
  return {dtype, shape, std::vector<std::byte>(static_cast<size_t>(element_count(shape) * bytes(dtype)))};
}

Done check_host_tensor(const HostTensor& tensor, std::string_view what) {
  if (what.empty()) return check_host_tensor(tensor, fmt::format("a host tensor of {}", name(tensor.dtype)));
  if (const Done sane = check_shape(tensor.shape); !sane) {
    return Error{sane.error().kind, fmt::format("{}: {}", what, sane.error().message), sane.error().hint};
  }
  const auto wanted = static_cast<uint64_t>(element_count(tensor.shape) * bytes(tensor.dtype));
  if (tensor.data.size() == wanted) return std::monostate{};
  return refused(fmt::format("{} holds {} bytes, and its shape {} takes {}", what, tensor.data.size(),
                             to_text(tensor.shape), wanted));
}

// ---- floats of 16 bits ----------------------------------------------------------------------------------------------

namespace {

constexpr int kDoubleMantissaBits = 52;
constexpr int kDoubleBias = 1023;

// The value of mantissa / 2^shift, half to even.
uint64_t shifted_half_to_even(uint64_t mantissa, int shift) {
  const uint64_t quotient = mantissa >> shift;
  const uint64_t rest = mantissa & ((uint64_t{1} << shift) - 1);
  const uint64_t half = uint64_t{1} << (shift - 1);
  return quotient + (rest > half || (rest == half && (quotient & 1)) ? 1 : 0);
}

// A double in an IEEE format of 16 bits, in one rounding. Through float there would be two, and 2049 + 2^-40 would
// become 2048 rather than 2050.
template <int kExponentBits, int kMantissaBits>
uint16_t encode(double value) {
  static_assert(1 + kExponentBits + kMantissaBits == 16);
  constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  constexpr uint64_t kInfinity = uint64_t{(1 << kExponentBits) - 1} << kMantissaBits;

  const auto bits = std::bit_cast<uint64_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 63 << 15);
  const uint64_t fraction = bits & ((uint64_t{1} << kDoubleMantissaBits) - 1);
  if (std::isnan(value)) {
    const uint64_t payload = fraction >> (kDoubleMantissaBits - kMantissaBits);
    const uint64_t quiet = uint64_t{1} << (kMantissaBits - 1);
    return static_cast<uint16_t>(sign | kInfinity | quiet | payload);
  }
  const int exponent = static_cast<int>(bits >> kDoubleMantissaBits & 0x7ff) - kDoubleBias;
  if (exponent > kBias) return static_cast<uint16_t>(sign | kInfinity);

  // Below the smallest normal number the spacing stays, so fewer bits of the mantissa are left.
  constexpr int kSmallestExponent = 1 - kBias;
  const int lost = std::max(kSmallestExponent - exponent, 0);
  const int shift = kDoubleMantissaBits - kMantissaBits + lost;
  if (shift > kDoubleMantissaBits + 1) return sign;  // below half the smallest number
  const uint64_t rounded = shifted_half_to_even(fraction | uint64_t{1} << kDoubleMantissaBits, shift);
  if (lost > 0) return static_cast<uint16_t>(sign | rounded);
  // A mantissa that rounds up to the next power of two carries into the exponent, and past the largest into infinity.
  const uint64_t without_leading_bit = rounded - (uint64_t{1} << kMantissaBits);
  return static_cast<uint16_t>(sign |
                               ((static_cast<uint64_t>(exponent + kBias) << kMantissaBits) + without_leading_bit));
}

uint16_t f16_of(double value) { return encode<5, 10>(value); }
uint16_t bf16_of(double value) { return encode<8, 7>(value); }

}  // namespace

float f16_to_f32(uint16_t half) {
  const uint32_t sign = uint32_t{half} >> 15 << 31;
  const uint32_t exponent = half >> 10 & 0x1f;
  const uint32_t mantissa = half & 0x3ff;
  if (exponent == 0) {  // a multiple of 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  const uint32_t wide_exponent = exponent == 0x1f ? 0xff : exponent - 15 + 127;
  return std::bit_cast<float>(sign | wide_exponent << 23 | mantissa << 13);
}

uint16_t f32_to_f16(float value) { return f16_of(value); }
float bf16_to_f32(uint16_t value) { return std::bit_cast<float>(uint32_t{value} << 16); }
uint16_t f32_to_bf16(float value) { return bf16_of(value); }

// ---- elements -------------------------------------------------------------------------------------------------------

namespace {

// Half to even is the rounding mode that programs start in, and qgen never changes it.
template <typename T>
T saturated(double value) {
  if (std::isnan(value)) return 0;
  const double rounded = std::nearbyint(value);
  return static_cast<T>(std::clamp<double>(rounded, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

}  // namespace

double element(const HostTensor& tensor, int64_t index) {
  const auto i = static_cast<size_t>(index);
  switch (tensor.dtype) {
    case DType::f32: return tensor.as<float>()[i];
    case DType::f16: return f16_to_f32(tensor.as<uint16_t>()[i]);
    case DType::bf16: return bf16_to_f32(tensor.as<uint16_t>()[i]);
    case DType::i8: return tensor.as<int8_t>()[i];
    case DType::u8: return tensor.as<uint8_t>()[i];
    case DType::i16: return tensor.as<int16_t>()[i];
    case DType::u16: return tensor.as<uint16_t>()[i];
    case DType::i32: return tensor.as<int32_t>()[i];
    case DType::u32: return tensor.as<uint32_t>()[i];
  }
  return 0;
}

void set_element(HostTensor& tensor, int64_t index, double value) {
  const auto i = static_cast<size_t>(index);
  switch (tensor.dtype) {
    case DType::f32: tensor.as<float>()[i] = static_cast<float>(value); return;
    case DType::f16: tensor.as<uint16_t>()[i] = f16_of(value); return;
    case DType::bf16: tensor.as<uint16_t>()[i] = bf16_of(value); return;
    case DType::i8: tensor.as<int8_t>()[i] = saturated<int8_t>(value); return;
    case DType::u8: tensor.as<uint8_t>()[i] = saturated<uint8_t>(value); return;
    case DType::i16: tensor.as<int16_t>()[i] = saturated<int16_t>(value); return;
    case DType::u16: tensor.as<uint16_t>()[i] = saturated<uint16_t>(value); return;
    case DType::i32: tensor.as<int32_t>()[i] = saturated<int32_t>(value); return;
    case DType::u32: tensor.as<uint32_t>()[i] = saturated<uint32_t>(value); return;
  }
}

}  // namespace qgen
