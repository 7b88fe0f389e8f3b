// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// From what a person types to a request, and what help says.
#include "runtime/runner/command.h"

#include <gtest/gtest.h>

#include <map>

#include "registry.h"
#include "runtime/operators/attributes.h"
#include "runtime/runner/random_input.h"

namespace qgen::runner {
namespace {

std::string text_of(const Expected<Request>& request) {
  if (!request) return to_text(request.error());
  std::string text;
  for (const auto& [operand, tensor] : request->inputs) {
    text += operand + "=" + std::string(name(tensor.dtype)) + to_text(tensor.shape) + " ";
  }
  for (const auto& [attribute, value] : request->attributes) text += attribute + "=" + to_text(value) + " ";
  for (const auto& [operand, place] : request->places) {
    text += operand + "=" + std::string(name(place.storage)) + "/" + std::string(name(place.layout)) + " ";
  }
  return text;
}

struct RequestCase {
  const char* name;
  RequestText typed;
  std::string_view expected;  // or the error
};
const RequestCase kRequests[] = {
    {"all_of_it",
     {.shapes = {"input=4x6:f16", "scale=4x1:f32=0.5"},
      .attributes = {"quant_min=-8", "block_size=1,6", "output_dtype=int8"},
      .storages = {"input=texture3d"},
      .layouts = {"output=channels_packed"}},
     "input=f16[4, 6] scale=f32[4, 1] block_size=[1, 6] output_dtype=int8 quant_min=-8 input=texture3d/width_packed "
     "output=texture3d/channels_packed "},
    {"layout_after_storage",
     {.storages = {"input=texture3d"}, .layouts = {"input=height_packed"}},
     "input=texture3d/height_packed "},
    {"no_equals", {.attributes = {"quant_min"}}, "--set takes name=value, given 'quant_min'"},
    {"no_name", {.inputs = {"=x.npy"}}, "--input takes name=value, given '=x.npy'"},
    {"no_integer", {.attributes = {"quant_min=low"}}, "quant_min is 'low', and must be an integer"},
    {"no_storage", {.storages = {"input=image"}}, "'image' is no storage\n  hint: there are buffer, texture3d"},
    {"no_layout",
     {.layouts = {"input=widthpacked"}},
     "'widthpacked' is no layout\n  hint: did you mean 'width_packed'?"},
    {"attribute_twice", {.attributes = {"quant_min=-8", "quant_min=-7"}}, "quant_min is given twice"},
    {"input_twice", {.shapes = {"input=4:f32", "input=5:f32"}}, "input is given twice"},
    {"storage_twice", {.storages = {"input=texture3d", "input=buffer"}}, "input is given twice"},
    {"layout_of_another_storage",
     {.storages = {"input=buffer"}, .layouts = {"input=height_packed"}},
     "input is placed in a buffer, and height_packed is a layout of a texture3d"},
    {"no_file", {.inputs = {"input=/nowhere/x.npy"}}, "cannot read /nowhere/x.npy: No such file or directory"},
};

class CommandTest : public ::testing::TestWithParam<RequestCase> {};
TEST_P(CommandTest, RequestFromText) {
  EXPECT_EQ(text_of(parse_request(*find_operator("quantize_affine"), GetParam().typed)), GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(Typed, CommandTest, ::testing::ValuesIn(kRequests),
                         [](const auto& row) { return row.param.name; });

TEST(Command, PlacesNoWeight) {
  const auto request = parse_request(*find_operator("q8ta_linear"), {.layouts = {"weight=weight_q8_rows"}});
  ASSERT_FALSE(request);
  EXPECT_EQ(to_text(request.error()), "weight lies as the kernel that is chosen reads it, and cannot be placed");
}

struct MadeUpCase {
  const char* text;
  const char* expected;  // dtype and shape, or the error
};
const MadeUpCase kMadeUp[] = {
    {"4x3:f32", "f32 [4, 3]"},
    {":i8", "i8 []"},
    {"0x7:f16", "f16 [0, 7]"},
    {"2:int32=9", "i32 [2]"},
    {"4x3",
     "'4x3' has no ':' between a shape and a dtype\n  hint: for example 4096x4096:f32, 1:f32=0.05, 64x64:i8=-8..7"},
    {"4y3:f32", "'4y3' is no shape\n  hint: for example 4096x4096:f32, 1:f32=0.05, 64x64:i8=-8..7"},
    {"4x:f32", "'4x' is no shape\n  hint: for example 4096x4096:f32, 1:f32=0.05, 64x64:i8=-8..7"},
    {"-4:f32", "'-4' is no shape\n  hint: for example 4096x4096:f32, 1:f32=0.05, 64x64:i8=-8..7"},
    {"4:f31", "'f31' is no dtype\n  hint: for example 4096x4096:f32, 1:f32=0.05, 64x64:i8=-8..7"},
    {"4:f32=much", "value is 'much', and must be a number"},
    {"4:f32=0..much", "value is 'much', and must be a number"},
    {"4:i8=7..-8", "'7..-8' ends before it begins\n  hint: for example 4096x4096:f32, 1:f32=0.05, 64x64:i8=-8..7"},
    {"3:i8=-8..7", "i8 [3]"},
};

TEST(MadeUpInput, FromText) {
  for (const auto& [text, expected] : kMadeUp) {
    const auto tensor = made_up_input(text);
    EXPECT_EQ(tensor ? std::string(name(tensor->dtype)) + " " + to_text(tensor->shape) : to_text(tensor.error()),
              expected);
  }
}

#ifndef __SANITIZE_ADDRESS__  // its operator new ends the program
TEST(MadeUpInput, OfMoreThanMemoryHolds) {
  const auto tensor = made_up_input("1073741824x1073741824:i8");
  ASSERT_FALSE(tensor);
  EXPECT_EQ(to_text(tensor.error()), "i8 [1073741824, 1073741824] takes more memory than the host has to give");
}
#endif

TEST(MadeUpInput, IsNoiseOrOneValue) {
  const HostTensor noise = *made_up_input("1000:f32");
  double sum = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    EXPECT_LE(std::abs(element(noise, i)), 1);
    sum += element(noise, i);
  }
  EXPECT_LT(std::abs(sum), 100);
  EXPECT_EQ(element(*made_up_input("1000:i16=-7"), 999), -7);
}

TEST(MadeUpInput, LiesBetween) {
  const HostTensor integers = *made_up_input("1000:i8=-2..1");
  std::map<double, int> counts;
  for (int64_t i = 0; i < 1000; ++i) ++counts[element(integers, i)];
  EXPECT_EQ(counts.size(), 4u);
  for (const auto& [value, count] : counts) EXPECT_NEAR(count, 250, 60) << value;
  EXPECT_TRUE(counts.contains(-2) && counts.contains(1));
  // Of bytes, what a byte can be: the integers between, or the one that is nearest.
  const HostTensor between = *made_up_input("1000:i8=0.5..2.5");
  for (int64_t i = 0; i < 1000; ++i) EXPECT_TRUE(element(between, i) == 1 || element(between, i) == 2);
  EXPECT_EQ(element(*made_up_input("1:i8=200..300"), 0), 127);
  EXPECT_EQ(element(*made_up_input("1:i8=-inf..-1e30"), 0), -128);
  const HostTensor reals = *made_up_input("1000:f32=2..3");
  for (int64_t i = 0; i < 1000; ++i) EXPECT_TRUE(element(reals, i) >= 2 && element(reals, i) <= 3);
}

TEST(Help, OfAnOperator) {
  const auto library = KernelLibrary::open(generated::library());
  ASSERT_TRUE(library);
  EXPECT_EQ(help_of(*find_operator("dequantize_affine"), library->find("dequantize_affine")),
            R"(dequantize_affine: integer to real, one scale and zero point a block
inputs (--input name=file.npy):
  input       i8, u8, i16 or i32; strided, width_packed, height_packed, channels_packed
  scale       f32, one a block
  zero_point  i32, one a block, or one for all; without: 0; optional
outputs (--output name=file.npy):
  output  reals of output_dtype; strided, width_packed, height_packed, channels_packed
attributes (--set name=value):
  block_size    elements of a block, per dimension: a list of integers; default (from the scale's shape)
  input_dtype   if given, it must be the input's: a word; default (the input's)
  output_dtype  float32 or float16: a word; default float32
  quant_min     the least integer: an integer; default (the dtype's)
  quant_max     the greatest integer: an integer; default (the dtype's)
)");
}

// Whoever looks for an operator by the name that it has elsewhere finds it, and what of it that was.
TEST(Command, SaysOtherNames) {
  const std::string help = help_of(*find_operator("linear_qcs4w"), nullptr);
  EXPECT_EQ(help.substr(0, help.find("inputs")),
            "linear_q4gsw: linear layer of reals, int4 weight with a scale a group\n"
            "also called linear_qcs4w, with weight_scales [N], the weight's integers one a byte\n");
  const std::string list = list_text();
  EXPECT_EQ(list.substr(list.find("other names")),
            "other names:\n"
            "  _weight_int8pack_mm  linear_q8csw, without bias and activation\n"
            "  linear_qcs4w         linear_q4gsw, with weight_scales [N], the weight's integers one a byte\n"
            "  weight_int8pack_mm   linear_q8csw, without bias and activation\n");
}

}  // namespace
}  // namespace qgen::runner
