// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Killed, parallel and interrupted runs never leave a folder or cache from which the next run makes other bytes.
#include <unistd.h>

#include <random>

#include "tests/codegen/program/run_qgen.h"

namespace qgen::tests {
namespace {

using testing::HasSubstr;

class Robustness : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    made({"specs", "-o", "expected", "--no-cache"});
    expected_ = contents(here() / "expected");
  }

  // Makes all work necessary again, now and then only some of it.
  void forget() {
    if (random_() % 2 == 0) fs::remove_all(here() / "out");
    if (random_() % 2 == 0) fs::remove_all(cache());
    fs::remove_all(cache() / "runs");
  }

  void expect_same_bytes() {
    EXPECT_EQ(contents(here() / "out"), expected_) << "seed " << seed_;
    EXPECT_EQ(made({"specs", "-o", "out", "--check", "-q"}).out, "");
  }

  const unsigned seed_ = std::random_device{}();
  std::mt19937 random_{seed_};
  std::map<std::string, std::string> expected_;
};

TEST_F(Robustness, AKilledRunLeavesNothingThatMatters) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  made({"specs", "-o", "out"});
  const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin);
  int killed = 0;
  for (int round = 0; round < 20; ++round) {
    forget();
    Running running = start({"specs", "-o", "out", "-j", "2"});
    std::this_thread::sleep_for(whole * (random_() % 1000) / 1000);
    running.kill();
    killed += running.wait().code == -SIGKILL ? 1 : 0;
    made({"specs", "-o", "out"});
    expect_same_bytes();
  }
  EXPECT_GT(killed, 0);
}

// A kill between the writing of a file and its renaming.
TEST_F(Robustness, HalfWrittenFilesOfTheDeadAreRemoved) {
  made({"specs", "-o", "out"});
  const std::string half = ".99999999-0.qgen-tmp";
  for (const char* name : {"out/MANIFEST.tsv", "out/cpp/copy.h"}) write_text(here() / (name + half), "half");
  write_text(cache() / ("specs/copy.pack" + half), "half");
  fs::remove_all(cache() / "runs");
  made({"specs", "-o", "out"});
  expect_same_bytes();
  for (const auto& [name, bytes] : contents(cache())) EXPECT_THAT(name, Not(HasSubstr("qgen-tmp")));
}

// Nor does a run remove a file that another is about to rename, as if no spec made it any more.
TEST_F(Robustness, HalfWrittenFilesOfTheLivingStay) {
  made({"specs", "-o", "out"});
  const fs::path half = here() / ("out/cpp/copy.h." + std::to_string(::getpid()) + "-0.qgen-tmp");
  fs::copy_file(here() / "out/cpp/copy.h", half);
  fs::remove_all(cache() / "runs");
  const Answer answer = made({"specs", "-o", "out"});
  EXPECT_TRUE(fs::exists(half)) << answer.out;
  fs::remove(half);
  expect_same_bytes();
}

TEST_F(Robustness, RunsAtOnceInOneFolderDoNotDisturbEachOther) {
  for (int round = 0; round < 5; ++round) {
    forget();
    std::vector<Running> running;
    for (const char* threads : {"1", "2", "3"}) running.push_back(start({"specs", "-o", "out", "-j", threads}));
    for (Running& one : running) {
      const Answer answer = one.wait();
      EXPECT_EQ(answer.code, 0) << answer.err;
      EXPECT_THAT(answer.err, Not(HasSubstr("warning")));
    }
    expect_same_bytes();
  }
}

TEST_F(Robustness, ADamagedCacheNeverChangesTheOutput) {
  const auto flip = [&](std::string bytes) {
    bytes[random_() % bytes.size()] ^= static_cast<char>(1u << random_() % 8);
    return bytes;
  };
  const auto cut = [&](const std::string& bytes) { return bytes.substr(0, random_() % bytes.size()); };
  const auto grow = [&](const std::string& bytes) { return bytes + bytes.substr(random_() % bytes.size()); };
  made({"specs", "-o", "out"});
  const auto good = contents(cache());
  ASSERT_EQ(good.size(), 3u) << "a pack for each spec, and the memo";
  for (const auto& [name, bytes] : good) {
    for (const std::string& bad : {flip(bytes), flip(bytes), cut(bytes), cut(bytes), grow(bytes), std::string()}) {
      for (const auto& [path, whole] : good) write_text(cache() / path, whole);
      write_text(cache() / name, bad);
      fs::remove_all(here() / "out");
      made({"specs", "-o", "out"});
      EXPECT_EQ(contents(here() / "out"), expected_) << name << ", seed " << seed_;
    }
  }
}

// Packs that carry each other's names are whole, and still must not be believed.
TEST_F(Robustness, SwappedCacheFilesNeverChangeTheOutput) {
  made({"specs", "-o", "out"});
  fs::rename(cache() / "specs/copy.pack", cache() / "specs/kept");
  fs::rename(cache() / "specs/total.pack", cache() / "specs/copy.pack");
  fs::rename(cache() / "specs/kept", cache() / "specs/total.pack");
  fs::remove_all(cache() / "runs");
  fs::remove_all(here() / "out");
  EXPECT_THAT(made({"specs", "-o", "out"}).out, HasSubstr("6 compiled, 0 from the cache"));
  expect_same_bytes();
}

TEST_F(Robustness, ACacheThatCannotBeWrittenIsAWarning) {
  write_text(here() / "file", "");
  const Answer answer = made({"specs", "-o", "out", "--cache", "file/cache"});
  EXPECT_THAT(answer.err,
              HasSubstr("qgen: warning: the cache was not written: cannot make the folder file/cache/specs"));
  expect_same_bytes();
}

// A limit on the size of files stands for a disk that is full: it holds for root too, and needs no mount.
TEST_F(Robustness, AFullDiskIsTheMachinesFaultAndNamesThePath) {
  const Answer answer = qgen({"specs", "-o", "out", "--no-cache"}, {.most_file_bytes = 3000});
  EXPECT_EQ(answer.code, 3);
  EXPECT_THAT(answer.err, HasSubstr("qgen: error: cannot write out/cpp/copy.cpp: File too large\n  hint: "));
  EXPECT_FALSE(fs::exists(here() / "out")) << "all or none";
  made({"specs", "-o", "out"});
  expect_same_bytes();
}

TEST_F(Robustness, ABrokenPipeEndsARunAndNothingElse) {
  made({"specs", "-o", "out"});
  const std::string command =
      "cd " + here().string() + " && " + program() + " specs --stop-after compile --no-cache | head -1";
  EXPECT_EQ(std::system((command + " >/dev/null").c_str()), 0);
  expect_same_bytes();
}

}  // namespace
}  // namespace qgen::tests
