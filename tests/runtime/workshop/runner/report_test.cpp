// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Results as people and programs read them; and cases on disk.
#include "runtime/workshop/runner/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "runtime/engine/operators/shipped.h"
#include "runtime/engine/tensor/npy.h"
#include "tests/runtime/engine/dispatch/temporary_folder.h"
#include "tests/support/expected_text.h"
#include "tests/support/tensors.h"

namespace qgen::runner {
namespace {

using Kind = CaseResult::Kind;

const CaseReport kCases{
    "Example GPU 1",
    "cases",
    {{.name = "scale/4x6",
      .folder = "cases/scale/4x6",
      .kind = Kind::passed,
      .kernels = 3,
      .runs = 12,
      .skipped_ways = 2,
      .skipped_reason = "output texture3d width_packed: a texture of 9 x 1 x 1 texels exceeds the device's limit of "
                        "8 x 8 x 8",
      .largest_error = 0.5},
     {.name = "scale/7",
      .folder = "cases/scale/7",
      .kind = Kind::failed,
      .kernels = 3,
      .runs = 12,
      .largest_error = 3,
      .fault = "output: element [3] is 4, expected 7 (allowed error 1)",
      .faults = 2,
      .failed_kernel = "scale.f32.vec4/workgroup64"},
     {.name = "scale/8", .folder = "cases/scale/8", .kind = Kind::failed, .fault = "x.npy: \"no\" header", .faults = 1},
     {.name = "other/7",
      .folder = "cases/other/7",
      .kind = Kind::unknown_operator,
      .fault = "unknown operator 'other'"}}};

TEST(Report, OfCases) {
  std::string text;
  for (const CaseResult& result : kCases.results) text += lines_of(result, "row-run");
  EXPECT_TEXT(
      text + summary_of(kCases),
      "ok    scale/4x6: 12 runs of 3 kernels, largest error 0.5\n"
      "      skipped: output texture3d width_packed: a texture of 9 x 1 x 1 texels exceeds the device's limit of 8 x "
      "8 x 8; and 1 more\n"
      "FAIL  scale/7: output: element [3] is 4, expected 7 (allowed error 1)\n"
      "      and 1 more of 12 runs\n"
      "      again: row-run --cases cases/scale/7 --all-kernels --kernel 'scale.f32.vec4/workgroup64'\n"
      "FAIL  scale/8: x.npy: \"no\" header\n"
      "--    other/7: unknown operator 'other'\n"
      "1 passed, 2 failed, 1 of unknown operators, on \"Example GPU 1\"\n");
}

TEST(Report, SaysThatThereAreNoReferences) {
  EXPECT_TEXT(
      summary_of({.device = "Example GPU 1", .has_references = false}),
      "0 passed, 0 failed, 0 of unknown operators, on \"Example GPU 1\"; compared only with the cases' expected "
      "values, since there are no references\n");
}

constexpr std::string_view kCasesAsJson =
    R"json({
  "device": "Example GPU 1",
  "folder": "cases",
  "passed": 1,
  "failed": 2,
  "unknown_operator": 1,
  "cases": [
    {"name": "scale/4x6", "result": "passed", "kernels": 3, "runs": 12, "skipped_ways": 2, "largest_error": 0.5, "faults": 0, "fault": "", "kernel": ""},
    {"name": "scale/7", "result": "failed", "kernels": 3, "runs": 12, "skipped_ways": 0, "largest_error": 3.0, "faults": 2, "fault": "output: element [3] is 4, expected 7 (allowed error 1)", "kernel": "scale.f32.vec4/workgroup64"},
    {"name": "scale/8", "result": "failed", "kernels": 0, "runs": 0, "skipped_ways": 0, "largest_error": 0.0, "faults": 1, "fault": "x.npy: \"no\" header", "kernel": ""},
    {"name": "other/7", "result": "unknown operator", "kernels": 0, "runs": 0, "skipped_ways": 0, "largest_error": 0.0, "faults": 0, "fault": "unknown operator 'other'", "kernel": ""}
  ]
}
)json";

TEST(Report, OfCasesAsJson) { EXPECT_EQ(to_json(kCases), kCasesAsJson); }

const TimeReport kTimes{
    "Example GPU 1",
    "scale of x (numel = 4)",
    1'000'000'000,
    {250, 249, 260.25},
    {{"scale.f32.vec4/workgroup256", {312.5, 310, 320}}, {"scale.f32.vec1/workgroup64", {1000, 990.5, 1100}}},
    {{2e6, 3e7}, 0.5}};

constexpr std::string_view kTimesAsText = R"(scale of x (numel = 4)
        us         10 % .. 90 %     GB/s  of copy  kernel
    312.50    310.00 ..  320.00   3200.0     80 %  scale.f32.vec4/workgroup256
   1000.00    990.50 .. 1100.00   1000.0     25 %  scale.f32.vec1/workgroup64
    250.00    249.00 ..  260.25   4000.0           a plain copy of as many bytes, 1000000000
clock: copies 2000 GB/s, calculates 30.00 TFLOP/s, 50 % of its best: NOT STEADY, so times are too long
)";
constexpr std::string_view kTimesAsJson =
    R"json({
  "device": "Example GPU 1",
  "question": "scale of x (numel = 4)",
  "bytes_moved": 1000000000,
  "copy_us": 250.0,
  "is_cold": false,
  "clock_of_plateau": 0.5,
  "kernels": [
    {"id": "scale.f32.vec4/workgroup256", "median_us": 312.5, "low_us": 310.0, "high_us": 320.0, "gb_per_s": 3200.0},
    {"id": "scale.f32.vec1/workgroup64", "median_us": 1000.0, "low_us": 990.5, "high_us": 1100.0, "gb_per_s": 1000.0}
  ]
}
)json";

TEST(Report, OfTimes) {
  EXPECT_EQ(to_text(kTimes), kTimesAsText);
  EXPECT_EQ(to_json(kTimes), kTimesAsJson);
  TimeReport cold = kTimes;
  cold.is_cold = true;
  EXPECT_THAT(to_text(cold), ::testing::HasSubstr("\nwith a cold cache: "));
}

TEST(Report, OfWhatARunMade) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TEXT(to_text(RunReport{"Example GPU 1",
                                "scale.f32.vec4/workgroup64",
                                {{"few", testing::tensor_of(DType::f32, {2, 2}, {0.1, -2, nan, inf}), ""},
                                 {"many", testing::tensor_of(DType::i8, {3, 4}, {1, -2, 3}), "m.npy"},
                                 {"some_nan", testing::tensor_of(DType::f16, {10}, {nan, 1}), ""},
                                 {"all_nan", testing::tensor_of(DType::f32, {9}, {nan}), ""},
                                 {"none", zeros(DType::f32, {0, 4}), ""},
                                 {"scalar", testing::tensor_of(DType::i32, {}, {-7}), ""}}}),
              "scale.f32.vec4/workgroup64 on \"Example GPU 1\"\n"
              "  few  f32 [2, 2]  0.1, -2, nan, inf\n"
              "  many  i8 [3, 4]  1, -2, 3, 1, -2, 3, 1, -2, ...  from -2 to 3  -> m.npy\n"
              "  some_nan  f16 [10]  nan, 1, nan, 1, nan, 1, nan, 1, ...  from 1 to 1  5 of 10 are nan\n"
              "  all_nan  f32 [9]  nan, nan, nan, nan, nan, nan, nan, nan, ...  9 of 9 are nan\n"
              "  none  f32 [0, 4]  no elements\n"
              "  scalar  i32 []  -7\n");
}

// ---- cases on disk --------------------------------------------------------------------------------------------------

TEST(CaseFile, IsReadAsItWasWritten) {
  const testing::TemporaryFolder folder;
  const ConformanceCase saved{.name = "",
                              .op = "scale",
                              .request = {.inputs = {{"input", testing::tensor_of(DType::f16, {2, 3}, {0.5, -1})}},
                                          .attributes = {{"block_size", Shape{1, 3}},
                                                         {"eps", 0.1},
                                                         {"factor", 2.0},
                                                         {"keepdim", false},
                                                         {"mode", "mean"},
                                                         {"quant_min", int64_t{-8}}}},
                              .expected = {{"output", testing::tensor_of(DType::i8, {2}, {3, -4})}}};
  ASSERT_TRUE(save_case(folder.path() / "scale" / "one", saved));
  const auto files = find_cases(folder.path());
  ASSERT_TRUE(files) << to_text(files.error());
  ASSERT_EQ(files->size(), 1u);
  const auto loaded = load_case(operators(), files->front());
  ASSERT_TRUE(loaded) << to_text(loaded.error());
  EXPECT_EQ(loaded->name, "scale/one");
  EXPECT_EQ(loaded->op, "scale");
  EXPECT_EQ(loaded->request.inputs.at("input").data, saved.request.inputs.at("input").data);
  EXPECT_EQ(loaded->expected.at("output").data, saved.expected.at("output").data);
  EXPECT_EQ(loaded->tolerances.at("output").abs, 0);
  EXPECT_EQ(loaded->request.attributes, saved.request.attributes);
}

TEST(CaseFile, IsReadWithoutTheOperator) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder.path() / "case.json") << R"({"op": "scale", "inputs": [], "expect": ["y"], "origin": "here",
    "tolerance": {"abs": 1, "rel": 0.5, "f16_rel": 0.25}})";
  ASSERT_TRUE(save_npy(folder.path() / "y.npy", zeros(DType::i8, {1})));
  const auto loaded = load_case(operators(), folder.path() / "case.json");
  ASSERT_TRUE(loaded) << to_text(loaded.error());
  EXPECT_EQ(loaded->tolerances.at("y").abs, 1);
  EXPECT_EQ(loaded->tolerances.at("y").rel, 0.5);
  EXPECT_EQ(loaded->f16_rel, 0.25);
}

struct BadCase {
  std::string_view json, expected;
};
// Of an operator that this library does not have, so that names and attributes are free.
#define CASE(rest) R"({"op": "scale", "inputs": ["x"], "expect": ["x"], )" rest "}"
#define TOLERANCE(inside) CASE("\"tolerance\": {" inside "}")
// Of one that it has.
#define RELU(rest) R"({"op": "q8ta_relu", "tolerance": {}, )" rest "}"
const BadCase kBadCases[] = {
    {"[]", "DIR/case.json:1:1: this is a list, and must be an object"},
    {"{}", "DIR/case.json:1:1: there is no 'op'"},
    {"{\"op\": [1,\n",
     "DIR/case.json:2:1: syntax error while parsing value - unexpected end of input; expected '[', '{', or a literal"},
    {R"({"op": 7})", "DIR/case.json:1:8: 'op' is 7, and must be the name of an operator"},
    {R"({"op": "scale"})", "DIR/case.json:1:1: there is no 'inputs'"},
    {R"({"op": "scale", "inputs": [], "expect": ["x"]})", "DIR/case.json:1:1: there is no 'tolerance'"},
    {R"({"op": "scale", "inputs": "x", "expect": ["x"], "tolerance": {}})",
     "DIR/case.json:1:27: 'inputs' is 'x', and must be a list of names"},
    {R"({"op": "scale", "inputs": [[]], "expect": ["x"], "tolerance": {}})",
     "DIR/case.json:1:28: 'inputs' is a list, and must be a list of names"},
    {R"({"op": "scale", "inputs": ["y"], "expect": ["x"], "tolerance": {}})",
     "cannot read DIR/y.npy: No such file or directory"},
    {R"({"op": "scale", "inputs": ["x", "x"], "expect": ["x"], "tolerance": {}})",
     "DIR/case.json:1:33: input 'x' is given twice"},
    {R"({"op": "scale", "inputs": ["x"], "expect": [], "tolerance": {}})",
     "DIR/case.json:1:44: 'expect' is empty: there is nothing to compare"},
    {"{\"op\": \"scale\",\n \"attributes\": {\"a\": {\"b\": 1}}}",
     "DIR/case.json:2:22: 'a' is an object, and must be a number, true, false, a word or a list of integers"},
    {"{\"op\": \"scale\",\n \"attributes\":\n {\"a\": [1.5]}}",
     "DIR/case.json:3:8: 'a' is a list, and must be a number, true, false, a word or a list of integers"},
    {"{\"op\": \"scale\",\n \"attributes\":\n {\"a\": 1, \"a\": 2}}", "DIR/case.json:3:11: 'a' is given twice"},
    {CASE("\"toleranse\": {}"), "DIR/case.json:1:51: unknown key 'toleranse'"},
    {TOLERANCE("\"abs\": -1"), "DIR/case.json:1:72: 'abs' is -1, and must be a finite number that is not below 0"},
    {TOLERANCE("\"rel\": \"0.1\""),
     "DIR/case.json:1:72: 'rel' is '0.1', and must be a finite number that is not below 0"},
    {TOLERANCE("\"abs\": nan"), "DIR/case.json:1:73: syntax error while parsing value - invalid literal"},
    {TOLERANCE("\"absolute\": 1"), "DIR/case.json:1:65: unknown key 'absolute'"},
    {TOLERANCE("\"zero_point_abs\": 1"),
     "DIR/case.json:1:83: 'zero_point_abs' is given, but 'expect' has no 'zero_point'"},
    {CASE("\"tolerance\": 1"), "DIR/case.json:1:64: 'tolerance' is 1, and must be an object"},
    {RELU(R"("inputs": ["inputt"], "expect": ["output"])"), "DIR/case.json:1:49: 'q8ta_relu' has no input 'inputt'"},
    {RELU(R"("inputs": [], "expect": ["result"])"), "DIR/case.json:1:63: 'q8ta_relu' has no output 'result'"},
    {RELU(R"("attributes": {"input_scal": 1}, "inputs": [], "expect": [])"),
     "DIR/case.json:1:53: 'q8ta_relu' has no attribute 'input_scal'"},
    {RELU(R"("attributes": {"input_scale": "1"}, "inputs": [], "expect": [])"),
     "DIR/case.json:1:68: input_scale is 1, and must be a number"},
    {TOLERANCE("\"abs\": 0"), "loaded"},
};
#undef RELU
#undef TOLERANCE
#undef CASE

TEST(CaseFile, SaysWhereItIsWrong) {
  const testing::TemporaryFolder folder;
  const auto load = [&](std::string_view json) {
    std::ofstream(folder.path() / "case.json") << json;
    EXPECT_TRUE(save_npy(folder.path() / "x.npy", zeros(DType::i8, {1})));
    const auto loaded = load_case(operators(), folder.path() / "case.json");
    std::string text = loaded ? "loaded" : loaded.error().message;
    if (const size_t at = text.find(folder.path().string()); at != std::string::npos) {
      text.replace(at, folder.path().string().size(), "DIR");
    }
    return text;
  };
  for (const auto& [json, expected] : kBadCases) EXPECT_EQ(load(json), expected) << json;
}

}  // namespace
}  // namespace qgen::runner
