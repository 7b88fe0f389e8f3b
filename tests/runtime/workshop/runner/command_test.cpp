// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The command line of qgen-run: requests and --help.
#include "runtime/workshop/runner/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "common/sanitizers.h"
#include "registry.h"
#include "runtime/engine/calls/attributes.h"
#include "runtime/engine/operators/shipped.h"
#include "runtime/workshop/runner/random_input.h"
#include "tests/support/expected_text.h"

namespace qgen::runner {
namespace {

std::string text_of(const Expected<Request>& request) {
  if (!request) return to_text(request.error());
  std::string text;
  for (const auto& [operand, tensor] : request->inputs) {
    text += operand + "=" + std::string(name(tensor.dtype)) + to_text(tensor.shape) + " ";
  }
  for (const auto& [attribute, value] : request->attributes) text += attribute + "=" + to_text(value) + " ";
  for (const auto& [operand, place] : request->representations) {
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
     "input=f16[4, 6] scale=f32[4, 1] block_size=[1, 6] output_dtype=i8 quant_min=-8 input=texture3d/width_packed "
     "output=texture3d/channels_packed "},
    {"layout_after_storage",
     {.storages = {"input=texture3d"}, .layouts = {"input=height_packed"}},
     "input=texture3d/height_packed "},
    {"no_equals", {.attributes = {"quant_min"}}, "--set takes name=value, given 'quant_min'"},
    {"no_name", {.inputs = {"=x.npy"}}, "--input takes name=value, given '=x.npy'"},
    {"no_integer", {.attributes = {"quant_min=low"}}, "quant_min is 'low', and must be an integer"},
    {"no_storage",
     {.storages = {"input=image"}},
     "--storage input: 'image' is no storage\n  hint: possible are buffer, texture3d"},
    {"no_layout",
     {.layouts = {"input=widthpacked"}},
     "--layout input: 'widthpacked' is no layout\n  hint: did you mean 'width_packed'?"},
    {"attribute_twice", {.attributes = {"quant_min=-8", "quant_min=-7"}}, "quant_min is given twice"},
    {"input_twice", {.shapes = {"input=4:f32", "input=5:f32"}}, "input is given twice"},
    {"storage_twice", {.storages = {"input=texture3d", "input=buffer"}}, "input is given twice"},
    {"layout_of_another_storage",
     {.storages = {"input=buffer"}, .layouts = {"input=height_packed"}},
     "input is in a buffer, and height_packed is a layout of a texture3d"},
    {"layout_twice", {.layouts = {"output=width_packed", "output=channels_packed"}}, "output is given two layouts"},
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
  EXPECT_TEXT(to_text(request.error()),
              "weight is packed as the chosen kernel reads it, and has no storage or layout to choose");
}

// Refusals of an operator or the device come before any allocation: these would take terabytes.
TEST(Command, MakesUpNothingThatIsRefused) {
  DeviceProfile device;
  device.name = "Example GPU 1";
  const auto refusal = [&](const char* op, std::vector<std::string> shapes, std::vector<std::string> attributes = {}) {
    const auto request =
        read_request(*find_operator(op), {.shapes = std::move(shapes), .attributes = std::move(attributes)}, device);
    return request ? std::string() : to_text(request.error());
  };
  EXPECT_TEXT(
      refusal("q8ta_relu", {"input=4000000000:i8"}, {"input_scale=1", "output_scale=1"}),
      "a buffer of i8 [4000000000] takes 4000000000 bytes, and 'Example GPU 1' binds at most 134217728 at once\n"
      "  hint: split the tensor");
  EXPECT_TEXT(
      refusal("q8ta_relu", {"input=4000000000000:i8"}, {"input_scale=1", "output_scale=1"}),
      "input of shape [4000000000000] takes 4000000000000 elements as strided, and kernels count at most 4294967295\n"
      "  hint: split the tensor");
  EXPECT_THAT(refusal("q8ta_relu", {"input=4000000000:f32"}, {"input_scale=1", "output_scale=1"}),
              ::testing::StartsWith("input is f32, and can be i8"));
  EXPECT_TEXT(refusal("q8ta_linear", {"input=1x4000000000:i8", "weight=1000x4000000000:i8", "weight_scales=1000:f32=1"},
                      {"input_scale=1", "output_scale=1"}),
              "weight of shape [1000, 4000000000] takes 4000000000000 elements as weight_q8_4k4n, and kernels count at "
              "most 4294967295\n"
              "  hint: split the tensor");
  // Inputs that fit are generated.
  const auto small =
      read_request(*find_operator("q8ta_relu"),
                   {.shapes = {"input=3:i8=7"}, .attributes = {"input_scale=1", "output_scale=1"}}, device);
  ASSERT_TRUE(small) << to_text(small.error());
  EXPECT_EQ(element(small->inputs.at("input"), 2), 7);
}

TEST(Command, OutputsGoToAFileEach) {
  const OperatorEntry& entry = *find_operator("choose_qparams_affine");
  const auto text_of_outputs = [&](const std::vector<std::string>& typed) {
    const auto files = parse_outputs(entry, typed, {"input=x.npy"});
    if (!files) return to_text(files.error());
    std::string text;
    for (const auto& [output, file] : *files) text += output + "->" + file + " ";
    return text;
  };
  EXPECT_EQ(text_of_outputs({"zero_point=z.npy", "scale=s.npy"}), "scale->s.npy zero_point->z.npy ");
  EXPECT_TEXT(text_of_outputs({"scale=s.npy", "scale=t.npy"}), "scale is given twice");
  EXPECT_TEXT(text_of_outputs({"scale=s.npy", "zero_point=./x/../s.npy"}),
              "--output: ./x/../s.npy is the file of another output");
  EXPECT_TEXT(text_of_outputs({"scale=./x.npy"}), "--output: ./x.npy is the file of an input");
  EXPECT_TEXT(text_of_outputs({"scale="}), "--output scale names no file\n  hint: scale=file.npy");
  EXPECT_TEXT(text_of_outputs({"scales=s.npy"}),
              "'choose_qparams_affine' has no output 'scales'\n  hint: did you mean 'scale'?");
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
#define HINT "\n  hint: for example 4096x4096:f32, 1:f32=0.05, 64x64:i8=-8..7"
    {"4:f32=much", "'much' is no number" HINT},
    {"4:f32=0..much", "'much' is no number" HINT},
    // A number that the dtype does not have is not made into another.
    {"4:i8=300", "'300' cannot be held by i8, which would make it 127" HINT},
    {"4:u8=-1", "'-1' cannot be held by u8, which would make it 0" HINT},
    {"4:i32=0.5", "'0.5' cannot be held by i32, which would make it 0" HINT},
    {"4:i8=nan", "'nan' cannot be held by i8, which would make it 0" HINT},
    {"4:i8=-200..7", "'-200' cannot be held by i8, which would make it -128" HINT},
    {"4:f32=1e40", "'1e40' cannot be held by f32, which would make it inf" HINT},
    {"4:f32=1e-60", "'1e-60' cannot be held by f32, which would make it 0" HINT},
    {"4:f16=70000", "'70000' cannot be held by f16, which would make it inf" HINT},
    {"4:f32=1e999", "'1e999' is past the range of a double" HINT},
    {"4:f32=0..inf", "'0..inf' has an end that is not finite" HINT},
    {"4:f32=nan..1", "'nan..1' has an end that is not finite" HINT},
    {"4:f32=nan", "f32 [4]"},
    {"4:f16=-inf", "f16 [4]"},
    {"4:f16=0.1", "f16 [4]"},
#undef HINT
    {"4:i8=7..-8", "'7..-8' ends before it begins\n  hint: for example 4096x4096:f32, 1:f32=0.05, 64x64:i8=-8..7"},
    {"3:i8=-8..7", "i8 [3]"},
};

TEST(MadeUpInput, FromText) {
  for (const auto& [text, expected] : kMadeUp) {
    const auto tensor = random_input(text);
    EXPECT_EQ(tensor ? std::string(name(tensor->dtype)) + " " + to_text(tensor->shape) : to_text(tensor.error()),
              expected);
  }
}

#if !QGEN_ADDRESS_SANITIZED  // its operator new ends the program
TEST(MadeUpInput, OfMoreThanMemoryHolds) {
  const auto tensor = random_input("1073741824x1073741824:i8");
  ASSERT_FALSE(tensor);
  EXPECT_THAT(
      to_text(tensor.error()),
      ::testing::MatchesRegex(
          "i8 \\[1073741824, 1073741824\\] takes 1152921504606846976 bytes, and the host has only [0-9]+ available\n"
          "  hint: a smaller shape"));
}
#endif

TEST(MadeUpInput, IsNoiseOrOneValue) {
  const HostTensor noise = *random_input("1000:f32");
  double sum = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    EXPECT_LE(std::abs(element(noise, i)), 1);
    sum += element(noise, i);
  }
  EXPECT_LT(std::abs(sum), 100);
  EXPECT_EQ(element(*random_input("1000:i16=-7"), 999), -7);
}

TEST(MadeUpInput, LiesBetween) {
  const HostTensor integers = *random_input("1000:i8=-2..1");
  std::map<double, int> counts;
  for (int64_t i = 0; i < 1000; ++i) ++counts[element(integers, i)];
  EXPECT_EQ(counts.size(), 4u);
  for (const auto& [value, count] : counts) EXPECT_NEAR(count, 250, 60) << value;
  EXPECT_TRUE(counts.contains(-2) && counts.contains(1));
  const HostTensor reals = *random_input("1000:f32=2..3");
  for (int64_t i = 0; i < 1000; ++i) EXPECT_TRUE(element(reals, i) >= 2 && element(reals, i) <= 3);
}

TEST(Help, OfAnOperator) {
  const auto library = KernelLibrary::open(generated::library());
  ASSERT_TRUE(library);
  EXPECT_TEXT(help_of(*find_operator("dequantize_affine"), library->find("dequantize_affine")),
              R"(dequantize_affine: dequantizes, with one scale and zero point per block
inputs (--input name=file.npy):
  input       i8, u8, i16, i32 [...]; strided, width_packed, height_packed, channels_packed
  scale       f32 [...]; one per block
  zero_point  i32 [...]; one per block, or one for all; if omitted: 0; optional
outputs (--output name=file.npy):
  output  f32, f16 [...]; strided, width_packed, height_packed, channels_packed
attributes (--set name=value):
  block_size    a list of integers, elements: the sides of a block, one per dimension; default (from
                the scale's shape)
  input_dtype   i8, u8, i16, i32: if given, it must be the input's dtype; default (the input's)
  output_dtype  f32, f16; default f32
  quant_min     an integer: the least integer of the input; default (the dtype's)
  quant_max     an integer: the largest integer of the input; default (the dtype's)
)");
}

// A search for an operator by another system's name finds it, and which part of its function that was.
TEST(Command, SaysOtherNames) {
  const std::string help = help_of(*find_operator("linear_qcs4w"), nullptr);
  EXPECT_TEXT(help.substr(0, help.find("inputs")),
              "linear_q4gsw: floating-point activations times an int4 weight with a scale per group along k\n"
              "also called linear_qcs4w, with weight_scales [N], the weight one integer per byte\n");
  const std::string list = list_text(operators());
  EXPECT_TEXT(list.substr(list.find("other names")),
              "other names:\n"
              "  _weight_int8pack_mm  linear_q8csw, without bias and activation\n"
              "  linear_qcs4w         linear_q4gsw, with weight_scales [N], the weight one integer per byte\n"
              "  weight_int8pack_mm   linear_q8csw, without bias and activation\n");
}

}  // namespace
}  // namespace qgen::runner
