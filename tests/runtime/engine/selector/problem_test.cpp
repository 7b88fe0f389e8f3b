// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Problem keys, in full: if a key changes, the times stored under it are lost.
#include "runtime/engine/selector/problem.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>

#include "runtime/engine/library/required.h"
#include "runtime/engine/selector/read_key.h"
#include "tests/runtime/engine/library/sample_tables.h"
#include "tests/support/expected_text.h"
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
Problem layer_problem(const OperatorInfo& op, const T& fields, std::vector<OperandDesc> operands) {
  return make_problem(op, std::as_bytes(std::span(&fields, 1)), std::move(operands));
}

const OperandDesc kBuffer{.dtype = DType::f32}, kAbsentBias{.is_present = false};

TEST(Key, NamesTheOperatorItsFieldsAndItsOperands) {
  const OperandDesc packed{.dtype = DType::i8, .layout = Layout::packed_4w};
  EXPECT_EQ(key_of(layer_problem(kLayer, Fields{512, -3, 0.1f, {2, 3, 4}}, {packed, kBuffer, kBuffer})),
            "layer m=512 zero_point=-3 scale=0.1 sizes=2,3,4 input=i8:packed_4w bias=f32:strided output=f32:strided");
}

TEST(Key, NamesFormsOfOperands) {
  const OperandDesc image{DType::f16, Storage::texture3d, Layout::channels_packed};
  const OperandDesc odd{DType::f16, Storage::texture3d, Layout::strided};
  const OperandDesc weight{.dtype = DType::i8,
                           .layout = Layout::weight_q8_4k4n,
                           .other_layouts = bit(Layout::weight_q8_4k4n) | bit(Layout::weight_q8_rows)};
  const auto forms = [](std::vector<OperandDesc> operands) {
    const std::string key = key_of(layer_problem(kLayer, Fields{}, std::move(operands)));
    return key.substr(key.find("input="));
  };
  EXPECT_EQ(forms({image, kAbsentBias, kBuffer}), "input=f16:channels_packed bias=none output=f32:strided");
  EXPECT_EQ(forms({weight, kAbsentBias, odd}),
            "input=i8:weight_q8_4k4n|weight_q8_rows bias=none output=f16:texture3d:strided");
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
  EXPECT_EQ(key_of(layer_problem(turned, Turned{{2, 3, 4}, 0.25f, 99, -3, 512}, operands)),
            key_of(layer_problem(kLayer, Fields{512, -3, 0.25f, {2, 3, 4}}, operands)));
}

TEST(Key, LeavesOutWhatNoChoiceDependsOn) {
  constexpr FieldInfo kWithData[] = {kFields[0], {"scale", FieldInfo::Kind::f32, offsetof(Fields, scale), 1, {}, true}};
  const OperatorInfo op = layer(kWithData, sizeof(Fields));
  const std::vector<OperandDesc> operands = {kBuffer, kBuffer, kBuffer};
  const std::string key = key_of(layer_problem(op, Fields{512, 0, 0.25f, {}}, operands));
  EXPECT_EQ(key, "layer m=512 input=f32:strided bias=f32:strided output=f32:strided");
  EXPECT_EQ(key_of(layer_problem(op, Fields{512, 0, 0.5f, {}}, operands)), key);
}

// ---- keys read ------------------------------------------------------------------------------------------------------

constexpr std::string_view kWords[] = {"none", "relu"};
struct EveryKind {
  uint32_t sizes[3];
  int32_t zero_point;
  float scale;
  uint32_t activation;
  float data;
};
constexpr FieldInfo kEveryKind[] = {
    {"sizes", FieldInfo::Kind::u32, offsetof(EveryKind, sizes), 3},
    {"zero_point", FieldInfo::Kind::i32, offsetof(EveryKind, zero_point), 1},
    {"scale", FieldInfo::Kind::f32, offsetof(EveryKind, scale), 1},
    {"activation", FieldInfo::Kind::u32, offsetof(EveryKind, activation), 1, kWords},
    {"data", FieldInfo::Kind::f32, offsetof(EveryKind, data), 1, {}, true},
};
const OperatorInfo kOfEveryKind = layer(kEveryKind, sizeof(EveryKind));

KernelLibrary library_of(const OperatorInfo& op) {
  static const OperatorInfo* operators[1];
  operators[0] = &op;
  return *KernelLibrary::open({operators, test::sample_blob()});
}

TEST(ReadKey, GivesTheProblem) {
  const KernelLibrary library = library_of(kOfEveryKind);
  const OperandDesc weight{.dtype = DType::i8,
                           .layout = Layout::weight_q8_4k4n,
                           .other_layouts = bit(Layout::weight_q8_4k4n) | bit(Layout::weight_q8_rows)};
  const OperandDesc odd{DType::f16, Storage::texture3d, Layout::strided};
  for (const float scale : {0.1f, -0.0f, 1e-30f, std::numeric_limits<float>::infinity()}) {
    for (const uint32_t activation : {0U, 1U, 7U}) {  // no word has the last number
      const EveryKind fields{{4000000000, 2, 3}, -128, scale, activation, 0};
      const Problem problem = layer_problem(kOfEveryKind, fields, {weight, kAbsentBias, odd});
      const auto read = problem_of(key_of(problem), library);
      ASSERT_TRUE(read) << to_text(read.error());
      EXPECT_EQ(read->op, &kOfEveryKind);
      EXPECT_EQ(read->fields, problem.fields);
      EXPECT_EQ(key_of(*read), key_of(problem));
    }
  }
}

// Keys are kept for years, and a form that no kernel reads any more is dropped.
TEST(ReadKey, LeavesOutLayoutsOfOtherVersions) {
  const KernelLibrary library = library_of(kOfEveryKind);
  const auto key = [](std::string_view input) {
    return fmt::format("layer sizes=1,2,3 zero_point=1 scale=2 activation=relu input={} bias=none output=f32:strided",
                       input);
  };
  const auto read = problem_of(key("i8:weight_q8_4k4n|weight_q8_gone|weight_q8_rows"), library);
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(key_of(*read), key("i8:weight_q8_4k4n|weight_q8_rows"));
  EXPECT_EQ(problem_of(key("i8:weight_gone"), library).error().kind, Error::Kind::unsupported);
  EXPECT_EQ(problem_of(key("i8:weight_gone|strided|"), library).error().kind, Error::Kind::unsupported);
  EXPECT_EQ(problem_of(key("i9:strided"), library).error().kind, Error::Kind::invalid_argument);
}

TEST(ReadKey, TakesWhatKeysLeaveOutAndAnyOrder) {
  const auto read = problem_of(
      "layer data=0.5 output=f32:strided activation=relu input=f32:strided scale=2 zero_point=1 sizes=1,2,3 bias=none",
      library_of(kOfEveryKind));
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(value_text(kEveryKind[4], read->fields), "0.5");
  EXPECT_EQ(key_of(*read),
            "layer sizes=1,2,3 zero_point=1 scale=2 activation=relu input=f32:strided bias=none output=f32:strided");
}

// Independent of the key with which it is read.
TEST(ReadKey, BesideAnotherGivesTheSame) {
  const KernelLibrary library = library_of(kOfEveryKind);
  std::vector<std::string> keys;
  for (const uint32_t m : {1U, 10U, 12U}) {
    for (const int32_t zero_point : {0, -12}) {
      for (const OperandDesc& input : {kBuffer, OperandDesc{.dtype = DType::i8, .layout = Layout::packed_4w}}) {
        for (const OperandDesc& output : {kBuffer, OperandDesc{.dtype = DType::f16}}) {
          const EveryKind fields{{m, 2, 12}, zero_point, 0.5f, m % 2, 0};
          keys.push_back(key_of(layer_problem(kOfEveryKind, fields, {input, kAbsentBias, output})));
        }
      }
    }
  }
  for (const std::string& other : keys) {
    for (const std::string& key : keys) {
      const auto read = problem_beside(key, other, *problem_of(other, library));
      ASSERT_TRUE(read) << key << " beside " << other;
      EXPECT_TRUE(*read == *problem_of(key, library)) << key << " beside " << other;
    }
  }
  EXPECT_FALSE(problem_beside("lair" + keys[0].substr(5), keys[0], *problem_of(keys[0], library)));
}

struct KeyFault {
  std::string_view key;
  std::string_view message;
};

TEST(ReadKey, SaysWhatIsWrong) {
  constexpr KeyFault kFaults[] = {
      {"", "the key names the operator '', which does not exist"},
      {"lair count=1", "the key names the operator 'lair', which does not exist"},
      {"sum", "the key of a problem of 'sum' lacks its field 'count'"},
      {"sum count=x", "the key of a problem of 'sum' has an invalid value of 'count': 'x'"},
      {"sum count=1,2", "the key of a problem of 'sum' has an invalid value of 'count': '1,2'"},
      {"sum count=-1", "the key of a problem of 'sum' has an invalid value of 'count': '-1'"},
      {"sum count=4294967296", "the key of a problem of 'sum' has an invalid value of 'count': '4294967296'"},
      {"sum count=1 ", "the key of a problem of 'sum' has '', which is not written name=value"},
      {"sum count=1,", "the key of a problem of 'sum' has an invalid value of 'count': '1,'"},
      {"sum count=1", "the key of a problem of 'sum' lacks its operand 'input'"},
      {"sum count=1 input=f32", "the key of a problem of 'sum' has an invalid format of 'input': 'f32'"},
      {"sum count=1 input=f32:heap", "the key of a problem of 'sum' has an invalid format of 'input': 'f32:heap'"},
      {"sum count=1 input=f33:strided",
       "the key of a problem of 'sum' has an invalid format of 'input': "
       "'f33:strided'"},
      {"sum count=1 input=f32:disk:strided",
       "the key of a problem of 'sum' has an invalid format of 'input': 'f32:disk:strided'"},
      {"sum count=1 input=f32:strided|",
       "the key of a problem of 'sum' has an invalid format of 'input': "
       "'f32:strided|'"},
      {"sum count=1 width=2 input=f32:strided output=none",
       "the key of a problem of 'sum' has 'width', which is no field or operand, or is given twice"},
      {"sum count=1 input=f32:strided output=none =2",
       "the key of a problem of 'sum' has '', which is no field or operand, or is given twice"},
      {"sum count=1 count=2 input=f32:strided output=none",
       "the key of a problem of 'sum' has 'count', which is no field or operand, or is given twice"},
  };
  const auto library = KernelLibrary::open(test::sample_library());
  for (const KeyFault& fault : kFaults) {
    const auto read = problem_of(fault.key, *library);
    ASSERT_FALSE(read) << fault.key;
    EXPECT_TEXT(read.error().message, fault.message);
    constexpr std::string_view kGood = "sum count=1 input=f32:strided output=none";
    EXPECT_FALSE(problem_beside(fault.key, kGood, *problem_of(kGood, *library))) << fault.key;
  }
}

TEST(Key, TellsRealsApart) {
  const auto scale = [](float value) {
    const Problem problem = layer_problem(kLayer, Fields{0, 0, value, {}}, {kBuffer, kBuffer, kBuffer});
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

// A caller's value for an operand that is not there.
TEST(Optional, OperandsThatAreLeftOutAreAbsent) {
  struct Operands {
    Optional<OperandDesc> bias;
    Optional<const int*> pointer;
  };
  const Operands left_out{}, braces{.bias = {}, .pointer = {}}, given{.bias = OperandDesc{.dtype = DType::i8}};
  EXPECT_FALSE(OperandDesc(left_out.bias).is_present);
  EXPECT_FALSE(OperandDesc(braces.bias).is_present);
  EXPECT_EQ(static_cast<const int*>(braces.pointer), nullptr);
  EXPECT_TRUE(OperandDesc(given.bias).is_present);
  EXPECT_EQ(OperandDesc(given.bias).dtype, DType::i8);
}

}  // namespace
}  // namespace qgen
