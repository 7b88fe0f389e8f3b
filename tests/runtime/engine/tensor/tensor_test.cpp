// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/tensor/tensor.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/support/expected_text.h"

namespace qgen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// ---- shapes ---------------------------------------------------------------------------------------------------------

struct ShapeCase {
  Shape shape;
  int64_t elements;
  Strides strides;
  std::string text;
};

// clang-format off
const ShapeCase kShapes[] = {
    {{}, 1, {}, "[]"},
    {{7}, 7, {1}, "[7]"},
    {{2, 3}, 6, {3, 1}, "[2, 3]"},
    {{1, 1, 1, 1, 1, 1, 1, 1}, 1, {1, 1, 1, 1, 1, 1, 1, 1}, "[1, 1, 1, 1, 1, 1, 1, 1]"},
    {{2, 3, 5, 7, 11, 13, 17, 19}, 9699690, {4849845, 1616615, 323323, 46189, 4199, 323, 19, 1},
     "[2, 3, 5, 7, 11, 13, 17, 19]"},
    {{0}, 0, {1}, "[0]"},
    {{3, 0, 2}, 0, {2, 2, 1}, "[3, 0, 2]"},
    {{1 << 30, 1 << 30}, int64_t{1} << 60, {1 << 30, 1}, "[1073741824, 1073741824]"},
    {{0, 1 << 30, 1 << 30}, 0, {int64_t{1} << 60, 1 << 30, 1}, "[0, 1073741824, 1073741824]"},
};
// clang-format on

TEST(Shapes, HaveCountsStridesAndText) {
  for (const ShapeCase& c : kShapes) {
    EXPECT_TRUE(check_shape(c.shape)) << c.text;
    EXPECT_EQ(element_count(c.shape), c.elements) << c.text;
    EXPECT_EQ(row_major_strides(c.shape), c.strides) << c.text;
    EXPECT_TRUE(is_row_major(c.shape, c.strides)) << c.text;
    EXPECT_EQ(to_text(c.shape), c.text);
  }
}

struct BadShapeCase {
  Shape shape;
  std::string message;
};

const BadShapeCase kBadShapes[] = {
    {{1, 1, 1, 1, 1, 1, 1, 1, 1}, "shape [1, 1, 1, 1, 1, 1, 1, 1, 1] has rank 9, and the highest possible is 8"},
    {{2, -1}, "shape [2, -1] has a negative dimension"},
    {{(int64_t{1} << 60) + 1}, "shape [1152921504606846977] has more than 2^60 elements"},
    {{1 << 30, 1 << 30, 2}, "shape [1073741824, 1073741824, 2] has more than 2^60 elements"},
    {{0, 1 << 30, 1 << 30, 2}, "shape [0, 1073741824, 1073741824, 2] has more than 2^60 elements"},
};

TEST(Shapes, AreRefusedInWords) {
  for (const BadShapeCase& c : kBadShapes) {
    const Done done = check_shape(c.shape);
    ASSERT_FALSE(done) << c.message;
    EXPECT_TEXT(done.error().message, c.message);
  }
}

struct StrideCase {
  Shape shape;
  Strides strides;
  bool row_major;
};

// clang-format off
const StrideCase kStrides[] = {
    {{2, 3}, {3, 1}, true},
    {{2, 3}, {1, 2}, false},     // columns first
    {{2, 3}, {4, 1}, false},     // padded rows
    {{2, 3}, {0, 1}, false},     // one row twice
    {{1, 3}, {99, 1}, true},     // the only row may be anywhere
    {{3, 1}, {1, 99}, true},
    {{3, 1}, {2, 1}, false},     // every other element
    {{2, 0}, {7, 7}, true},      // no element
    {{2, 3}, {1}, false},        // another rank
    {{}, {}, true},
};
// clang-format on

TEST(Strides, AreRowMajorOrNot) {
  for (const StrideCase& c : kStrides) EXPECT_EQ(is_row_major(c.shape, c.strides), c.row_major) << to_text(c.shape);
}

// ---- floats of 16 bits ----------------------------------------------------------------------------------------------

// An IEEE format by its definition: sign, exponent, fraction.
struct Format {
  int exponent_bits;
  int mantissa_bits;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  uint16_t infinity() const { return static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits); }

  double value(uint16_t bits) const {
    const int exponent = (bits & 0x7fff) >> mantissa_bits;
    const int mantissa = bits & ((1 << mantissa_bits) - 1);
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1) return mantissa == 0 ? sign * kInfinity : kNan;
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias() - mantissa_bits);
    return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias() - mantissa_bits);
  }

  // The nearest by search; of two equally near ones the even. Infinity stands one step past the largest number.
  uint16_t nearest(double x) const {
    const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
    const double magnitude = std::fabs(x);
    const auto stands_at = [&](uint16_t bits) {
      return bits == infinity() ? std::ldexp(1.0, bias() + 1) : value(bits);
    };
    uint16_t low = 0, high = infinity();
    while (high - low > 1) {
      const auto middle = static_cast<uint16_t>((low + high) / 2);
      (stands_at(middle) <= magnitude ? low : high) = middle;
    }
    const double below = magnitude - stands_at(low), above = stands_at(high) - magnitude;
    const bool is_high = above < below || (above == below && high % 2 == 0);
    return static_cast<uint16_t>(sign | (is_high ? high : low));
  }
};
constexpr Format kHalf{5, 10};
constexpr Format kBrain{8, 7};

void expect_same(double actual, double expected, uint16_t bits) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << bits;
  } else {
    EXPECT_EQ(actual, expected) << bits;
    EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << bits;
  }
}

TEST(Floats16, EveryOneHasItsValue) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto b = static_cast<uint16_t>(bits);
    expect_same(f16_to_f32(b), kHalf.value(b), b);
    expect_same(bf16_to_f32(b), kBrain.value(b), b);
  }
}

TEST(Floats16, EveryOneComesBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto b = static_cast<uint16_t>(bits);
    const uint16_t quiet_half = std::isnan(kHalf.value(b)) ? 0x200 : 0,
                   quiet_brain = std::isnan(kBrain.value(b)) ? 0x40 : 0;
    EXPECT_EQ(f32_to_f16(f16_to_f32(b)), b | quiet_half) << bits;
    EXPECT_EQ(f32_to_bf16(bf16_to_f32(b)), b | quiet_brain) << bits;
  }
}

// Rounding is monotonic, so it is right everywhere if it is right on each number, on each midpoint between two, and on
// the floats next to them.
void expect_right_around(const Format& format, uint16_t (*convert)(float), double x) {
  const auto exact = static_cast<float>(x);
  for (float value : {std::nextafterf(exact, -INFINITY), exact, std::nextafterf(exact, INFINITY)}) {
    EXPECT_EQ(convert(value), format.nearest(value)) << std::hexfloat << value;
  }
}

void expect_right_everywhere(const Format& format, uint16_t (*convert)(float)) {
  for (uint16_t bits = 0; bits < format.infinity(); ++bits) {
    const double low = format.value(bits);
    const bool is_last = bits + 1 == format.infinity();
    const double high = is_last ? std::ldexp(1.0, format.bias() + 1) : format.value(static_cast<uint16_t>(bits + 1));
    const double middle = low + (high - low) / 2;
    for (double x : {low, middle, -low, -middle}) expect_right_around(format, convert, x);
  }
}

TEST(Floats16, HalfToEvenAroundEveryF16) { expect_right_everywhere(kHalf, f32_to_f16); }
TEST(Floats16, HalfToEvenAroundEveryBf16) { expect_right_everywhere(kBrain, f32_to_bf16); }

TEST(Floats16, AnyFloat) {
  std::mt19937 random(20240501);
  for (int i = 0; i < 200000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isnan(value)) continue;
    EXPECT_EQ(f32_to_f16(value), kHalf.nearest(value)) << std::hexfloat << value;
    EXPECT_EQ(f32_to_bf16(value), kBrain.nearest(value)) << std::hexfloat << value;
  }
}

struct FloatCase {
  float value;
  uint16_t half, brain;
};

// clang-format off
const FloatCase kFloats[] = {
    {0.0f, 0x0000, 0x0000},
    {-0.0f, 0x8000, 0x8000},
    {1.0f, 0x3c00, 0x3f80},
    {65504.0f, 0x7bff, 0x4780},            // the largest f16
    {65519.996f, 0x7bff, 0x4780},
    {65520.0f, 0x7c00, 0x4780},            // halfway past it: infinite
    {0x1p-24f, 0x0001, 0x3380},            // the smallest f16
    {0x1p-25f, 0x0000, 0x3300},            // half of it: even is 0
    {0x1.000002p-25f, 0x0001, 0x3300},
    {0x1p-14f, 0x0400, 0x3880},            // the smallest normal f16
    {3.4028235e38f, 0x7c00, 0x7f80},       // the largest f32 rounds past the largest bf16
    {0x1.fep127f, 0x7c00, 0x7f7f},         // the largest bf16
    {0x1p-133f, 0x0000, 0x0001},           // the smallest bf16
    {0x1p-134f, 0x0000, 0x0000},
    {0x1p-149f, 0x0000, 0x0000},           // the smallest f32
    {INFINITY, 0x7c00, 0x7f80},
    {-INFINITY, 0xfc00, 0xff80},
};
// clang-format on

TEST(Floats16, KnownBits) {
  for (const FloatCase& c : kFloats) {
    EXPECT_EQ(f32_to_f16(c.value), c.half) << std::hexfloat << c.value;
    EXPECT_EQ(f32_to_bf16(c.value), c.brain) << std::hexfloat << c.value;
  }
}

// ---- elements -------------------------------------------------------------------------------------------------------

struct ElementCase {
  DType dtype;
  double written, read;
};

const ElementCase kElements[] = {
    {DType::f32, 0.1, 0.1f},
    {DType::f32, 1e300, kInfinity},
    {DType::f16, 2049, 2048},
    {DType::f16, 2049 + 0x1p-40, 2050},  // one rounding; through f32 it would be 2048
    {DType::f16, -1e6, -kInfinity},
    {DType::bf16, 257, 256},
    {DType::bf16, 257 + 0x1p-40, 258},
    {DType::i8, 127.5, 127},
    {DType::i8, -128.5, -128},
    {DType::i8, 0.5, 0},
    {DType::i8, 1.5, 2},
    {DType::i8, -0.5, 0},
    {DType::i8, -1.5, -2},
    {DType::i8, 1e30, 127},
    {DType::i8, -kInfinity, -128},
    {DType::i8, kNan, 0},
    {DType::u8, -3, 0},
    {DType::u8, 254.5, 254},
    {DType::u8, 300, 255},
    {DType::i16, 40000, 32767},
    {DType::i16, -40000, -32768},
    {DType::u16, 65534.5, 65534},
    {DType::u16, 70000, 65535},
    {DType::i32, 2147483647.5, 2147483647},
    {DType::i32, -2147483648.5, -2147483648.0},
    {DType::i32, 16777217, 16777217},
    {DType::u32, 4294967295.5, 4294967295.0},
    {DType::u32, -1, 0},
};

TEST(Elements, AreRoundedOnceAndSaturate) {
  for (const ElementCase& c : kElements) {
    HostTensor tensor = zeros(c.dtype, {3});
    set_element(tensor, 1, c.written);
    EXPECT_EQ(element(tensor, 1), c.read) << name(c.dtype) << " " << c.written;
    EXPECT_EQ(element(tensor, 0), 0) << name(c.dtype);
    EXPECT_EQ(element(tensor, 2), 0) << name(c.dtype);
  }
}

TEST(Elements, ZerosHoldTheirBytes) {
  for (const DTypeInfo& row : kDTypes) {
    const DType dtype = row.dtype;
    EXPECT_EQ(zeros(dtype, {2, 3}).data.size(), static_cast<size_t>(6 * bytes(dtype)));
    EXPECT_EQ(zeros(dtype, {2, 0}).data.size(), 0u);
    EXPECT_EQ(zeros(dtype, {}).data.size(), static_cast<size_t>(bytes(dtype)));
  }
}

TEST(HostTensors, HoldWhatTheirShapeSays) {
  const auto said = [](const HostTensor& tensor, std::string_view what = {}) {
    const Done whole = check_host_tensor(tensor, what);
    return whole ? "whole" : whole.error().message;
  };
  EXPECT_EQ(said(zeros(DType::f16, {2, 3})), "whole");
  EXPECT_EQ(said(zeros(DType::f16, {})), "whole");
  EXPECT_EQ(said(zeros(DType::f32, {int64_t{1} << 40, 0})), "whole");
  EXPECT_TEXT(said({DType::f16, {2, 3}, std::vector<std::byte>(13)}, "scale"),
              "scale holds 13 bytes, and its shape [2, 3] takes 12");
  EXPECT_TEXT(said({DType::u8, {}, {}}), "a host tensor of u8 holds 0 bytes, and its shape [] takes 1");
  EXPECT_TEXT(said({DType::f32, {-1}, {}}), "a host tensor of f32: shape [-1] has a negative dimension");
  EXPECT_TEXT(said({DType::f32, {int64_t{1} << 59, 4}, {}}),
              "a host tensor of f32: shape [576460752303423488, 4] has more than 2^60 elements");
}

}  // namespace
}  // namespace qgen
