// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The options of qgen that only print, and the exit codes of refusals.
#include "tests/codegen/program/run_qgen.h"
#include "tests/support/expected_text.h"

namespace qgen::tests {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST_F(Program, HelpNamesEveryFlagAndTheExitCodes) {
  const std::string help = made({"--help"}).out;
  for (const char* flag : {"--help",     "--version",  "-o,--output",       "--templates",       "-j,--jobs",
                           "--opt",      "--filter",   "--max-variants",    "--namespace",       "--cache",
                           "--no-cache", "--depfile",  "--compile-seconds", "--compile-memory",  "--stats-json",
                           "--check",    "--list",     "--explain",         "--why-not",         "--stop-after",
                           "--emit",     "--tuning",   "--prune",           "--keep-unmeasured", "--schema",
                           "--target",   "-q,--quiet", "-v,--verbose",      "--remote-cache"}) {
    EXPECT_THAT(help, HasSubstr(std::string(flag) + " ")) << flag;
  }
  EXPECT_THAT(
      help, HasSubstr("Exit codes: 0 done, 1 --check found a difference, 2 the input is wrong, 3 the machine failed"));
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  EXPECT_THAT(made({"--version"}).out, StartsWith("qgen "));
}

TEST_F(Program, ListsIds) {
  EXPECT_EQ(made({"specs", "--list"}).out, kIds);
  EXPECT_EQ(made({"specs", "--list", "--filter", "*.vec?"}).out,
            "copy.f32.vec1\ncopy.f32.vec2\ncopy.f32.vec4\ncopy.i32.vec1\n");
  EXPECT_EQ(made({"specs/reduce/total.yaml", "--list"}).out, "total.serial\ntotal.subgroup\n");
}

TEST_F(Program, ExplainsAVariant) {
  const std::string text = made({"specs", "--explain", "copy.f32.vec4"}).out;
  EXPECT_THAT(text, StartsWith("copy.f32.vec4\n"
                               "  spec:       specs/copy.yaml\n"
                               "  template:   copy.comp\n"
                               "  parameters: dtype=f32 vec=4\n"
                               "  needs:      nothing beyond Vulkan 1.1\n"
                               "  module:     "));
  EXPECT_THAT(text, HasSubstr("bindings:\n"
                              "  binding 0: input (storage buffer)\n"
                              "  binding 1: output (storage buffer)\n"
                              "push constants:\n"
                              "  offset   0: numel\n"
                              "kernels:\n"
                              "  workgroup=64: workgroup 64 x 1 x 1, 0 bytes of shared memory\n"
                              "  workgroup=128: workgroup 128 x 1 x 1, 0 bytes of shared memory\n"
                              "applies when:\n"
                              "  numel % vec == 0\n"));
  EXPECT_THAT(made({"specs", "--explain", "total.subgroup"}).out, HasSubstr("subgroup_arithmetic"));
}

TEST_F(Program, ExplainsConditionsByTheirDefinitions) {
  std::string spec(kCopySpec);
  const std::string condition = "applies_when: [numel % vec == 0]\n";
  spec.replace(spec.find(condition), condition.size(),
               "define:\n  loads: numel / vec\n  unused: numel + 1\n  teams: ceil_div(loads, workgroup)\n"
               "applies_when: [teams <= 65535]\n");
  write_text(here() / "specs/copy.yaml", spec);
  EXPECT_THAT(made({"specs", "--explain", "copy.f32.vec4"}).out, HasSubstr("applies when:\n"
                                                                           "  teams <= 65535\n"
                                                                           "definitions:\n"
                                                                           "  loads = numel / vec\n"
                                                                           "  teams = ceil_div(loads, workgroup)\n"));
}

TEST_F(Program, SaysWhyThereIsNoVariant) {
  EXPECT_TEXT(made({"specs", "--why-not", "copy(dtype=i32, vec=2)"}).out,
              "dtype=i32 vec=2\n  removed by specs/copy.yaml:14:16: require dtype == f32 or vec == 1\n");
  EXPECT_TEXT(made({"specs", "--why-not", "copy(vec=2)"}).out,
              "dtype=f32 vec=2\n  exists as copy.f32.vec2\n"
              "dtype=i32 vec=2\n  removed by specs/copy.yaml:14:16: require dtype == f32 or vec == 1\n");
  EXPECT_EQ(made({"specs", "--why-not", "total(method=serial)"}).out, "method=serial\n  exists as total.serial\n");
  EXPECT_EQ(made({"specs", "--why-not", "copy"}).out, made({"specs", "--why-not", "copy()"}).out);
}

// Ten variants of a product of 10^12 combinations, which neither `require` nor the answer visits one by one.
TEST_F(Program, CountsCombinationsWithoutMakingThem) {
  std::string parameters = "parameters:\n", require = "require:\n";
  for (const char name : std::string_view("abcdefghijkl")) {
    parameters += std::string("  ") + name + ": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n";
    require += std::string("  - ") + name + " == a\n";
  }
  write_text(here() / "specs/many.yaml",
             "operator: many\ntemplate: copy.comp\noperands: {x: {access: read, dtype: f32}}\n" + parameters + require +
                 "grid: [1, 1, 1]\n");
  EXPECT_THAT(made({"specs/many.yaml", "--why-not", "many()"}).out,
              HasSubstr("\n(1000000000000 combinations or more)\n"));
  EXPECT_THAT(made({"specs/many.yaml", "--why-not", "many(a=1, b=2)"}).out,
              HasSubstr("\n(9999999980 more combinations)\n"));
}

// Each room's text form, by its first lines.
TEST_F(Program, StopsAfterARoom) {
  const std::map<std::string, std::string> starts = {
      {"spec", "operator: copy\nsummary: \"y = x\"\n"},
      {"expand", std::string(kIds)},
      {"render", "==== copy.f32.vec1\n// y = x\n#version 450\n"},
      {"compile", "==== copy.f32.vec1\n               OpCapability Shader\n"},
      {"reflect", "==== copy.f32.vec1\nbinding 0.0 storage_buffer read InputBuffer\n"},
      {"emit", "==== MANIFEST.tsv\nid\tparameters\tneeds\tdigest\ttemplate\tspec\n"},
  };
  for (const auto& [room, start] : starts) {
    EXPECT_THAT(made({"specs", "--stop-after", room, "--no-cache"}).out, StartsWith(start)) << room;
  }
  EXPECT_FALSE(fs::exists(cache())) << "an answer remembers nothing";
}

TEST_F(Program, StopAfterSpecPrintsWhatParsesToTheSame) {
  const std::string once = made({"specs/copy.yaml", "--stop-after", "spec"}).out;
  write_text(here() / "specs/copy.yaml", once);
  EXPECT_EQ(made({"specs/copy.yaml", "--stop-after", "spec"}).out, once);
}

struct Refusal {
  const char* name;
  Arguments arguments;
  int code;
  const char* words;  // of stderr
};
void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.name; }

const Refusal kRefusals[] = {
    {"no_specs",
     {},
     2,
     "qgen: no specs: name a spec file or a folder of them\n"
     "  hint: qgen --help shows examples\n"},
    {"no_output",
     {"specs"},
     2,
     "qgen: no output folder: add -o DIR\n"
     "  hint: qgen --help shows examples\n"},
    {"no_output_to_check",
     {"specs", "--check"},
     2,
     "qgen: no output folder: add -o DIR\n"
     "  hint: qgen --help shows examples\n"},
    {"unknown_flag",
     {"specs", "--lst"},
     2,
     "qgen: unknown option '--lst'\n"
     "  hint: did you mean '--list'?\n"},
    {"two_questions",
     {"specs", "--list", "--check"},
     2,
     "qgen: --check and --list cannot be combined: give one of them\n"
     "  hint: qgen --help shows examples\n"},
    {"unknown_room",
     {"specs", "--stop-after", "link"},
     2,
     "qgen: --stop-after: 'link' is not one of compile, emit, expand, reflect, render, spec\n"
     "  hint: qgen --help shows the options\n"},
    {"unknown_language",
     {"specs", "-o", "out", "--emit", "cuda"},
     2,
     "qgen: --emit: 'cuda' is not one of hlsl, msl, spv, c\n"
     "  hint: qgen --help shows the options\n"},
    {"unknown_optimisation",
     {"specs", "-o", "out", "--opt", "fast"},
     2,
     "qgen: --opt: 'fast' is not one of none, perf, size\n"
     "  hint: qgen --help shows the options\n"},
    {"unknown_target",
     {"specs", "-o", "out", "--target", "vulkan1.0"},
     2,
     "qgen: --target: 'vulkan1.0' is not one of vulkan1.1, vulkan1.2, vulkan1.3\n"
     "  hint: qgen --help shows the options\n"},
    {"threads_are_no_number",
     {"specs", "-o", "out", "-j", "many"},
     2,
     "qgen: --jobs: 'many' is not a whole number from 0 to 1024\n"
     "  hint: qgen --help shows the options\n"},
    {"negative_threads",
     {"specs", "-o", "out", "-j", "-1"},
     2,
     "qgen: --jobs: '-1' is not a whole number from 0 to 1024\n"
     "  hint: qgen --help shows the options\n"},
    {"missing_spec",
     {"nowhere.yaml", "-o", "out"},
     2,
     "qgen: error: cannot read nowhere.yaml: No such file or directory\n"},
    {"missing_templates",
     {"specs", "-o", "out", "--templates", "none"},
     2,
     "qgen: error: cannot read none: No such file or directory\n"},
    {"folder_without_specs", {"templates", "-o", "out"}, 2, "qgen: error: no *.yaml file in the folder 'templates'\n"},
    {"filter_without_match",
     {"specs", "-o", "out", "--filter", "copy.f23.*"},
     2,
     "error: no variant's id matches 'copy.f23.*'\n"
     "  hint: --list prints every id; '*' matches any text, '?' any character\n"
     "1 error\n"},
    {"unknown_variant",
     {"specs", "--explain", "copy.f32.vec3"},
     2,
     "error: no variant's id matches 'copy.f32.vec3'\n"
     "  hint: did you mean 'copy.f32.vec1'?\n"
     "1 error\n"},
    {"glob_to_explain",
     {"specs", "--explain", "copy.*"},
     2,
     "error: no variant is named 'copy.*'\n"
     "  hint: --list names them all, --why-not prints why a combination was removed\n"
     "1 error\n"},
    {"too_many_variants",
     {"specs", "-o", "out", "--max-variants", "3"},
     2,
     "specs/copy.yaml:10:3: error: 'copy' expands to 4 variants\n"
     "   10 |   dtype: [f32, i32]\n"
     "      |   ^~~~~\n"
     "  expected: at most 3\n"
     "  hint: move numbers to 'specialization', which makes no modules; or raise --max-variants\n"
     "1 error\n"},
    {"too_many_in_all",
     {"specs", "-o", "out", "--max-variants", "5"},
     2,
     "error: the specs expand to 6 variants\n"
     "  expected: at most 5\n"
     "  hint: raise --max-variants if this is intended\n"
     "1 error\n"},
    {"unknown_operator",
     {"specs", "--why-not", "cpoy(vec=2)"},
     2,
     "error: no operator is named 'cpoy'\n"
     "  hint: did you mean 'copy'?\n"
     "1 error\n"},
    {"unknown_parameter",
     {"specs", "--why-not", "copy(vce=2)"},
     2,
     "error: 'copy' has no parameter 'vce'\n"
     "  expected: one of dtype, vec\n"
     "  hint: did you mean 'vec'?\n"
     "1 error\n"},
    {"unknown_value",
     {"specs", "--why-not", "copy(vec=3)"},
     2,
     "error: parameter 'vec' has no value '3'\n"
     "  expected: one of 1, 2, 4\n"
     "1 error\n"},
    {"question_without_end",
     {"specs", "--why-not", "copy(vec=4"},
     2,
     "error: cannot read 'copy(vec=4': it does not end with ')'\n"
     "  expected: an operator and values of its parameters, such as 'copy(dtype=f32, vec=4)'\n"
     "1 error\n"},
    {"question_without_value",
     {"specs", "--why-not", "copy(vec)"},
     2,
     "error: cannot read 'copy(vec)': 'vec' has no '='\n"
     "  expected: an operator and values of its parameters, such as 'copy(dtype=f32, vec=4)'\n"
     "1 error\n"},
    {"output_is_a_file",
     {"specs", "-o", "specs/copy.yaml"},
     2,
     "qgen: -o takes a folder, and specs/copy.yaml is a file\n"
     "  hint: qgen --help shows examples\n"},
    {"output_cannot_be_made",
     {"specs", "-o", "/proc/none"},
     3,
     "qgen: error: cannot make the folder /proc/none: No such file or directory\n"},
    {"depfile_cannot_be_made",
     {"specs", "-o", "out", "--depfile", "/proc/none/d"},
     3,
     "qgen: error: cannot make the folder /proc/none: No such file or directory\n"},
    {"stats_cannot_be_made",
     {"specs", "-o", "out", "--stats-json", "specs/copy.yaml/s"},
     2,
     "qgen: error: cannot make the folder specs/copy.yaml: Not a directory\n"},
};

class Refusals : public Program, public testing::WithParamInterface<Refusal> {};

TEST_P(Refusals, HaveWordsAndACode) {
  const Answer answer = qgen(GetParam().arguments);
  EXPECT_EQ(answer.code, GetParam().code);
  EXPECT_TEXT(answer.err, GetParam().words);
  EXPECT_FALSE(fs::exists(here() / "out/cpp") && answer.code == 2) << "nothing is written of wrong input";
}
INSTANTIATE_TEST_SUITE_P(All, Refusals, testing::ValuesIn(kRefusals),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_F(Program, FaultsOfSpecsAndTemplatesAreLocated) {
  replace_in(here() / "specs/copy.yaml", "access: read,", "acess: read,");
  Answer answer = qgen({"specs", "-o", "out"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_TEXT(answer.err,
              "specs/copy.yaml:5:3: error: 'input' has no 'access'\n"
              "    5 |   input:  {acess: read,  dtype: $dtype}\n"
              "      |   ^~~~~\n"
              "  expected: how the kernel accesses it\n"
              "specs/copy.yaml:5:12: error: unknown key 'acess' in 'input'\n"
              "    5 |   input:  {acess: read,  dtype: $dtype}\n"
              "      |            ^~~~~\n"
              "  expected: one of access, dtype, help, in_place, layout, like, optional, "
              "row_sums_of, shape, storage, view, weight\n"
              "  hint: did you mean 'access'?\n"
              "2 errors\n");

  write_text(here() / "specs/copy.yaml", kCopySpec);
  replace_in(here() / "templates/lib/index.glsl", ".x", ".xx");
  answer = qgen({"specs", "-o", "out"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_TEXT(answer.err,
              "templates/lib/index.glsl:2: error: 'return': cannot convert return value "
              "to function return type\n"
              "    2 |   return gl_GlobalInvocationID.xx + gl_NumWorkGroups.x * gl_WorkGroupSize.x "
              "* gl_GlobalInvocationID.y;\n"
              "  in variant copy.f32.vec1 (dtype=f32 vec=1), and in 5 more\n"
              "templates/copy.comp:8: note: included here\n"
              "1 error\n")
      << "one fault in an include is one report";
}

TEST_F(Program, ATemplateThatNoSpecNamesIsAnErrorOfAWholeTree) {
  write_text(here() / "templates/forgotten.comp", kCopyTemplate);
  EXPECT_TEXT(qgen({"specs", "-o", "out", "-q"}).err,
              "templates/forgotten.comp: error: no spec names this template\n"
              "  hint: name it as `template: forgotten.comp`, move it below lib/, or delete it\n1 error\n");
  made({"specs/copy.yaml", "specs/reduce/total.yaml", "-o", "out"});
}

TEST_F(Program, OnlyTheFirstTemplateFolderMustBeNamedWhole) {
  write_text(here() / "others/unnamed.comp", kCopyTemplate);
  made({"specs", "-o", "out", "--templates", "templates", "--templates", "others"});
  EXPECT_TEXT(qgen({"specs", "-o", "out", "--templates", "others", "--templates", "templates"}).err,
              "others/unnamed.comp: error: no spec names this template\n"
              "  hint: name it as `template: unnamed.comp`, move it below lib/, or delete it\n"
              "1 error\n");
}

TEST_F(Program, TheFirstTemplateFolderThatHasAFileWins) {
  write_text(here() / "mine/lib/index.glsl", "uint linear_index() { return gl_LocalInvocationIndex; }\n");
  EXPECT_THAT(made({"specs", "--stop-after", "render", "--templates", "mine", "--templates", "templates"}).out,
              HasSubstr("return gl_LocalInvocationIndex;"));
  EXPECT_THAT(made({"specs", "--stop-after", "render", "--templates", "templates", "--templates", "mine"}).out,
              HasSubstr("return gl_GlobalInvocationID.x +"));
}

TEST_F(Program, AFullStandardOutputIsTheMachinesFault) {
  const Answer answer = qgen({"specs", "--list"}, {.out = "/dev/full"});
  EXPECT_EQ(answer.code, 3);
  EXPECT_TEXT(answer.err, "qgen: error: cannot write to standard output: No space left on device\n");
}

TEST_F(Program, ALostLogChangesNothing) {
  for (const char* streams : {"2>&-", "2>/dev/full"}) {
    const fs::path out = here() / "listed";
    const std::string command = "cd " + here().string() + " && exec " + program() + " specs -o out --list >listed ";
    ASSERT_EQ(std::system((command + streams).c_str()), 0);
    EXPECT_EQ(read_text(out), kIds);
    EXPECT_EQ(WEXITSTATUS(std::system((command + "--why " + streams).c_str())), 2);
  }
}

}  // namespace
}  // namespace qgen::tests
