// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Special files and unusual names: each is used as intended, or refused in a sentence with exit code 2. Existing files
// stay unchanged.
#include "tests/codegen/program/run_qgen.h"
#include "tests/support/source_folder.h"

namespace qgen::tests {
namespace {

using testing::HasSubstr;

class HostileFiles : public Program {
 protected:
  // A refusal that says `words`; nothing is written.
  void expect_refused(const Arguments& arguments, std::string_view words) {
    const auto before = contents(here());
    const Answer answer = qgen(arguments);
    EXPECT_EQ(answer.code, 2) << answer.err;
    EXPECT_THAT(answer.err, HasSubstr(std::string(words)));
    EXPECT_EQ(contents(here()), before);
  }
  void expect_refused(std::string_view words) { expect_refused({"specs", "-o", "out", "--no-cache"}, words); }
};

// ---- inputs ---------------------------------------------------------------------------------------------------------

TEST_F(HostileFiles, ALinkThatLeadsNowhereRemovesNoOutputs) {
  made({"specs", "-o", "out"});
  fs::rename(here() / "specs/copy.yaml", here() / "moved.yaml");
  fs::create_symlink("../gone.yaml", here() / "specs/copy.yaml");
  expect_refused(
      "cannot read specs/copy.yaml: No such file or directory\n  hint: it is a symbolic link to '../gone.yaml'");
  fs::remove(here() / "specs/copy.yaml");
  fs::create_symlink("copy.yaml", here() / "specs/copy.yaml");
  expect_refused("cannot read specs/copy.yaml: Too many levels of symbolic links");
  fs::remove(here() / "specs/copy.yaml");
  fs::create_symlink("../moved.yaml", here() / "specs/copy.yaml");
  EXPECT_THAT(made({"specs", "-o", "out"}).out, HasSubstr("nothing changed"));
}

TEST_F(HostileFiles, ALinkToAFolderIsToldAndNotLeftOut) {
  fs::create_symlink("..", here() / "specs/more");
  expect_refused("specs/more is a symbolic link to a folder, and qgen does not follow it");
}

// Editors mark an edited file by a dangling link next to it.
TEST_F(HostileFiles, HiddenFilesAreNoInputs) {
  fs::create_symlink("somebody@somewhere.123", here() / "specs/.#copy.yaml");
  fs::create_symlink("somebody@somewhere.123", here() / "templates/.#copy.comp");
  made({"specs", "-o", "out"});
}

TEST_F(HostileFiles, NoLinkLeavesTheTemplateRoot) {
  write_text(here() / "secret.glsl", kIndex);
  fs::remove(here() / "templates/lib/index.glsl");
  fs::create_symlink("../../secret.glsl", here() / "templates/lib/index.glsl");
  expect_refused("templates/lib/index.glsl is a symbolic link that leaves the template root: it leads to ");
  fs::remove(here() / "templates/lib/index.glsl");
  write_text(here() / "templates/lib/inside.glsl", kIndex);
  fs::create_symlink("inside.glsl", here() / "templates/lib/index.glsl");
  made({"specs", "-o", "out"});
}

TEST_F(HostileFiles, APipeIsNotWaitedFor) {
  ASSERT_EQ(::mkfifo((here() / "specs/pipe.yaml").c_str(), 0666), 0);
  expect_refused("cannot read specs/pipe.yaml: it is a named pipe");
  expect_refused({"specs/pipe.yaml", "-o", "out"}, "it is a named pipe");
  fs::rename(here() / "specs/pipe.yaml", here() / "templates/lib/pipe.glsl");
  expect_refused("cannot read templates/lib/pipe.glsl: it is a named pipe");
  expect_refused({"/dev/zero", "-o", "out"}, "cannot read /dev/zero: it is a device");
}

TEST_F(HostileFiles, NamesWithControlCharactersAreToldEscaped) {
  write_text(here() / "specs/a\x1b[2J\nb/copy2.yaml", kCopySpec);
  expect_refused("the name of specs/a\\x1b[2J\\nb/copy2.yaml contains the control character \\x1b");
  const Answer answer = qgen({"no\x1b[2Jsuch.yaml", "-o", "out"});
  EXPECT_THAT(answer.err, HasSubstr("the name of no\\x1b[2Jsuch.yaml contains the control character \\x1b"));
}

TEST_F(HostileFiles, ErrorsStayReadable) {
  write_text(here() / "specs/copy.yaml", "operator: copy\nsummary: " + std::string(900'000, 'x') + ": y\n");
  std::string many(kTotalSpec);
  for (int i = 0; i < 20'000; ++i) many += "unknown" + std::to_string(i) + ": 1\n";
  write_text(here() / "specs/reduce/total.yaml", many);
  const Answer answer = qgen({"specs", "-o", "out"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_LT(answer.err.size(), 150'000u);
  EXPECT_THAT(answer.err, HasSubstr(" more, which are not printed\n"));
}

TEST_F(HostileFiles, MissingTemplatesNameTheFoldersThatWereSearched) {
  fs::remove(here() / "templates/lib/index.glsl");
  expect_refused({"specs", "--stop-after", "render"}, "there is no template 'lib/index.glsl'");
  expect_refused({"specs", "--stop-after", "render"}, "  searched below templates; --templates DIR names one more");
}

// ---- outputs --------------------------------------------------------------------------------------------------------

TEST_F(HostileFiles, DevicesAreWrittenThrough) {
  struct stat before = {}, after = {};
  ASSERT_EQ(::stat("/dev/null", &before), 0);
  for (int run = 0; run < 2; ++run) made({"specs", "-o", "out", "--depfile", "/dev/null", "--stats-json", "/dev/null"});
  ASSERT_EQ(::stat("/dev/null", &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_THAT(made({"specs", "-o", "out", "--depfile", "/dev/stdout", "-q"}).out, HasSubstr("out/MANIFEST.tsv: "));
}

TEST_F(HostileFiles, AFullDeviceLeavesEveryOutputAsItWas) {
  made({"specs", "-o", "out", "--depfile", "out.d"});
  replace_in(here() / "templates/copy.comp", "input_data[i];", "input_data[i] + input_data[0];");
  const auto before = contents(here());
  for (const char* flag : {"--stats-json", "--depfile"}) {
    const Answer answer = qgen({"specs", "-o", "out", flag, "/dev/full"});
    EXPECT_EQ(answer.code, 3);
    EXPECT_THAT(answer.err, HasSubstr("cannot write /dev/full: No space left on device"));
    EXPECT_EQ(contents(here()), before) << flag;
  }
}

TEST_F(HostileFiles, ALimitOnTheSizeOfFilesLeavesEveryOutputAsItWas) {
  made({"specs", "-o", "out"});
  replace_in(here() / "templates/copy.comp", "input_data[i];", "input_data[i] + input_data[0];");
  const auto before = contents(here());
  const Answer answer = qgen({"specs", "-o", "out", "--no-cache"}, {.most_file_bytes = 500});
  EXPECT_EQ(answer.code, 3);
  EXPECT_THAT(answer.err, HasSubstr("File too large"));
  EXPECT_EQ(contents(here()), before);
  const Answer fresh = qgen({"specs", "-o", "fresh/deep", "--no-cache"}, {.most_file_bytes = 500});
  EXPECT_EQ(fresh.code, 3);
  EXPECT_FALSE(fs::exists(here() / "fresh")) << "nor does a folder stay";
}

TEST_F(HostileFiles, AFolderInAFilesPlaceIsTold) {
  fs::create_directories(here() / "out/cpp/copy.h");
  expect_refused("cannot write out/cpp/copy.h: it is a folder");
  write_text(here() / "file", "");
  expect_refused({"specs", "-o", "file"}, "-o takes a folder, and file is a file");
  expect_refused({"specs", "-o", "made", "--depfile", "made/cpp"}, "cannot write made/cpp: it is a folder");
}

TEST_F(HostileFiles, LinksAmongOutputsStay) {
  fs::create_directories(here() / "elsewhere");
  fs::create_directories(here() / "out/cpp");
  fs::create_symlink("../../elsewhere/copy.h", here() / "out/cpp/copy.h");
  made({"specs", "-o", "out"});
  EXPECT_TRUE(fs::is_symlink(here() / "out/cpp/copy.h"));
  EXPECT_THAT(read_text(here() / "elsewhere/copy.h"), HasSubstr("namespace qgen::generated::copy"));
}

TEST_F(HostileFiles, TwoOutputsOfOnePlaceAreRefused) {
  expect_refused({"specs", "-o", "out", "--depfile", "x", "--stats-json", "./x"},
                 "cannot write ./x: two outputs of this command go there");
  expect_refused({"specs", "-o", "out", "--depfile", "out/kernels.blob"}, "two outputs of this command go there");
  made({"specs", "-o", "out"});
  for (const char* flag : {"--depfile", "--stats-json"}) {
    expect_refused({"specs", "-o", "out", flag, "out/kernels.blob"}, "another output of this command goes there");
    expect_refused({"specs", "-o", "out", "--no-cache", flag, "out/kernels.blob"},
                   "two outputs of this command go there");
  }
}

TEST_F(HostileFiles, InputsAreNotReplaced) {
  for (int run = 0; run < 2; ++run) {  // the second finds the cache
    for (const char* flag : {"--depfile", "--stats-json"}) {
      for (const char* input : {"specs/copy.yaml", "./templates/copy.comp"})
        expect_refused({"specs", "-o", "out", flag, input}, std::string(input) + ": this command reads it");
    }
    if (run == 0) made({"specs", "-o", "out"});
  }
}

TEST_F(HostileFiles, NothingIsWrittenAmongTemplates) {
  const auto before = contents(here());
  for (const char* folder : {"templates", "templates/out", "specs/../templates/./out"}) {
    expect_refused({"specs", "-o", folder}, " is in templates, where each file is a template");
    expect_refused({"specs", "-o", folder, "--emit", "spv"}, " is in templates, where each file is a template");
    expect_refused({"specs", "-o", "out", "--cache", folder}, " is in templates, where each file is a template");
  }
  EXPECT_EQ(contents(here()), before);
  made({"specs", "-o", "."});
  made({"specs", "-o", "templates_out"});
}

// ---- names in what is generated -------------------------------------------------------------------------------------

TEST_F(HostileFiles, NamespacesAreNames) {
  for (const char* name : {"a b;c", "std", "a::", "linux", "a\x1b"}) {
    expect_refused({"specs", "-o", "out", "--namespace", name}, "qgen: --namespace ");
  }
}

TEST_F(HostileFiles, NumbersOfVariantsAreNotNegative) {
  expect_refused({"specs", "-o", "out", "--max-variants", "-1"}, "--max-variants");
}

// Names that are macros wherever the C library is seen. The compiler is the judge.
TEST_F(HostileFiles, MacrosAreNamesToo) {
  std::string spec(kCopySpec);
  spec.replace(spec.find("  numel: u32\n"), 13,
               "  numel: u32\n  linux: u32\n  EOF: u32\n  errno: f32\n  NULL_2: u32\n  unix: u32[3]\n");
  spec.replace(spec.find("  vec:   [1, 2, 4]\n"), 19,
               "  vec:   [1, 2, 4]\n  e_o_f: [stdin, INT_MAX]\n  major: [{minor: assert, I: 1}]\n");
  spec.replace(spec.find("[numel % vec == 0]"), 18, "[numel % vec == 0, linux + EOF < 9 or e_o_f == stdin]");
  write_text(here() / "specs/copy.yaml", spec);
  replace_in(here() / "templates/copy.comp", "// y = x", "// y = x ${e_o_f} ${major.I}");
  made({"specs", "-o", "out", "--namespace", "mine"});
  const std::string compile = std::string(QGEN_CXX_COMPILER) + " -std=gnu++20 -fsyntax-only -Wall -Werror -I" +
                              source_folder() + "/include -I" + source_folder() +
                              " -include cstdio -include climits -include cerrno -include cassert ";
  for (const char* file : {"copy.cpp", "total.cpp", "registry.cpp"}) {
    EXPECT_EQ(std::system((compile + (here() / "out/cpp" / file).string()).c_str()), 0) << file;
  }
}

}  // namespace
}  // namespace qgen::tests
