// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Generating for a part of the specs: --operators, --dtypes, --layouts, --for, --one-source.
#include "tests/codegen/program/run_qgen.h"

namespace qgen::tests {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(Program, MakesSomeOperatorsOnly) {
  EXPECT_EQ(made({"specs", "--list", "--operators", "copy"}).out,
            "copy.f32.vec1\ncopy.f32.vec2\ncopy.f32.vec4\ncopy.i32.vec1\n");
  EXPECT_EQ(made({"specs", "--list", "--operators", "total,copy"}).out, kIds);
  EXPECT_EQ(made({"specs", "--list", "--operators", "copy", "--dtypes", "i32"}).out, "copy.i32.vec1\n");
  EXPECT_EQ(made({"specs", "--list", "--dtypes", "i32,f16"}).out, "copy.i32.vec1\ntotal.serial\ntotal.subgroup\n")
      << "a dtype that no parameter chooses stays";
}

TEST_F(Program, MakesAPartOfASpecTree) {
  made({"specs", "-o", "out", "--operators", "copy", "--one-source"});
  EXPECT_FALSE(fs::exists(here() / "out/cpp/total.h"));
  const std::string all = read_text(here() / "out/cpp/all.cpp");
  EXPECT_THAT(all, HasSubstr("#include \"copy.cpp\"\n#include \"registry.cpp\"\n#include \"tunings.cpp\"\n"));
  EXPECT_THAT(made({"specs", "-o", "out", "--operators", "copy", "--one-source"}).out, HasSubstr("nothing changed"));
  // The other operator again, and no file of another run is left.
  EXPECT_THAT(made({"specs", "-o", "out"}).out, Not(HasSubstr("nothing changed")));
  EXPECT_TRUE(fs::exists(here() / "out/cpp/total.h"));
  EXPECT_FALSE(fs::exists(here() / "out/cpp/all.cpp"));
}

// A device that lacks a module's needs.
TEST_F(Program, LeavesOutModulesThatNoDeviceRuns) {
  const std::string head = "vulkan: 1.3.0\nkind: other\nvendor_id: 0x1\nname: ";
  write_text(here() / "without.yaml", head + "Plain\nfeatures: [subgroup_basic]\n");
  write_text(here() / "with.yaml", head + "Rich\nfeatures: [subgroup_basic, subgroup_arithmetic]\n");
  made({"specs", "-o", "out", "--for", "without.yaml", "--depfile", "out.d"});
  EXPECT_THAT(read_text(here() / "out/MANIFEST.tsv"), Not(HasSubstr("total.subgroup")));
  EXPECT_THAT(read_text(here() / "out.d"), HasSubstr("without.yaml"));
  made({"specs", "-o", "out", "--for", "without.yaml", "--for", "with.yaml"});
  EXPECT_THAT(read_text(here() / "out/MANIFEST.tsv"), HasSubstr("total.subgroup"));
}

TEST_F(Program, EmitsSpirvAndAnIndex) {
  EXPECT_THAT(made({"specs", "-o", "out", "--emit", "spv", "--operators", "copy"}).out,
              HasSubstr(" modules of 4 variants, and spv/index.json\n"));
  const std::string index = read_text(here() / "out/spv/index.json");
  EXPECT_THAT(index, HasSubstr("\"name\": \"copy\""));
  EXPECT_THAT(index, HasSubstr("ceil_div(numel, vec * workgroup)"));
  EXPECT_THAT(index, HasSubstr("numel % vec == 0"));
  EXPECT_THAT(index, HasSubstr("\"dtypes\": ["));
  const size_t at = index.find("copy/");
  const std::string module = read_text(here() / "out/spv" / index.substr(at, index.find('"', at) - at));
  ASSERT_GT(module.size(), 20u);
  EXPECT_EQ(module.substr(0, 4), "\x03\x02\x23\x07") << "SPIR-V's magic number";
}

TEST_F(Program, SaysWhatAPartCannotBe) {
  const Answer unknown = qgen({"specs", "--list", "--operators", "copi"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("no spec has an operator 'copi'"));
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'copy'?"));
  const Answer none = qgen({"specs", "--list", "--operators", "copy", "--dtypes", "f16"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("no variant of 'copy' has these dtypes and layouts"));
  EXPECT_THAT(none.err, HasSubstr("expected: dtype can be f32, i32\n"));
}

}  // namespace
}  // namespace qgen::tests
