// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen --tuning and --prune.
#include "tests/codegen/program/run_qgen.h"
#include "tests/support/expected_text.h"

namespace qgen::tests {
namespace {

using testing::HasSubstr;

class Tuning : public Program {
 protected:
  // Rows of copy's kernels; their digests are those of the manifest.
  void write_times(const std::string& name, const std::map<std::string, double>& us) {
    made({"specs", "-o", "out", "-q"});
    const std::string manifest = read_text(here() / "out/MANIFEST.tsv");
    std::string text =
        "device: {name: Example GPU 1, kind: discrete, vendor_id: 0x10de}\n"
        "problems:\n"
        "- problem: copy numel=4096 input=f32:strided output=f32:strided\n"
        "  kernels:\n";
    for (const auto& [variant, time] : us) {
      text += "  - {id: " + variant + "/workgroup64, us: " + std::to_string(time) + ", low: 1, high: 99, digest: \"" +
              digest_in(manifest, variant) + "\", date: 2026-11-23}\n";
    }
    write_text(here() / ("tuning/" + name + ".yaml"), text);
    write_text(here() / "tuning/problems.yaml", "- {operator: copy}\n");
  }
  static std::string digest_in(const std::string& manifest, const std::string& variant) {
    size_t at = manifest.find("\n" + variant + "\t");
    if (at == manifest.npos) return "1";
    for (int column = 0; column < 3; ++column) at = manifest.find('\t', at) + 1;
    return manifest.substr(at, 16);
  }
};

TEST_F(Tuning, CompilesTimesIn) {
  write_times("example-gpu", {{"copy.f32.vec4", 5}, {"copy.f32.vec1", 9}, {"copy.f32.vec8", 1}});
  EXPECT_THAT(
      made({"specs", "-o", "out", "--tuning", "tuning"}).out,
      HasSubstr(
          "tuning of Example GPU 1: 2 times, 0.2 kB of tables; 1 time left out, of kernels that do not exist, the "
          "first of 'copy.f32.vec8/workgroup64'\n"));
  const std::string tables = read_text(here() / "out/cpp/tunings.cpp");
  EXPECT_THAT(tables, HasSubstr("namespace tuning_example_gpu {"));
  EXPECT_THAT(tables, HasSubstr("{\"copy numel=4096 input=f32:strided output=f32:strided\"sv, 2},"));
  EXPECT_THAT(tables, HasSubstr("constexpr TunedTime kTimes[] = {{1, 5}, {0, 9}};"));
  EXPECT_THAT(made({"specs", "-o", "out", "--tuning", "tuning"}).out, HasSubstr("nothing changed"));

  replace_in(here() / "templates/copy.comp", "output_data[i] = input_data[i];", "output_data[i] = input_data[i + 1];");
  EXPECT_THAT(
      made({"specs", "-o", "out", "--tuning", "tuning"}).out,
      HasSubstr(
          "tuning of Example GPU 1: 0 times, 0.0 kB of tables; 2 times left out, of kernels that have changed since"));
  EXPECT_THAT(read_text(here() / "out/cpp/tunings.cpp"), HasSubstr("tunings = {};"));
}

// Those that met in a final stand first, whatever others took.
TEST_F(Tuning, KeepsTheOrderOfAFinal) {
  write_times("example-gpu", {{"copy.f32.vec4", 9}, {"copy.f32.vec1", 5}});
  replace_in(here() / "tuning/example-gpu.yaml", "us: 9.000000,", "final: true, samples: 60, us: 9,");
  made({"specs", "-o", "out", "--tuning", "tuning"});
  EXPECT_THAT(read_text(here() / "out/cpp/tunings.cpp"),
              HasSubstr("constexpr TunedTime kTimes[] = {{1, 9, false, true}, {0, 5}};"));
}

TEST_F(Tuning, KeepsMarks) {
  write_times("example-gpu", {{"copy.f32.vec4", 9}, {"copy.f32.vec1", 5}});
  replace_in(here() / "tuning/example-gpu.yaml", "us: 9.000000,", "clock: 0.9, us: 9,");
  made({"specs", "-o", "out", "--tuning", "tuning"});
  EXPECT_THAT(read_text(here() / "out/cpp/tunings.cpp"),
              HasSubstr("constexpr TunedTime kTimes[] = {{0, 5}, {1, 9, false, false, true}};"));
}

TEST_F(Tuning, CountsNoTimesOfProblemsThatThereAreNot) {
  for (const char* key : {"copy numel=-5 input=f32:strided output=f32:strided",
                          "copy numel=12345678901234567890 input=f32:strided output=f32:strided",
                          "copy numel=4096 input=f99:strided output=f32:strided",
                          "copy numel=4096 evil=7 input=f32:strided output=f32:strided"}) {
    write_times("example-gpu", {{"copy.f32.vec4", 5}});
    replace_in(here() / "tuning/example-gpu.yaml", "copy numel=4096 input=f32:strided output=f32:strided", key);
    const std::string told = made({"specs", "-o", "out", "--tuning", "tuning"}).out;
    EXPECT_THAT(told, HasSubstr("tuning of Example GPU 1: 0 times")) << key;
    EXPECT_THAT(told, HasSubstr("; 1 time left out, of problems that do not exist, the first in line 3: the key of a "
                                "problem of 'copy' has "))
        << key;
  }
}

TEST_F(Tuning, RefusesRowsThatNoMeasurementCanBe) {
  write_times("example-gpu", {{"copy.f32.vec4", 5}});
  replace_in(here() / "tuning/example-gpu.yaml", "low: 1, high: 99", "low: 99, high: 1");
  const Answer answer = qgen({"specs", "-o", "out", "--tuning", "tuning"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.err, HasSubstr("tuning/example-gpu.yaml:5:"));
  EXPECT_THAT(answer.err, HasSubstr("is not between its low time, 99 us, and its high time, 1 us"));
}

TEST_F(Tuning, Prunes) {
  write_times("example-gpu", {{"copy.f32.vec4", 5}, {"copy.f32.vec2", 5.3}, {"copy.f32.vec1", 9}});
  // A project's build, which is quiet, reports it too.
  EXPECT_THAT(made({"specs", "-o", "quiet", "--tuning", "tuning", "--prune", "3", "-q"}).out,
              HasSubstr("pruned at 3 %: 4 of 6 variants stay, 4 of 6 modules, SPIR-V "));
  const std::string told = made({"specs", "-o", "out", "--tuning", "tuning", "--prune", "3", "-v"}).out;
  EXPECT_THAT(told, HasSubstr("pruned at 3 %: 4 of 6 variants stay, 4 of 6 modules, SPIR-V "));
  EXPECT_THAT(told, HasSubstr("  copy: 3 of 4 variants stay, 3 of 4 modules, SPIR-V "));
  EXPECT_THAT(told, HasSubstr("; without\n    copy.f32.vec2\n"));
  EXPECT_THAT(told, HasSubstr("predicted loss on example-gpu: 0.00 % on average of 1 problems, 0.00 % at most"));
  EXPECT_THAT(told, HasSubstr("keep only variants without which they could not run: total"));
  const std::string manifest = read_text(here() / "out/MANIFEST.tsv");
  EXPECT_EQ(manifest.find("copy.f32.vec2"), manifest.npos);
  EXPECT_THAT(manifest, HasSubstr("\ncopy.i32.vec1\t"));
  EXPECT_THAT(made({"specs", "-o", "out", "--tuning", "tuning", "--prune", "3", "--keep-unmeasured"}).out,
              HasSubstr("  operators without a measured problem keep all variants: total"));
  // Pruned kernels come back, and from the cache.
  EXPECT_THAT(made({"specs", "-o", "out"}).out, HasSubstr("0 compiled, 6 from the cache"));
}

TEST_F(Tuning, SaysWhatIsWrong) {
  EXPECT_TEXT(qgen({"specs", "-o", "out", "--prune", "3"}).err,
              "qgen: --prune needs times: add --tuning DIR\n  hint: qgen --help shows examples\n");
  EXPECT_THAT(qgen({"specs", "-o", "out", "--keep-unmeasured"}).err,
              HasSubstr("--keep-unmeasured changes what --prune removes: add --prune N"));
  fs::create_directories(here() / "tuning");
  Answer answer = qgen({"specs", "-o", "out", "--tuning", "tuning"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.err, HasSubstr("no tuning file in the folder 'tuning'"));
  write_text(here() / "tuning/gpu.yaml", "problems: [\n");
  answer = qgen({"specs", "-o", "out", "--tuning", "tuning"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.err, HasSubstr("tuning/gpu.yaml:"));
}

}  // namespace
}  // namespace qgen::tests
