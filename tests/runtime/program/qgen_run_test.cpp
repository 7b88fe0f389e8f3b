// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen-run's command line: its output, its refusals, and its exit codes.
#include <regex>

#include "common/sanitizers.h"
#include "runtime/engine/calls/registry.h"
#include "tests/runtime/program/run_runtime.h"
#include "tests/support/expected_text.h"
#include "tests/support/source_folder.h"

namespace qgen::tests {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

const Arguments kRelu = {"q8ta_relu", "-s", "input_scale=1", "-s", "output_scale=1"};
constexpr std::string_view kReluCase =
    R"({"op": "q8ta_relu", "inputs": ["input"], "attributes": {"input_scale": 1, "output_scale": 1},
        "expect": ["output"], "tolerance": {"abs": 0}})";

Arguments with(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// Sentences in one line each, as they were before they were broken at 100 columns.
std::string unwrapped(const std::string& text) { return std::regex_replace(text, std::regex("\n {4,}"), " "); }

// Also where the same file has another name.
TEST_F(RuntimeProgram, WritesNoFileThatItReads) {
  const std::string bytes = "an input";
  write_text(here() / "x.npy", bytes);
  const Answer answer = qgen_run(with(kRelu, {"-i", "input=x.npy", "-o", "output=./x.npy"}));
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.err, HasSubstr("--output: ./x.npy is the file of an input\n"));
  EXPECT_EQ(read_text(here() / "x.npy"), bytes);
}

TEST_F(RuntimeProgram, PrintsWhatWasMade) {
  const Answer few = qgen_run(with(kRelu, {"--shape", "input=2x2:i8=7"}));
  EXPECT_EQ(few.code, 0) << few.err;
  EXPECT_THAT(few.out, MatchesRegex("q8ta_unary\\.[^ ]* on \"[^\n]*\"\n  output  i8 \\[2, 2\\]  7, 7, 7, 7\n"));
  const Answer many = qgen_run(with(kRelu, {"--shape", "input=100:i8=7", "-o", "output=q.npy"}));
  EXPECT_EQ(many.code, 0) << many.err;
  EXPECT_THAT(many.out, EndsWith("\n  output  i8 [100]  7, 7, 7, 7, 7, 7, 7, 7, ...  from 7 to 7  -> q.npy\n"));
  const auto saved = load_npy(here() / "q.npy");
  ASSERT_TRUE(saved);
  EXPECT_EQ(element(*saved, 99), 7);
  const Answer none = qgen_run(with(kRelu, {"--shape", "input=0:i8"}));
  EXPECT_THAT(none.out, EndsWith("\n  output  i8 [0]  no elements\n"));
}

// No driver is needed: nothing is opened.
TEST_F(RuntimeProgram, ExplainsForADeviceThatIsNotThere) {
  const std::string file = source_folder() + "/devices/adreno-740.yaml";
  const Answer answer = qgen_run(with(kRelu, {"--shape", "input=64x64:i8", "--explain", "--device-file", file}));
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_THAT(unwrapped(answer.out), HasSubstr("on \"Adreno (TM) 740\""));
  const Answer missing = qgen_run(with(kRelu, {"--shape", "input=64x64:i8", "--explain", "--device-file", "no.yaml"}));
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("no.yaml"));
}

TEST_F(RuntimeProgram, ShowsADescribedDevice) {
  const Answer answer = run("qgen-info", {"--device-file", source_folder() + "/devices/adreno-740.yaml"});
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_THAT(answer.out, StartsWith("Adreno (TM) 740\n"));
  EXPECT_THAT(answer.out, HasSubstr("shader processors, Mesa"));
}

// Measured numbers are kept and used from then on, and a broken file of them changes nothing.
TEST_F(RuntimeProgram, MeasuresADevice) {
  const Environment cache = {{"XDG_CACHE_HOME", here().string()}};
  const Answer measured = run("qgen-info", {"--measure"}, cache);
  ASSERT_EQ(measured.code, 0) << measured.err;
  EXPECT_THAT(measured.out, HasSubstr("measured on 20"));
  const Answer shown = run("qgen-info", {"--device", "0"}, cache);
  EXPECT_EQ(shown.out, measured.out);
  EXPECT_EQ(shown.err, "");
  for (const auto& file : fs::directory_iterator(here() / "qgen/devices")) write_text(file.path(), "name: [");
  const Answer broken = run("qgen-info", {"--device", "0"}, cache);
  EXPECT_EQ(broken.code, 0);
  EXPECT_THAT(broken.out, Not(HasSubstr("measured on")));
  EXPECT_THAT(broken.err, StartsWith("qgen-info: warning: the measured numbers of "));
}

// What a check found wrong is used by no program, unless the driver is trusted.
TEST_F(RuntimeProgram, ChecksADevice) {
  const Environment cache = {{"XDG_CACHE_HOME", here().string()}};
  const Answer checked = run("qgen-info", {"--check"}, cache);
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("\n  works      integer_dot_product"));
  EXPECT_THAT(checked.out, Not(HasSubstr("WRONG")));
  const Answer masked = run("qgen-info", {"--check", "--without", "integer_dot_product"}, cache);
  EXPECT_EQ(masked.code, 0) << masked.out << masked.err;
  EXPECT_THAT(masked.out, HasSubstr("\n  not there  integer_dot_product           needs integer_dot_product, which"));
  const Answer right = run("qgen-info", {"--device", "0"}, cache);
  EXPECT_THAT(right.out, Not(HasSubstr("distrusted")));
  for (const auto& file : fs::directory_iterator(here() / "qgen/checks")) {
    write_text(file.path(), "checked: 2026-11-27\nwrong:\n- {feature: integer_dot_product, found: a sum}\n");
  }
  EXPECT_THAT(run("qgen-info", {"--device", "0"}, cache).out,
              HasSubstr("distrusted             integer_dot_product\n"));
  EXPECT_THAT(run("qgen-info", {"--device", "0", "--trust-driver"}, cache).out, right.out);
  // Choices are as if the feature was not there.
  const Arguments linear = {"q8ta_linear", "--explain",        "--shape", "input=8x64:i8",
                            "--shape",     "weight=64x64:i8",  "--shape", "weight_scales=64:f32=0.01",
                            "--set",       "input_scale=0.05", "--set",   "output_scale=0.1"};
  const auto explained = [&](const char* option, const char* value) {
    Arguments arguments = linear;
    if (option) arguments.emplace_back(option);
    if (value) arguments.emplace_back(value);
    const Answer answer = run("qgen-run", arguments, cache);
    EXPECT_EQ(answer.code, 0) << answer.err;
    return std::regex_replace(answer.out, std::regex(" under a mask"), "");
  };
  EXPECT_EQ(explained(nullptr, nullptr), explained("--without", "integer_dot_product"));
  EXPECT_NE(explained(nullptr, nullptr), explained("--trust-driver", nullptr));
}

struct Refusal {
  const char* name;
  Arguments arguments;
  std::string_view err;
};
const Refusal kRefusals[] = {
    // An option that would be ignored.
    {"inputs_of_cases", {"--cases", ".", "--input", "input=x.npy"}, "--input goes with an operator, not with --cases"},
    {"shapes_of_cases", {"--cases", ".", "--shape", "input=4:i8"}, "--shape goes with an operator, not with --cases"},
    {"attributes_of_cases", {"--cases", ".", "--set", "a=1"}, "--set goes with an operator, not with --cases"},
    {"storage_of_cases",
     {"--cases", ".", "--storage", "a=buffer"},
     "--storage goes with an operator, not with --cases"},
    {"layout_of_cases", {"--cases", ".", "--layout", "a=strided"}, "--layout goes with an operator, not with --cases"},
    {"replays_of_a_run", with(kRelu, {"--replays", "60"}),
     "--replays goes with --time, not with an operator that is run once"},
    {"operator_and_cases", {"q8ta_relu", "--cases", "."}, "an operator cannot be combined with --cases"},
    {"list_and_time", {"--list", "--time"}, "--time goes with an operator that is run, not with --list"},
    {"output_of_a_time", with(kRelu, {"--time", "-o", "output=q.npy"}),
     "--output goes with an operator that is run once, not with --time"},
    {"statistics_of_nothing", with(kRelu, {"--statistics"}), "--statistics goes with --explain, which was not given"},
    {"time_on_a_file", with(kRelu, {"--explain", "--device-file", "gpu.yaml", "--time"}),
     "--time goes with an operator that is run, not with --device-file"},
    {"output_on_a_file", with(kRelu, {"--explain", "--device-file", "gpu.yaml", "-o", "output=q.npy"}),
     "--output goes with an operator that is run once, not with --device-file"},
    {"cases_on_a_file",
     {"--cases", ".", "--device-file", "gpu.yaml"},
     "--device-file goes with an operator and --explain, not with --cases"},
    {"a_file_for_nothing", with(kRelu, {"--device-file", "gpu.yaml"}),
     "--device-file runs nothing: it goes with --explain, which was not given"},
    // Repeated options.
    {"output_twice", with(kRelu, {"--shape", "input=4:i8", "-o", "output=a.npy", "-o", "output=b.npy"}),
     "output is given twice"},
    {"file_twice",
     {"choose_qparams_affine", "--shape", "input=4:f32", "-o", "scale=a.npy", "-o", "zero_point=./a.npy"},
     "--output: ./a.npy is the file of another output"},
    {"layout_twice",
     with(kRelu, {"--shape", "input=4:i8", "--layout", "output=packed_4w", "--layout", "output=packed_4c"}),
     "output is given two layouts"},
    {"output_of_no_name", with(kRelu, {"--shape", "input=4:i8", "-o", "outptu=a.npy"}),
     "'q8ta_relu' has no output 'outptu'\n  hint: did you mean 'output'?"},
    {"output_of_no_file", with(kRelu, {"--shape", "input=4:i8", "-o", "output="}),
     "--output output names no file\n  hint: output=file.npy"},
    {"explain_of_nothing", with(kRelu, {"--shape", "input=4:i8", "--explain=most"}),
     "--explain is 'most', and can be 'all' or nothing"},
    // Numbers are quoted as they were typed.
    {"alpha_nan",
     {"fused_add", "--shape", "input=4:f32", "--shape", "other=4:f32", "-s", "alpha=nan"},
     "alpha is nan, and must be a finite number"},
    {"scale_past_f32",
     {"q8ta_relu", "--shape", "input=4:i8", "-s", "input_scale=1e39", "-s", "output_scale=1"},
     "input_scale is 1e+39, and must be a number within the range of f32, up to 3.4e38"},
    {"value_past_i8", with(kRelu, {"--shape", "input=4:i8=300"}),
     "--shape input: '300' cannot be held by i8, which would make it 127\n  hint: for example 4096x4096:f32, "
     "1:f32=0.05, "
     "64x64:i8=-8..7"},
    // The cause comes first, and the problem's fields stay out of it.
    {"no_such_kernel", with(kRelu, {"--shape", "input=4:i8", "--kernel", "q8ta_unary.stridet.strided.flat1"}),
     "'q8ta_unary.stridet.strided.flat1' is no kernel or recipe of 'q8ta_unary'\n"
     "  hint: did you mean 'q8ta_unary.strided.strided.flat1'?"},
    {"no_such_folder",
     {"--cases", "nowhere"},
     "cannot look for cases in 'nowhere': No such file or directory\n"
     "  hint: name a folder; each case in it is a folder with a file case.json"},
    {"no_cases", {"--cases", "."}, "there is no case.json below '.'"},
};

TEST_F(RuntimeProgram, RefusesWhatItWouldNotDo) {
  for (const Refusal& row : kRefusals) {
    const Answer answer = qgen_run(row.arguments);
    EXPECT_EQ(answer.code, 2) << row.name;
    ASSERT_TRUE(answer.err.starts_with("qgen-run: ") && answer.err.ends_with('\n')) << row.name << answer.err;
    EXPECT_TEXT(answer.err.substr(10, answer.err.size() - 11), row.err) << row.name;
    EXPECT_EQ(answer.out, "") << row.name;
  }
  EXPECT_TRUE(fs::is_empty(here()));
}

// The problem in its caller's terms; on request, the kernels' fields at the end.
TEST_F(RuntimeProgram, ExplainsInTheCallersWords) {
  const Arguments asked = with(kRelu, {"--shape", "input=2x3:i8", "--layout", "output=packed_4w"});
  const Answer plain = qgen_run(with(asked, {"--explain"}));
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_THAT(unwrapped(plain.out), StartsWith("q8ta_relu of input i8 [2, 3] -> output i8 packed_4w [2, 3] with "
                                               "input_scale 1, output_scale 1 on \""));
  EXPECT_THAT(plain.out, Not(HasSubstr("the problem's fields")));
  EXPECT_THAT(plain.out, HasSubstr(" more accept other dtypes or layouts)\n"));
  const Answer all = qgen_run(with(asked, {"--explain=all"}));
  EXPECT_THAT(all.out, HasSubstr("\nthe problem's fields: "));
  EXPECT_THAT(all.out, Not(HasSubstr(" more accept other dtypes")));
}

// Inputs that the device cannot hold are not generated.
TEST_F(RuntimeProgram, AsksTheDeviceBeforeItMakesUpInputs) {
  for (const char* shape : {"input=3000000000:i8", "input=4294967295:i8"}) {
    const Answer answer = qgen_run(with(kRelu, {"--shape", shape}));
    EXPECT_EQ(answer.code, 2) << answer.err;
    EXPECT_THAT(answer.err, MatchesRegex("qgen-run: a buffer of i8 \\[[0-9]+\\] takes [0-9]+ bytes, and '[^']*' "
                                         "binds at most [0-9]+ at once\n"
                                         "  hint: split the tensor\n"));
  }
  // Operators check first: they refuse by shapes.
  const Answer refused = qgen_run({"matmul", "--shape", "input=100000x40000:f32", "--shape", "other=3x40000:f32"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("other has shape [3, 40000]"));
}

TEST_F(RuntimeProgram, ExplainsAKernelThatIsNotThereOnRequest) {
  const Answer answer = qgen_run(with(kRelu, {"--shape", "input=4:i8", "--kernel", "nope", "--explain"}));
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(unwrapped(answer.out), StartsWith("no kernel fits q8ta_relu of input i8 [4] -> output i8 [4] with "
                                                "input_scale 1, output_scale 1 on \""));
  EXPECT_THAT(answer.err, StartsWith("qgen-run: 'nope' is no kernel or recipe of 'q8ta_unary'\n  hint: possible are "));
  EXPECT_THAT(answer.err, HasSubstr(" more\n"));
}

// The stream is no terminal here: at most a line for each quarter, and no bar.
TEST_F(RuntimeProgram, TimesWithoutABarInALog) {
  const Answer answer = qgen_run(with(kRelu, {"--shape", "input=64:i8", "--time", "--replays", "10"}));
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("a plain copy of as many bytes"));
  EXPECT_THAT(answer.err, Not(HasSubstr("\r")));
}

TEST_F(RuntimeProgram, TimesWithAColdCache) {
  const Answer answer = qgen_run({"q8ta_linear", "--shape", "input=1x256:i8", "--shape", "weight=64x256:i8", "--shape",
                                  "weight_scales=64:f32=0.01", "--set", "input_scale=0.05", "--set", "output_scale=0.1",
                                  "--time", "--cold", "--replays", "10"});
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("with a cold cache: each replay reads another copy of the weights"));
}

// ---- cases ----------------------------------------------------------------------------------------------------------

// Timed kernels are ranked by their time; the others come after them.
TEST_F(RuntimeProgram, ExplainsByWhatItMeasured) {
  const auto explained = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"--shape", "input=64:i8", "--time", "--replays", "10", "--explain"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Answer answer = qgen_run(with(kRelu, arguments));
    EXPECT_EQ(answer.code, 0) << answer.err;
    return unwrapped(answer.out);
  };
  const std::string ranking = " on \"[^\n]*\n   1  [0-9.e]+ us measured \\([^)]* estimated\\) +q8ta_unary[^\n]*\n";
  EXPECT_THAT(explained({}), ::testing::ContainsRegex(ranking + "   2  [^\n]* us estimated +q8ta_unary"));
  EXPECT_THAT(explained({"--all-kernels"}), ::testing::ContainsRegex(ranking + "   2  [^\n]* us measured "));
}

TEST_F(RuntimeProgram, RunsCases) {
  write_case("relu/four", kReluCase);
  const Answer answer = qgen_run({"--cases", ".", "--json", "report.json"});
  EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
  EXPECT_THAT(answer.out, StartsWith("ok    relu/four: 1 runs of 1 kernels, largest error 0\n1 passed, 0 failed"));
  EXPECT_THAT(read_text(here() / "report.json"), HasSubstr("{\"name\": \"relu/four\", \"result\": \"passed\""));
}

TEST_F(RuntimeProgram, FailsACaseThatIsAFolder) {
  fs::create_directories(here() / "relu/four/case.json");
  const Answer answer = qgen_run({"--cases", "."});
  EXPECT_EQ(answer.code, 1) << answer.err;
  EXPECT_THAT(answer.out, StartsWith("FAIL  relu/four: cannot read ./relu/four/case.json: it is a folder\n"));
}

TEST_F(RuntimeProgram, PassesNoFolderOfUnknownOperators) {
  write_case("rellu/four", R"({"op": "q8ta_rellu", "inputs": ["input"], "expect": ["output"], "tolerance": {}})");
  const Answer answer = qgen_run({"--cases", "."});
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.out,
              StartsWith("--    rellu/four: unknown operator 'q8ta_rellu'\n  hint: did you mean 'q8ta_relu'?\n"));
  EXPECT_THAT(answer.err, StartsWith("qgen-run: no case was run: this library has none of their operators"));
}

// An image of so many texels a side exceeds the device, both for reading and for writing.
TEST_F(RuntimeProgram, SkipsPlacesThatTheDeviceCannotHold) {
  constexpr int64_t kElements = 1 << 17;
  const auto write = [&](const std::string& name, DType from, DType to, std::string_view json) {
    fs::create_directories(here() / name);
    write_text(here() / name / "case.json", json);
    ASSERT_TRUE(save_npy(here() / name / "input.npy", zeros(from, {kElements})));
    ASSERT_TRUE(save_npy(here() / name / "output.npy", zeros(to, {kElements})));
    ASSERT_TRUE(save_npy(here() / name / "scale.npy", qgen::testing::tensor_of(DType::f32, {1}, {1.0})));
  };
  write("quantize/long", DType::f32, DType::i8,
        R"({"op": "quantize_affine", "inputs": ["input", "scale"], "attributes": {"output_dtype": "int8"},
            "expect": ["output"], "tolerance": {}})");
  write("dequantize/long", DType::i8, DType::f32,
        R"({"op": "dequantize_affine", "inputs": ["input", "scale"], "expect": ["output"], "tolerance": {}})");
  const Answer answer = qgen_run({"--cases", ".", "--all-kernels"});
  EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("ok    quantize/long: "));
  EXPECT_THAT(answer.out, HasSubstr("ok    dequantize/long: "));
  EXPECT_THAT(answer.out, HasSubstr("skipped: "));
  EXPECT_THAT(answer.out, HasSubstr("output texture3d "));
  EXPECT_THAT(answer.out, HasSubstr("exceeds the device's"));
}

// ---- no driver ------------------------------------------------------------------------------------------------------

class WithoutDriver : public RuntimeProgram {
 protected:
  Answer info(const std::string& manifests) {
    return run("qgen-info", {}, {{"VK_DRIVER_FILES", manifests}, {"VK_ICD_FILENAMES", manifests}});
  }
  std::string manifest(std::string_view library) const {
    const fs::path file = here() / "icd.json";
    write_text(file, R"({"file_format_version": "1.0.0", "ICD": {"api_version": "1.3.0", "library_path": ")" +
                         std::string(library) + "\"}}");
    return file.string();
  }
};

TEST_F(WithoutDriver, SaysWhichManifestsThereAre) {
  const Answer answer = info("/nowhere/a.json:/nowhere/b.json");
  EXPECT_EQ(answer.code, 3);
  EXPECT_THAT(answer.err, StartsWith("qgen-info: no Vulkan driver can be used, of those that VK_DRIVER_FILES names\n"
                                     "  /nowhere/a.json: there is no such file\n"
                                     "  /nowhere/b.json: there is no such file\n"
                                     "  hint: install the GPU vendor's driver"));
}

TEST_F(WithoutDriver, SaysThatALibraryIsMissing) {
  const std::string file = manifest("libqgen_no_such_driver.so.0");
  const Answer answer = info(file);
  EXPECT_EQ(answer.code, 3);
  EXPECT_THAT(answer.err,
              HasSubstr(file + ": libqgen_no_such_driver.so.0 cannot be loaded: libqgen_no_such_driver.so.0: "
                               "cannot open shared object file"));
  EXPECT_THAT(answer.err, HasSubstr("hint: install the driver that the manifest belongs to, or remove the manifest"));
}

TEST_F(WithoutDriver, SaysWhatIsWrongWithAManifest) {
  write_text(here() / "icd.json", "{\"ICD\": \n  {\"library_path\" 1}}");
  const Answer answer = info((here() / "icd.json").string());
  EXPECT_EQ(answer.code, 3);
  EXPECT_THAT(answer.err, HasSubstr("icd.json: line 2:19: syntax error"));
  write_text(here() / "icd.json", "{\"file_format_version\": \"1.0.0\"}");
  EXPECT_THAT(info((here() / "icd.json").string()).err, HasSubstr("names no driver (ICD.library_path)"));
}

// qgen's own test libraries: one that needs a library which is not there, one that refuses, one that is no driver.
TEST_F(WithoutDriver, SaysWhatADriverNeeds) {
  const fs::path libraries = fs::read_symlink("/proc/self/exe").parent_path() / "drivers";
  const Answer needy = info(manifest((libraries / "libqgen_needy_driver.so").string()));
  EXPECT_EQ(needy.code, 3);
  EXPECT_THAT(
      needy.err,
      HasSubstr("libqgen_needy_driver.so cannot be loaded: libqgen_missing.so: cannot open shared object file"));
  EXPECT_THAT(needy.err, HasSubstr("hint: install the package that has libqgen_missing.so"));
  const Answer refusing = info(manifest((libraries / "libqgen_refusing_driver.so").string()));
  EXPECT_EQ(refusing.code, 3);
  EXPECT_THAT(refusing.err,
              HasSubstr("libqgen_refusing_driver.so refuses to start (VK_ERROR_INITIALIZATION_FAILED)\n"));
  const Answer stranger = info(manifest((libraries / "libqgen_stranger.so").string()));
  EXPECT_EQ(stranger.code, 3);
  EXPECT_THAT(stranger.err, HasSubstr("libqgen_stranger.so is no Vulkan driver\n"));
}

TEST_F(WithoutDriver, SaysWhereItLooked) {
  const std::string empty = here().string();
  const Answer answer = run("qgen-info", {},
                            {{"VK_DRIVER_FILES", ""},
                             {"VK_ICD_FILENAMES", ""},
                             {"XDG_CONFIG_HOME", empty + "/a"},
                             {"XDG_CONFIG_DIRS", empty + "/b"},
                             {"XDG_DATA_HOME", empty + "/c"},
                             {"XDG_DATA_DIRS", empty + "/d:" + empty + "/e"}});
  if (answer.code == 0) GTEST_SKIP() << "a driver is installed in /etc";
  EXPECT_EQ(answer.code, 3);
  EXPECT_EQ(answer.err.substr(0, answer.err.find("  hint")),
            "qgen-info: no Vulkan driver is installed: there is no manifest (*.json) in\n"
            "  " +
                empty +
                "/a/vulkan/icd.d\n"
                "  " +
                empty +
                "/b/vulkan/icd.d\n"
                "  /etc/vulkan/icd.d\n"
                "  " +
                empty +
                "/c/vulkan/icd.d\n"
                "  " +
                empty +
                "/d/vulkan/icd.d\n"
                "  " +
                empty + "/e/vulkan/icd.d\n");
}

#if !QGEN_SANITIZED  // which take the address space for themselves
// A machine with a driver and too little memory for it is distinguished from one without a driver.
TEST_F(WithoutDriver, SaysThatMemoryIsShort) {
  const fs::path path = fs::read_symlink("/proc/self/exe").parent_path() / "../runtime/qgen-info";
  const Answer answer = Running("/bin/sh", {"-c", "ulimit -v 60000; exec " + path.lexically_normal().string()},
                                {.folder = here()}, here() / "outputs")
                            .wait();
  EXPECT_EQ(answer.code, 3);
  EXPECT_THAT(answer.err, StartsWith("qgen-info: there is too little memory for a Vulkan driver: "));
  EXPECT_THAT(answer.err, HasSubstr("ulimit -v"));
}
#endif

}  // namespace
}  // namespace qgen::tests
