// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Results as people and programs read them; and cases on disk.
#include "runtime/runner/report.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/runtime/dispatch/temporary_folder.h"
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
     {.name = "other/7", .folder = "cases/other/7", .kind = Kind::unknown_operator}}};

TEST(Report, OfCases) {
  std::string text;
  for (const CaseResult& result : kCases.results) text += lines_of(result);
  EXPECT_EQ(text + summary_of(kCases),
            "ok    scale/4x6: 12 runs of 3 kernels, largest error 0.5\n"
            "FAIL  scale/7: output: element [3] is 4, expected 7 (allowed error 1)\n"
            "      and 1 more of 12 runs\n"
            "      again: qgen-run --cases cases/scale/7 --all-kernels --kernel 'scale.f32.vec4/workgroup64'\n"
            "FAIL  scale/8: x.npy: \"no\" header\n"
            "--    other/7: unknown operator\n"
            "1 passed, 2 failed, 1 of unknown operators, on \"Example GPU 1\"\n");
}

constexpr std::string_view kCasesAsJson =
    R"json({"device": "Example GPU 1", "folder": "cases", "passed": 1, "failed": 2, "unknown_operator": 1,
 "cases": [
  {"name": "scale/4x6", "result": "passed", "kernels": 3, "runs": 12, "largest_error": 0.5, "faults": 0, "fault": "", "kernel": ""},
  {"name": "scale/7", "result": "failed", "kernels": 3, "runs": 12, "largest_error": 3, "faults": 2, "fault": "output: element [3] is 4, expected 7 (allowed error 1)", "kernel": "scale.f32.vec4/workgroup64"},
  {"name": "scale/8", "result": "failed", "kernels": 0, "runs": 0, "largest_error": 0, "faults": 1, "fault": "x.npy: \"no\" header", "kernel": ""},
  {"name": "other/7", "result": "unknown operator", "kernels": 0, "runs": 0, "largest_error": 0, "faults": 0, "fault": "", "kernel": ""}
]}
)json";

TEST(Report, OfCasesAsJson) { EXPECT_EQ(to_json(kCases), kCasesAsJson); }

const TimeReport kTimes{
    "Example GPU 1",
    "scale of x (numel = 4)",
    1'000'000'000,
    {250, 249, 260.25},
    {{"scale.f32.vec4/workgroup256", {312.5, 310, 320}}, {"scale.f32.vec1/workgroup64", {1000, 990.5, 1100}}}};

constexpr std::string_view kTimesAsText = R"(scale of x (numel = 4)
        us         10 % .. 90 %     GB/s  of copy  kernel
    312.50    310.00 ..  320.00   3200.0     80 %  scale.f32.vec4/workgroup256
   1000.00    990.50 .. 1100.00   1000.0     25 %  scale.f32.vec1/workgroup64
    250.00    249.00 ..  260.25   4000.0           a plain copy that moves as much: 1000000000 bytes
)";
constexpr std::string_view kTimesAsJson =
    R"json({"device": "Example GPU 1", "question": "scale of x (numel = 4)", "bytes_moved": 1000000000, "copy_us": 250.000,
 "kernels": [
  {"id": "scale.f32.vec4/workgroup256", "median_us": 312.500, "low_us": 310.000, "high_us": 320.000, "gb_per_s": 3200.0},
  {"id": "scale.f32.vec1/workgroup64", "median_us": 1000.000, "low_us": 990.500, "high_us": 1100.000, "gb_per_s": 1000.0}
]}
)json";

TEST(Report, OfTimes) {
  EXPECT_EQ(to_text(kTimes), kTimesAsText);
  EXPECT_EQ(to_json(kTimes), kTimesAsJson);
}

TEST(Spread, IsMedianAndTenths) {
  std::vector<double> samples;
  for (int i = 100; i >= 0; --i) samples.push_back(i);
  const Spread spread = spread_of(samples);
  EXPECT_EQ(spread.median, 50);
  EXPECT_EQ(spread.low, 10);
  EXPECT_EQ(spread.high, 90);
  EXPECT_EQ(spread_of({7}).low, 7);
  EXPECT_EQ(spread_of({}).median, 0);
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
  ASSERT_EQ(files.size(), 1u);
  const auto loaded = load_case(files[0]);
  ASSERT_TRUE(loaded) << to_text(loaded.error());
  EXPECT_EQ(loaded->name, "scale/one");
  EXPECT_EQ(loaded->op, "scale");
  EXPECT_EQ(loaded->request.inputs.at("input").data, saved.request.inputs.at("input").data);
  EXPECT_EQ(loaded->expected.at("output").data, saved.expected.at("output").data);
  EXPECT_EQ(loaded->tolerances.at("output").abs, 0);
  auto attributes = saved.request.attributes;
  attributes["factor"] = int64_t{2};  // as 2.0 is written; complete() takes it for a real
  EXPECT_EQ(loaded->request.attributes, attributes);
}

struct BadCase {
  std::string_view json, expected;
};
const BadCase kBadCases[] = {
    {"[]", "DIR/case.json:1: there is no 'op'"},
    {"{}", "DIR/case.json:1: there is no 'op'"},
    {"{\"op\": [1,\n", "DIR/case.json:2: end of sequence flow not found"},
    {R"({"op": "scale"})", "DIR/case.json:1: there is no list of 'inputs'"},
    {R"({"op": "scale", "inputs": [[]]})", "DIR/case.json:1: 'inputs' holds something that is no name"},
    {R"({"op": "scale", "inputs": ["x"]})", "cannot read DIR/x.npy: No such file or directory"},
    {R"({"op": "scale", "inputs": []})", "DIR/case.json:1: there is no list of 'expect'"},
    {R"({"op": "scale", "inputs": [], "expect": []})", "DIR/case.json:1: there is no 'tolerance'"},
    {"{\"op\": \"scale\",\n \"attributes\": {\"a\": {\"b\": 1}}}", "DIR/case.json:2: 'a' is no attribute's value"},
    {"{\"op\": \"scale\",\n \"attributes\":\n {\"a\": [1.5]}}", "DIR/case.json:3: 'a' is no attribute's value"},
    {R"({"op": "scale", "inputs": [], "expect": [], "tolerance": {"abs": 0}})", "loaded"},
};

TEST(CaseFile, SaysWhereItIsWrong) {
  const testing::TemporaryFolder folder;
  const auto load = [&](std::string_view json) {
    std::ofstream(folder.path() / "case.json") << json;
    const auto loaded = load_case(folder.path() / "case.json");
    std::string text = loaded ? "loaded" : loaded.error().message;
    if (const size_t at = text.find(folder.path().string()); at != std::string::npos) {
      text.replace(at, folder.path().string().size(), "DIR");
    }
    return text;
  };
  for (const auto& [json, expected] : kBadCases) EXPECT_EQ(load(json), expected);
}

}  // namespace
}  // namespace qgen::runner
