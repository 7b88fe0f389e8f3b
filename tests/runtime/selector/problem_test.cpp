// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Keys are what times are kept under, so they are spelled out here: a key that changes loses what was measured.
#include "runtime/selector/problem.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>

#include "vocabulary/layouts.h"

namespace qgen {
namespace {

constexpr OperandInfo kOperands[] = {
    {"input", Access::read, false}, {"bias", Access::read, true}, {"output", Access::write, false}};

struct Fields {
  uint32_t m;
  int32_t zero_point;
  float scale;
  uint32_t sizes[3];
};
constexpr FieldInfo kFields[] = {
    {"m", FieldInfo::Kind::u32, offsetof(Fields, m), 1},
    {"zero_point", FieldInfo::Kind::i32, offsetof(Fields, zero_point), 1},
    {"scale", FieldInfo::Kind::f32, offsetof(Fields, scale), 1},
    {"sizes", FieldInfo::Kind::u32, offsetof(Fields, sizes), 3},
};

OperatorInfo layer(std::span<const FieldInfo> fields, size_t problem_bytes) {
  OperatorInfo op{};
  op.name = "layer";
  op.operands = kOperands;
  op.fields = fields;
  op.problem_bytes = problem_bytes;
  return op;
}
const OperatorInfo kLayer = layer(kFields, sizeof(Fields));
// The tables are written by hand, so there is nothing to name operands by.
template <typename T>
Problem problem_of(const OperatorInfo& op, const T& fields, std::vector<OperandDesc> operands) {
  return make_problem(op, std::as_bytes(std::span(&fields, 1)), std::move(operands));
}

const OperandDesc kBuffer{.dtype = DType::f32}, kAbsentBias{.is_present = false};

TEST(Key, NamesTheOperatorItsFieldsAndItsOperands) {
  const OperandDesc packed{.dtype = DType::i8, .layout = Layout::packed_4w};
  EXPECT_EQ(key_of(problem_of(kLayer, Fields{512, -3, 0.1f, {2, 3, 4}}, {packed, kBuffer, kBuffer})),
            "layer m=512 zero_point=-3 scale=0.1 sizes=2,3,4 input=i8:packed_4w bias=f32:strided output=f32:strided");
}

TEST(Key, NamesFormsOfOperands) {
  const OperandDesc image{DType::f16, Storage::texture3d, Layout::channels_packed};
  const OperandDesc odd{DType::f16, Storage::texture3d, Layout::strided};
  const OperandDesc weight{.dtype = DType::i8,
                           .layout = Layout::weight_q8_panels,
                           .other_layouts = bit(Layout::weight_q8_rows) | bit(Layout::weight_q8_panels)};
  const auto forms = [](std::vector<OperandDesc> operands) {
    const std::string key = key_of(problem_of(kLayer, Fields{}, std::move(operands)));
    return key.substr(key.find("input="));
  };
  EXPECT_EQ(forms({image, kAbsentBias, kBuffer}), "input=f16:channels_packed bias=none output=f32:strided");
  EXPECT_EQ(forms({weight, kAbsentBias, odd}),
            "input=i8:weight_q8_rows|weight_q8_panels bias=none output=f16:texture3d:strided");
  // Whichever of its forms a weight has now, it can be had in the same.
  OperandDesc rows = weight;
  rows.layout = Layout::weight_q8_rows;
  EXPECT_EQ(forms({rows, kAbsentBias, odd}), forms({weight, kAbsentBias, odd}));
  // The shape that fields were made for is in the fields.
  OperandDesc shaped = kBuffer;
  shaped.shape = {4, 4};
  EXPECT_EQ(forms({shaped, kBuffer, kBuffer}), forms({kBuffer, kBuffer, kBuffer}));
}

TEST(Key, DoesNotDependOnTheStruct) {
  struct Turned {
    uint32_t sizes[3];
    float scale;
    uint64_t unused;
    int32_t zero_point;
    uint32_t m;
  };
  constexpr FieldInfo kTurned[] = {
      {"m", FieldInfo::Kind::u32, offsetof(Turned, m), 1},
      {"zero_point", FieldInfo::Kind::i32, offsetof(Turned, zero_point), 1},
      {"scale", FieldInfo::Kind::f32, offsetof(Turned, scale), 1},
      {"sizes", FieldInfo::Kind::u32, offsetof(Turned, sizes), 3},
  };
  const OperatorInfo turned = layer(kTurned, sizeof(Turned));
  const std::vector<OperandDesc> operands = {kBuffer, kBuffer, kBuffer};
  EXPECT_EQ(key_of(problem_of(turned, Turned{{2, 3, 4}, 0.25f, 99, -3, 512}, operands)),
            key_of(problem_of(kLayer, Fields{512, -3, 0.25f, {2, 3, 4}}, operands)));
}

TEST(Key, TellsRealsApart) {
  const auto scale = [](float value) {
    const Problem problem = problem_of(kLayer, Fields{0, 0, value, {}}, {kBuffer, kBuffer, kBuffer});
    return value_text(kFields[2], problem.fields);
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(scale(0.02f), "0.02");
  EXPECT_EQ(scale(0x1.47ae16p-6f), "0.020000001");
  EXPECT_EQ(scale(1e-30f), "1e-30");
  EXPECT_EQ(scale(16777216), "16777216");
  EXPECT_EQ(scale(-0.0f), "-0");
  EXPECT_EQ(scale(kInf), "inf");
  EXPECT_EQ(scale(kNan), "nan");
  EXPECT_EQ(scale(-kNan), "nan");
}

}  // namespace
}  // namespace qgen
