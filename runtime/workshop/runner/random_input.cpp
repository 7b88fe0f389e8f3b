// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/runner/random_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <new>
#include <optional>

#include "common/number.h"
#include "runtime/engine/calls/attributes.h"

namespace qgen::runner {
namespace {

Error refused(std::string_view text, std::string_view what) {
  return {Error::Kind::invalid_argument, fmt::format("'{}' {}", text, what),
          "for example 4096x4096:f32, 1:f32=0.05, 64x64:i8=-8..7"};
}

// "4096x4096"; "" is a scalar.
std::optional<Shape> shape_of(std::string_view text) {
  Shape shape;
  while (!text.empty()) {
    int64_t side = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), side);
    if (error != std::errc() || side < 0) return std::nullopt;
    shape.push_back(side);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty()) break;
    if (text.front() != 'x' || text.size() == 1) return std::nullopt;
    text.remove_prefix(1);
  }
  return shape;
}

// xorshift64*: a quarter of a gigabyte is made in a blink.
class Noise {
 public:
  uint32_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<uint32_t>(state_ * 0x2545f4914f6cdd1dULL >> 32);
  }

 private:
  uint64_t state_ = 0x9e3779b97f4a7c15ULL;
};

void fill(HostTensor& tensor, double value) {
  if (element_count(tensor.shape) == 0) return;
  set_element(tensor, 0, value);
  const auto size = static_cast<size_t>(bytes(tensor.dtype));
  for (size_t at = size; at < tensor.data.size(); at += size)
    std::memcpy(tensor.data.data() + at, tensor.data.data(), size);
}

// The weights of a language model have too many elements to make each of a double.
void fill_bytes_between(HostTensor& tensor, int64_t low, int64_t high) {
  Noise noise;
  const auto count = static_cast<uint64_t>(high - low + 1);
  for (int8_t& value : tensor.as<int8_t>())
    value = static_cast<int8_t>(low + static_cast<int64_t>(noise.next() * count >> 32));
}

// Floating-point numbers from low up to high, integers from low to high.
void fill_between(HostTensor& tensor, double low, double high) {
  if (tensor.dtype == DType::i8) {
    return fill_bytes_between(tensor, static_cast<int64_t>(low), static_cast<int64_t>(high));
  }
  Noise noise;
  const double range = is_real(tensor.dtype) ? high - low : high - low + 1;
  for (int64_t i = 0; i < element_count(tensor.shape); ++i) {
    const double value = low + noise.next() * 0x1p-32 * range;
    set_element(tensor, i, is_real(tensor.dtype) ? value : std::floor(value));
  }
}

void fill_with_noise(HostTensor& tensor) {
  Noise noise;
  if (!is_real(tensor.dtype)) {
    for (std::byte& byte : tensor.data) byte = static_cast<std::byte>(noise.next());
    return;
  }
  const auto real = [&] { return static_cast<float>(static_cast<int32_t>(noise.next())) * 0x1p-31f; };
  if (tensor.dtype == DType::f32) {
    for (float& value : tensor.as<float>()) value = real();
    return;
  }
  const auto narrow = tensor.dtype == DType::f16 ? f32_to_f16 : f32_to_bf16;
  for (uint16_t& value : tensor.as<uint16_t>()) value = narrow(real());
}

// "0.05" as an element of the dtype. A number that the dtype cannot hold (300 as i8, 1e40 or 1e-50 as f32, 0.5 as an
// integer) is refused; one that it rounds is not.
Expected<double> number_of(std::string_view text, DType dtype) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) return refused(text, "is no number");
  if (error != std::errc()) return refused(text, "is past the range of a double");
  if (is_real(dtype) && !std::isfinite(value)) return value;
  HostTensor held = zeros(dtype, {});
  set_element(held, 0, value);
  const double is = element(held, 0);
  const bool is_held = is_real(dtype) ? std::isfinite(is) && (is == 0) == (value == 0) : is == value;
  if (is_held) return value;
  return refused(text, fmt::format("cannot be held by {}, which would make it {}", name(dtype), is));
}

// "0.05", or "-8..7": the least and the greatest value, which are one for a single number.
struct Values {
  double low = 0, high = 0;
};
Expected<Values> values_of(std::string_view text, DType dtype) {
  const size_t dots = text.find("..");
  const auto low = number_of(text.substr(0, dots), dtype);
  if (!low) return low.error();
  if (dots == std::string_view::npos) return Values{*low, *low};
  const auto high = number_of(text.substr(dots + 2), dtype);
  if (!high) return high.error();
  if (!std::isfinite(*low) || !std::isfinite(*high)) return refused(text, "has an end that is not finite");
  if (*high < *low) return refused(text, "ends before it begins");
  return Values{*low, *high};
}

// Systems promise more memory than they have, and end the program that uses it.
Expected<HostTensor> allocated(DType dtype, const Shape& shape) {
  const auto needed = static_cast<uint64_t>(element_count(shape) * bytes(dtype));
  const auto available = available_host_bytes();
  const auto refuse = [&](const std::string& has) {
    return Error{
        Error::Kind::system,
        fmt::format("{} {} takes {} bytes, and the host has only {}", name(dtype), qgen::to_text(shape), needed, has),
        "a smaller shape"};
  };
  if (available && needed > *available) return refuse(fmt::format("{} available", *available));
  try {
    return zeros(dtype, shape);
  } catch (const std::bad_alloc&) {
    return refuse("less for this program");
  }
}

}  // namespace

std::optional<uint64_t> available_host_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    constexpr std::string_view kKey = "MemAvailable:";
    if (!line.starts_with(kKey)) continue;
    const size_t begin = line.find_first_not_of(' ', kKey.size());
    const auto kib = read_number<uint64_t>(std::string_view(line).substr(begin, line.find(' ', begin) - begin));
    return kib ? std::optional(*kib * 1024) : std::nullopt;
  }
  return std::nullopt;
}

Expected<HostTensor> random_input(const RandomInput& what) {
  auto tensor = allocated(what.dtype, what.shape);
  if (!tensor) return tensor;
  if (what.values.empty()) {
    fill_with_noise(*tensor);
    return tensor;
  }
  const auto values = values_of(what.values, what.dtype);
  if (!values) return values.error();
  const bool is_range = what.values.find("..") != std::string::npos;
  if (is_range) fill_between(*tensor, values->low, values->high);
  else fill(*tensor, values->low);
  return tensor;
}

Expected<HostTensor> random_input(DType dtype, const Shape& shape) {
  if (Done sane = check_shape(shape); !sane) return sane.error();
  return random_input(RandomInput{dtype, shape, {}});
}

Expected<HostTensor> random_input(std::string_view text) {
  const auto what = parse_random_input(text);
  if (!what) return what.error();
  return random_input(*what);
}

Expected<RandomInput> parse_random_input(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return refused(text, "has no ':' between a shape and a dtype");
  const size_t equals = text.find('=', colon);
  const auto shape = shape_of(text.substr(0, colon));
  if (!shape) return refused(text.substr(0, colon), "is no shape");
  if (Done sane = check_shape(*shape); !sane) return sane.error();
  const std::string_view word = text.substr(colon + 1, equals == std::string_view::npos ? equals : equals - colon - 1);
  const auto dtype = dtype_named(word);
  if (!dtype) return refused(word, "is no dtype");
  if (equals == std::string_view::npos) return RandomInput{*dtype, *shape, {}};
  const std::string_view values = text.substr(equals + 1);
  if (const auto sound = values_of(values, *dtype); !sound) return sound.error();
  return RandomInput{*dtype, *shape, std::string(values)};
}

}  // namespace qgen::runner
