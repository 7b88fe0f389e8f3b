// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The files that `qgen SPECS -o DIR` writes, keeps and removes, its messages, and the results of --check.
#include "tests/codegen/program/run_qgen.h"
#include "tests/support/expected_text.h"

namespace qgen::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::Pair;
using testing::StartsWith;

std::vector<std::string> names(const std::map<std::string, std::string>& files) {
  std::vector<std::string> all;
  for (const auto& [name, bytes] : files) all.push_back(name);
  return all;
}

TEST_F(Program, WritesTablesManifestAndBlob) {
  const Answer answer = made({"specs", "-o", "out"});
  EXPECT_THAT(names(contents(here() / "out")),
              ElementsAre("MANIFEST.tsv", "cpp/blob.S", "cpp/copy.cpp", "cpp/copy.h", "cpp/graph_nodes.h",
                          "cpp/modules.h", "cpp/operators.cpp", "cpp/operators.h", "cpp/registry.cpp", "cpp/registry.h",
                          "cpp/total.cpp", "cpp/total.h", "cpp/tunings.cpp", "cpp/words.h", "kernels.blob"));
  EXPECT_THAT(answer.out,
              MatchesRegex("2 specs, 6 variants, [56] modules, SPIR-V [0-9]+ (bytes|kB) in a blob of [0-9]+ "
                           "bytes \\([0-9]+ %\\), C\\+\\+ [0-9]+ (bytes|kB)\n"
                           "6 compiled, 0 from the cache, 15 files written, [0-9.]+ s\n"));
}

TEST_F(Program, ASecondRunWritesNothing) {
  made({"specs", "-o", "out"});
  const auto before = stamps(here() / "out");
  EXPECT_THAT(made({"specs", "-o", "out"}).out, HasSubstr("\nnothing changed, "));
  EXPECT_EQ(stamps(here() / "out"), before);
  EXPECT_THAT(made({"specs", "-o", "out", "--no-cache"}).out,
              HasSubstr("6 compiled, 0 from the cache, 0 files written"));
  EXPECT_EQ(stamps(here() / "out"), before);
}

TEST_F(Program, AnEditedCommentCompilesNothing) {
  made({"specs", "-o", "out"});
  const auto before = stamps(here() / "out");
  write_text(here() / "templates/lib/index.glsl", "// The number of this invocation.\n" + std::string(kIndex));
  EXPECT_THAT(made({"specs", "-o", "out"}).out, HasSubstr("0 compiled, 6 from the cache, 0 files written"));
  EXPECT_EQ(stamps(here() / "out"), before);
}

TEST_F(Program, AnEditedTemplateCompilesItsOwnVariants) {
  made({"specs", "-o", "out"});
  const auto before = stamps(here() / "out");
  replace_in(here() / "templates/reduce/total.comp", "= 0.0", "= 1.0");
  EXPECT_THAT(made({"specs", "-o", "out"}).out, HasSubstr("2 compiled, 4 from the cache, 2 files written"));
  auto after = stamps(here() / "out");
  for (const char* with_digests : {"kernels.blob", "MANIFEST.tsv"}) {
    EXPECT_NE(after.at(with_digests), before.at(with_digests));
    after[with_digests] = before.at(with_digests);
  }
  EXPECT_EQ(after, before) << "the interfaces are the same, so the tables are";
}

TEST_F(Program, ADamagedOutputIsMadeAgain) {
  made({"specs", "-o", "out"});
  const auto good = contents(here() / "out");
  write_text(here() / "out/cpp/copy.h", "damaged");
  fs::remove(here() / "out/MANIFEST.tsv");
  EXPECT_THAT(made({"specs", "-o", "out"}).out, HasSubstr("0 compiled, 6 from the cache, 2 files written"));
  EXPECT_EQ(contents(here() / "out"), good);
}

// From the second run without a change on, files are known by their stamps, which settle within two seconds. Each
// change of a file is still seen, also one that keeps its size and its time.
TEST_F(Program, AChangeIsSeenWithoutReadingTheFiles) {
  made({"specs", "-o", "out"});
  const auto good = contents(here() / "out");
  const auto settle = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2100));
    for (int i = 0; i < 2; ++i) EXPECT_THAT(made({"specs", "-o", "out"}).out, HasSubstr("nothing changed"));
  };
  const auto change_a_byte = [&](const fs::path& path) {
    const auto time = fs::last_write_time(path);
    std::string text = read_text(path);
    text.back() = text.back() == '\n' ? ' ' : '\n';
    write_text(path, text);
    fs::last_write_time(path, time);
  };
  settle();
  change_a_byte(here() / "out/cpp/copy.h");
  EXPECT_THAT(made({"specs", "-o", "out"}).out, HasSubstr("1 files written"));
  settle();
  fs::remove(here() / "out/kernels.blob");
  EXPECT_THAT(made({"specs", "-o", "out"}).out, HasSubstr("1 files written"));
  settle();
  change_a_byte(here() / "templates/copy.comp");
  EXPECT_THAT(made({"specs", "-o", "out"}).out, HasSubstr("0 compiled, 6 from the cache"));
  settle();
  write_text(here() / "specs/copy.cost.yaml", "not a cost");
  EXPECT_EQ(qgen({"specs", "-o", "out"}).code, 2);
  fs::remove(here() / "specs/copy.cost.yaml");
  settle();
  fs::remove(here() / "templates/lib/index.glsl");
  EXPECT_EQ(qgen({"specs", "-o", "out"}).code, 2);
  write_text(here() / "templates/lib/index.glsl", kIndex);
  EXPECT_THAT(made({"specs", "-o", "out", "--filter", "copy*"}).out, HasSubstr("4 from the cache"));
  made({"specs", "-o", "out"});
  EXPECT_EQ(contents(here() / "out"), good);
}

TEST_F(Program, RemovesWhatItMadeForSpecsThatAreGone) {
  made({"specs", "-o", "out"});
  fs::remove_all(here() / "specs/reduce");
  fs::remove_all(here() / "templates/reduce");
  write_text(here() / "out/cpp/notes.txt", "written by hand\n");
  const Answer answer = made({"specs", "-o", "out"});
  EXPECT_THAT(answer.out, StartsWith("removed out/cpp/total.cpp, which no spec makes any more\n"
                                     "removed out/cpp/total.h, which no spec makes any more\n"));
  EXPECT_FALSE(fs::exists(here() / "out/cpp/total.h"));
  EXPECT_TRUE(fs::exists(here() / "out/cpp/notes.txt"));
}

TEST_F(Program, QuietSaysNothingAndVerboseNamesEveryFile) {
  const Answer quiet = made({"specs", "-o", "out", "-q"});
  EXPECT_EQ(quiet.out + quiet.err, "");
  EXPECT_EQ(made({"specs", "-o", "out", "-q"}).out, "");
  for (const char* what : {"nothing changed", "6 from the cache"}) {  // with a memo, then without
    const Answer verbose = made({"specs", "-o", "out", "-v"});
    EXPECT_THAT(verbose.out, HasSubstr(what));
    for (const auto& [name, bytes] : contents(here() / "out")) {
      EXPECT_THAT(verbose.out, HasSubstr(std::to_string(bytes.size()) + " out/" + name + "\n"));
    }
    fs::remove_all(cache() / "runs");
  }
}

TEST_F(Program, StatsAreWrittenAlsoWhenNothingChanged) {
  made({"specs", "-o", "out", "--stats-json", "stats.json"});
  EXPECT_THAT(read_text(here() / "stats.json"),
              MatchesRegex("\\{\n  \"specs\": 2,\n  \"variants\": 6,\n(.*\n)*  \"compiled\": 6,\n  \"from_cache\": 0,\n"
                           "(.*\n)*  \"files_written\": 15,\n  \"seconds\": [0-9.]+\n\\}\n"));
  made({"specs", "-o", "out", "--stats-json", "stats.json"});
  EXPECT_THAT(read_text(here() / "stats.json"), HasSubstr("\"compiled\": 0,\n  \"from_cache\": 6"));
  EXPECT_THAT(read_text(here() / "stats.json"), HasSubstr("\"files_written\": 0"));
}

TEST_F(Program, TheDepfileIsTheUnionOfWhatWasRead) {
  write_text(here() / "templates/lib/unused.glsl", "\n");
  const std::string at = here().string();
  const std::string expected = at + "/out/MANIFEST.tsv: \\\n  " + at + "/specs/copy.yaml \\\n  " + at +
                               "/specs/reduce/total.yaml \\\n  " + at + "/templates/copy.comp \\\n  " + at +
                               "/templates/lib/index.glsl \\\n  " + at + "/templates/reduce/total.comp\n";
  made({"specs", "-o", "out", "--depfile", "out.d"});
  EXPECT_EQ(read_text(here() / "out.d"), expected);
  fs::remove(here() / "out.d");
  made({"specs", "-o", "out", "--depfile", "out.d"});  // nothing changed
  EXPECT_EQ(read_text(here() / "out.d"), expected);
  fs::rename(here() / "templates", here() / "elsewhere");
  made({"specs", "-o", "out", "--depfile", "out.d", "--templates", "elsewhere"});
  EXPECT_THAT(read_text(here() / "out.d"), HasSubstr(at + "/elsewhere/lib/index.glsl"));
}

// A fragment is read and makes no output; the specs that use it contain its sections.
TEST_F(Program, FragmentsArePartOfTheSpecsThatUseThem) {
  made({"specs", "-o", "plain"});
  replace_in(here() / "specs/copy.yaml", "problem:\n  numel: u32\n", "problem: [length]\n");
  write_text(here() / "specs/lib/length.yaml", "fragment: length\nproblem:\n  numel: u32\n");
  made({"specs", "-o", "out", "--depfile", "out.d"});
  EXPECT_THAT(read_text(here() / "out.d"), HasSubstr(here().string() + "/specs/lib/length.yaml"));
  for (const char* file : {"MANIFEST.tsv", "cpp/registry.cpp", "kernels.blob"})
    EXPECT_EQ(read_text(here() / "out" / file), read_text(here() / "plain" / file)) << file;
  EXPECT_THAT(read_text(here() / "out/cpp/copy.h"), HasSubstr("struct Problem {\n  fields::Length length;\n"));
  EXPECT_EQ(made({"specs", "--list"}).out, kIds);

  replace_in(here() / "specs/lib/length.yaml", "numel: u32", "numel: u32\n  more: u32");
  made({"specs", "-o", "out"});
  EXPECT_THAT(read_text(here() / "out/cpp/length_fields.h"), HasSubstr("Required<uint32_t> more;"));

  const Answer alone = qgen({"specs/copy.yaml", "-o", "out"});
  EXPECT_EQ(alone.code, 2);
  EXPECT_THAT(alone.err, HasSubstr("specs/copy.yaml:7:11: error: no fragment of this run is named 'length'\n"));
  EXPECT_THAT(alone.err, HasSubstr("hint: fragments are files too: name their files, or their folder\n"));
  replace_in(here() / "specs/copy.yaml", "[length]", "{numel: u32}");
  const Answer unused = qgen({"specs", "-o", "out"});
  EXPECT_EQ(unused.code, 2);
  EXPECT_THAT(unused.err, HasSubstr("specs/lib/length.yaml:1:11: error: no spec uses fragment 'length'\n"));
}

TEST_F(Program, CheckFindsACurrentFolderCurrent) {
  made({"specs", "-o", "out"});
  EXPECT_TEXT(made({"specs", "-o", "out", "--check"}).out, "out is current\n");
  EXPECT_EQ(made({"specs", "-o", "out", "--check", "-q"}).out, "");
  fs::remove(here() / "out/kernels.blob");
  EXPECT_TEXT(made({"specs", "-o", "out", "--check"}).out, "out is current\n") << "blobs are not kept in git";
}

TEST_F(Program, CheckNamesWhatDiffersIsMissingOrAnOrphan) {
  made({"specs", "-o", "out"});
  replace_in(here() / "out/cpp/copy.h", "vec2", "vec3");
  replace_in(here() / "out/kernels.blob", "QGEN", "NEGQ");
  fs::remove(here() / "out/cpp/registry.h");
  write_text(here() / "out/cpp/gone.h", "// Generated by qgen from specs/gone.yaml. Do not edit.\n");
  write_text(here() / "out/cpp/notes.txt", "written by hand\n");
  const auto before = stamps(here() / "out");
  const Answer answer = qgen({"specs", "-o", "out", "--check"});
  EXPECT_EQ(answer.code, 1);
  EXPECT_TEXT(
      answer.out,
      "differs: out/cpp/copy.h\nmissing: out/cpp/registry.h\ndiffers: out/kernels.blob\norphan:  out/cpp/gone.h\n");
  EXPECT_THAT(answer.err, HasSubstr("hint: run qgen without --check"));
  EXPECT_EQ(stamps(here() / "out"), before) << "--check writes nothing";
}

TEST_F(Program, CheckOfAFolderThatIsNotThereMissesEverything) {
  const Answer answer = qgen({"specs", "-o", "out", "--check"});
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.out, HasSubstr("missing: out/MANIFEST.tsv\n"));
  EXPECT_FALSE(fs::exists(here() / "out"));
}

TEST_F(Program, EmitWritesTranslationsAndListsTheOthers) {
  EXPECT_TEXT(made({"specs", "-o", "out", "--emit", "msl"}).out, "6 variants translated, 0 not\n");
  EXPECT_THAT(read_text(here() / "out/msl/copy/copy.f32.vec4.metal"), HasSubstr("kernel void main0("));
  EXPECT_THAT(made({"specs", "-o", "out", "--emit", "hlsl"}).out,
              MatchesRegex("not translated: total.subgroup: Unsupported builtin in HLSL: [0-9]+\n"
                           "5 variants translated, 1 not\n"));
  EXPECT_THAT(read_text(here() / "out/hlsl/copy/copy.f32.vec4.hlsl"),
              HasSubstr("SPIRV_Cross_NumWorkgroups : register(b0, space1)"));
  EXPECT_FALSE(fs::exists(here() / "out/cpp"));
}

TEST_F(Program, TheDefaultCacheIsUsedUnlessAnotherOrNoneIsNamed) {
  made({"specs", "-o", "out", "--no-cache"});
  EXPECT_FALSE(fs::exists(cache()));
  made({"specs", "-o", "out", "--cache", "mine"});
  EXPECT_FALSE(fs::exists(cache()));
  EXPECT_TRUE(fs::exists(here() / "mine/specs/copy.pack"));
  made({"specs", "-o", "out"});
  EXPECT_TRUE(fs::exists(cache() / "specs/copy.pack"));
  EXPECT_THAT(made({"specs", "-o", "other"}).out, HasSubstr("0 compiled, 6 from the cache"));
}

TEST_F(Program, TheNameSpaceIsThatOfGeneratedCode) {
  made({"specs", "-o", "out", "--namespace", "mine::kernels"});
  EXPECT_THAT(read_text(here() / "out/cpp/copy.h"), HasSubstr("namespace mine::kernels::copy {"));
  EXPECT_THAT(read_text(here() / "out/cpp/blob.S"), HasSubstr("mine_kernels_blob:"));
}

TEST_F(Program, OptimisationsGiveOtherModules) {
  for (const char* how : {"perf", "size", "none"}) made({"specs", "-o", how, "--opt", how});
  const auto blob = [&](const char* how) { return read_text(here() / how / "kernels.blob"); };
  EXPECT_NE(blob("perf"), blob("none"));
  EXPECT_NE(blob("size"), blob("none"));
  EXPECT_EQ(contents(here() / "perf/cpp"), contents(here() / "none/cpp"));
}

TEST_F(Program, TargetsGiveOtherModulesWithTheSameTables) {
  for (const char* target : {"vulkan1.1", "vulkan1.2", "vulkan1.3"}) made({"specs", "-o", target, "--target", target});
  made({"specs", "-o", "default"});
  const auto blob = [&](const char* target) { return read_text(here() / target / "kernels.blob"); };
  EXPECT_NE(blob("vulkan1.1"), blob("vulkan1.2"));
  EXPECT_NE(blob("vulkan1.2"), blob("vulkan1.3"));
  EXPECT_EQ(blob("default"), blob("vulkan1.3"));
  EXPECT_EQ(contents(here() / "vulkan1.1/cpp"), contents(here() / "vulkan1.3/cpp"));
}

// The second word of a module is its version of SPIR-V.
TEST_F(Program, ASpecMayHaveATargetOfItsOwn) {
  write_text(here() / "specs/copy.yaml", std::string(kCopySpec) + "target: vulkan1.1\n");
  const auto version_of_first = [&](const std::string& folder, const std::string& operation) {
    const std::string index = read_text(here() / folder / "spv/index.json");
    const size_t at = index.find(operation + "/");
    const std::string module = read_text(here() / folder / "spv" / index.substr(at, index.find('"', at) - at));
    return module.size() < 8 ? std::string("no module") : module.substr(4, 4);
  };
  made({"specs", "--emit", "spv", "-o", "newest"});
  made({"specs", "--emit", "spv", "-o", "older", "--target", "vulkan1.2"});
  const std::string in_1_3("\0\3\1\0", 4), in_1_5("\0\5\1\0", 4), in_1_6("\0\6\1\0", 4);
  EXPECT_EQ(version_of_first("newest", "copy"), in_1_3);
  EXPECT_EQ(version_of_first("newest", "total"), in_1_6);
  EXPECT_EQ(version_of_first("older", "copy"), in_1_3) << "the spec's line counts more than --target";
  EXPECT_EQ(version_of_first("older", "total"), in_1_5);
}

TEST_F(Program, AnEditedTargetCompilesTheVariantsOfItsSpec) {
  made({"specs", "-o", "out"});
  write_text(here() / "specs/copy.yaml", std::string(kCopySpec) + "target: vulkan1.1\n");
  EXPECT_THAT(made({"specs", "-o", "out"}).out, HasSubstr("4 compiled, 2 from the cache"));
}

TEST_F(Program, AFilterKeepsTheVariantsThatMatch) {
  EXPECT_THAT(made({"specs", "-o", "out", "--filter", "copy.f32.*"}).out, StartsWith("2 specs, 3 variants,"));
  EXPECT_THAT(read_text(here() / "out/MANIFEST.tsv"), Not(HasSubstr("total")));
  EXPECT_THAT(made({"specs", "-o", "out"}).out, StartsWith("2 specs, 6 variants,"));
  fs::remove_all(here() / "specs/reduce");
  fs::remove_all(here() / "templates/reduce");
  EXPECT_THAT(made({"specs", "-o", "out"}).out, HasSubstr("\n1 spec, 4 variants, "));
}

}  // namespace
}  // namespace qgen::tests
