// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "tests/support/expected_text.h"

namespace qgen {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class Files : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "qgen-files-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  std::string folder_;
};

TEST_F(Files, WhatIsWrittenIsRead) {
  const std::string bytes("a\0b\r\n", 5);
  ASSERT_TRUE(write_file(at("deep/er/file"), bytes));
  EXPECT_EQ(*read_file(at("deep/er/file")), bytes);
}

Expected<bool> write_if_changed(const std::string& path, std::string_view bytes) {
  Outputs outputs;
  auto added = outputs.add_if_changed(path, bytes);
  if (!added) return added;
  if (auto done = outputs.commit(); !done) return done.error();
  return added;
}

TEST_F(Files, AnEqualFileKeepsItsTimeStamp) {
  EXPECT_TRUE(*write_if_changed(at("file"), "one"));
  struct stat before = {}, after = {};
  ASSERT_EQ(::stat(at("file").c_str(), &before), 0);
  EXPECT_FALSE(*write_if_changed(at("file"), "one"));
  ASSERT_EQ(::stat(at("file").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_TRUE(*write_if_changed(at("file"), "two"));
  EXPECT_EQ(*read_file(at("file")), "two");
}

TEST_F(Files, ErrorsNameThePath) {
  const auto missing = read_file(at("none"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "cannot read " + at("none") + ": No such file or directory");
  ASSERT_TRUE(write_file(at("plain"), ""));
  const auto below_a_file = write_file(at("plain/file"), "x");
  ASSERT_FALSE(below_a_file);
  EXPECT_THAT(below_a_file.error().message, HasSubstr(at("plain")));
}

TEST_F(Files, ListsAreSortedAndRelative) {
  for (const char* name : {"b", "a/z", "a/b", "c.yaml"}) ASSERT_TRUE(write_file(at(name), ""));
  EXPECT_THAT(*list_files(folder_), ElementsAre("a/b", "a/z", "b", "c.yaml"));
  EXPECT_FALSE(list_files(at("none")));
}

TEST_F(Files, HalvesOfDeadRunsAreRemoved) {
  const std::string live = at("kept." + std::to_string(::getpid()) + "-0.qgen-tmp");
  for (const std::string& name : {live, at("gone.99999999-0.qgen-tmp"), at("other.tmp"), at("x.qgen-tmp")}) {
    ASSERT_TRUE(write_file(name, ""));
  }
  remove_abandoned_files(folder_);
  EXPECT_FALSE(fs::exists(at("gone.99999999-0.qgen-tmp")));
  for (const std::string& name : {live, at("other.tmp"), at("x.qgen-tmp")}) EXPECT_TRUE(fs::exists(name)) << name;
}

// The names in the folder, as a shell would show them.
std::vector<std::string> entries(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// The end of a process that this test forks: the exit code, or minus the signal.
int in_a_process(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST_F(Files, OutputsAreWrittenTogetherOrNotAtAll) {
  ASSERT_TRUE(write_file(at("a"), "old"));
  {
    Outputs outputs;
    ASSERT_TRUE(outputs.add(at("a"), "new"));
    ASSERT_TRUE(outputs.add(at("b"), "new"));
    ASSERT_TRUE(outputs.add(at("made/for/c"), "new", Outputs::Folder::is_made));
    EXPECT_EQ(*read_file(at("a")), "old");
    EXPECT_FALSE(outputs.add(at("missing/d"), "new"));
  }
  EXPECT_THAT(entries(folder_), ElementsAre("a")) << "nor does a folder stay";
  EXPECT_EQ(*read_file(at("a")), "old");
  Outputs outputs;
  ASSERT_TRUE(outputs.add(at("a"), "new"));
  ASSERT_TRUE(outputs.add(at("b"), "new"));
  ASSERT_TRUE(outputs.commit());
  EXPECT_THAT(entries(folder_), ElementsAre("a", "b"));
  EXPECT_EQ(*read_file(at("a")) + *read_file(at("b")), "newnew");
}

// A stream is the one output whose bytes can fail when all else is ready.
TEST_F(Files, AFullDeviceKeepsTheOtherOutputs) {
  ASSERT_TRUE(write_file(at("a"), "old"));
  Outputs outputs;
  ASSERT_TRUE(outputs.add(at("a"), "new"));
  ASSERT_TRUE(outputs.add("/dev/full", "new"));
  const auto done = outputs.commit();
  ASSERT_FALSE(done);
  EXPECT_TEXT(done.error().message, "cannot write /dev/full: No space left on device");
  EXPECT_EQ(*read_file(at("a")), "old");
}

TEST_F(Files, ARenameThatFailsTakesTheOthersBack) {
  ASSERT_TRUE(write_file(at("a"), "old"));
  fs::create_directory(at("folder"));
  Outputs outputs;
  for (const char* name : {"a", "b", "folder/c"}) ASSERT_TRUE(outputs.add(at(name), "new"));
  fs::remove(at("folder"));
  EXPECT_FALSE(outputs.commit());
  EXPECT_THAT(entries(folder_), ElementsAre("a"));
  EXPECT_EQ(*read_file(at("a")), "old");
}

TEST_F(Files, ALimitOnTheSizeOfFilesKeepsTheOldFile) {
  ASSERT_TRUE(write_file(at("a"), "old"));
  const int code = in_a_process([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    Outputs outputs;
    if (!outputs.add(at("b"), "small")) ::_exit(1);
    const auto added = outputs.add(at("a"), std::string(5000, 'x'));
    ::_exit(!added && added.error().message == "cannot write " + at("a") + ": File too large" ? 7 : 2);
  });
  EXPECT_EQ(code, 7);
  EXPECT_THAT(entries(folder_), ElementsAre("a"));
  EXPECT_EQ(*read_file(at("a")), "old");
}

// Killed with everything written and nothing in place: the worst moment, except for the renames.
TEST_F(Files, AKillLeavesTheOldFileAndNothingElse) {
  ASSERT_TRUE(write_file(at("a"), "old"));
  const int code = in_a_process([&] {
    Outputs outputs;
    if (outputs.add(at("a"), std::string(100'000, 'x')) && outputs.add(at("b"), "new")) ::raise(SIGKILL);
  });
  EXPECT_EQ(code, -SIGKILL);
  EXPECT_THAT(entries(folder_), ElementsAre("a"));
  EXPECT_EQ(*read_file(at("a")), "old");
}

TEST_F(Files, MoreOutputsThanMayBeOpenAreWrittenToo) {
  const int code = in_a_process([&] {
    const rlimit limit{24, 24};
    ::setrlimit(RLIMIT_NOFILE, &limit);
    Outputs outputs;
    for (int i = 0; i < 100; ++i) {
      if (!outputs.add(at("file" + std::to_string(i)), std::to_string(i))) ::_exit(1);
    }
    ::_exit(outputs.commit() ? 0 : 2);
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(entries(folder_).size(), 100u);
  EXPECT_EQ(*read_file(at("file99")), "99");
}

TEST_F(Files, WhatIsNoRegularFileIsWrittenThrough) {
  for (const char* device : {"/dev/null", "/dev/fd/1"}) {
    struct stat before = {}, after = {};
    ASSERT_EQ(::stat(device, &before), 0);
    ASSERT_TRUE(write_file(device, ""));
    ASSERT_EQ(::stat(device, &after), 0);
    EXPECT_EQ(before.st_rdev, after.st_rdev) << device;
    EXPECT_EQ(before.st_ino, after.st_ino) << device;
  }
}

TEST_F(Files, AnOpenDescriptorIsWrittenWhereItStands) {
  const int file = ::open(at("log").c_str(), O_RDWR | O_CREAT, 0666);
  ASSERT_EQ(::write(file, "first ", 6), 6);
  ASSERT_TRUE(write_file("/dev/fd/" + std::to_string(file), "second"));
  ::close(file);
  EXPECT_EQ(*read_file(at("log")), "first second");
}

TEST_F(Files, ANamedPipeNeedsAReader) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0666), 0);
  const auto alone = write_file(at("pipe"), "x");
  ASSERT_FALSE(alone);
  EXPECT_TEXT(alone.error().hint, "start the reader of a named pipe first");
  const int reader = ::open(at("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_TRUE(write_file(at("pipe"), "x"));
  char byte = 0;
  EXPECT_EQ(::read(reader, &byte, 1), 1);
  ::close(reader);
  struct stat status = {};
  ASSERT_EQ(::stat(at("pipe").c_str(), &status), 0);
  EXPECT_TRUE(S_ISFIFO(status.st_mode));
}

TEST_F(Files, LinksAreFollowedAndStay) {
  ASSERT_TRUE(write_file(at("folder/target"), "old"));
  fs::create_symlink("folder/target", at("link"));
  fs::create_symlink("folder/new", at("dangling"));
  fs::create_symlink("circle", at("circle"));
  ASSERT_TRUE(write_file(at("link"), "new"));
  ASSERT_TRUE(write_file(at("dangling"), "made"));
  EXPECT_TRUE(fs::is_symlink(at("link")) && fs::is_symlink(at("dangling")));
  EXPECT_EQ(*read_file(at("folder/target")), "new");
  EXPECT_EQ(*read_file(at("folder/new")), "made");
  const auto circle = write_file(at("circle"), "x");
  ASSERT_FALSE(circle);
  EXPECT_EQ(circle.error().kind, Error::Kind::not_found);
}

TEST_F(Files, TwoOutputsOfOnePlaceAreRefused) {
  ASSERT_TRUE(write_file(at("folder/a"), "old"));
  fs::create_symlink("a", at("folder/b"));
  Outputs outputs;
  ASSERT_TRUE(outputs.add(at("folder/../folder/a"), "one"));
  EXPECT_THAT(outputs.add(at("folder/b"), "two").error().message, HasSubstr("two outputs of this command go there"));
}

TEST_F(Files, AnOutputThatIsAsItShouldBeHasItsPlace) {
  ASSERT_TRUE(write_file(at("folder/a"), "old"));
  Outputs outputs;
  const auto added = outputs.add_if_changed(at("folder/a"), "old");
  ASSERT_TRUE(added);
  EXPECT_FALSE(*added);
  EXPECT_THAT(outputs.add(at("folder/./a"), "new").error().message, HasSubstr("two outputs of this command go there"));
  ASSERT_TRUE(outputs.commit());
  EXPECT_EQ(*read_file(at("folder/a")), "old");
}

TEST_F(Files, FilesThatAreKeptAreNotReplaced) {
  ASSERT_TRUE(write_file(at("folder/a"), "old"));
  fs::create_symlink("a", at("folder/b"));
  Outputs outputs;
  outputs.keep(at("folder/a"), "this command reads it");
  for (const char* name : {"folder/a", "folder/b", "folder/../folder/a"}) {
    EXPECT_THAT(outputs.add(at(name), "new").error().message, HasSubstr(std::string(name) + ": this command reads it"));
    EXPECT_FALSE(outputs.add_if_changed(at(name), "old"));
  }
  ASSERT_TRUE(outputs.add(at("folder/c"), "new"));
  ASSERT_TRUE(outputs.commit());
  EXPECT_EQ(*read_file(at("folder/a")), "old");
}

TEST_F(Files, TheOldFilesPermissionsStay) {
  ASSERT_TRUE(write_file(at("script"), "old"));
  fs::permissions(at("script"), fs::perms(0751));
  ASSERT_TRUE(write_file(at("script"), "new"));
  EXPECT_EQ(fs::status(at("script")).permissions(), fs::perms(0751));
}

TEST_F(Files, TheLongestNamesAreWritten) {
  const std::string longest(255, 'n');
  ASSERT_TRUE(write_file(at(longest), "x"));
  const auto longer = write_file(at(longest + "n"), "x");
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().kind, Error::Kind::not_found) << "the name is wrong, not the machine";
}

TEST_F(Files, AFolderInTheWayIsTold) {
  fs::create_directory(at("folder"));
  for (const auto& error : {write_file(at("folder"), "x").error(), read_file(at("folder")).error()}) {
    EXPECT_THAT(error.message, HasSubstr(at("folder") + ": it is a folder"));
    EXPECT_EQ(error.kind, Error::Kind::not_found);
  }
}

// A pipe that nobody writes to would be waited for without end.
TEST_F(Files, OnlyRegularFilesAreRead) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0666), 0);
  EXPECT_EQ(read_file(at("pipe")).error().message, "cannot read " + at("pipe") + ": it is a named pipe");
  EXPECT_TEXT(read_file("/dev/zero").error().message, "cannot read /dev/zero: it is a device");
  ASSERT_TRUE(write_file(at("large"), "12345"));
  EXPECT_EQ(*read_file(at("large"), 5), "12345");
  EXPECT_EQ(read_file(at("large"), 4).error().message, "cannot read " + at("large") + ": it has more than 4 bytes");
}

// As a shell passes `<(command)`.
TEST_F(Files, DescriptorsThatWereHandedOverAreRead) {
  int ends[2] = {};
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "through a pipe", 14), 14);
  ::close(ends[1]);
  fs::create_symlink("/dev/fd/" + std::to_string(ends[0]), at("link"));
  EXPECT_EQ(*read_file(at("link")), "through a pipe");
  ::close(ends[0]);
}

TEST_F(Files, TheFolderForCachesIsNotRelative) {
  const char* const variables[] = {"XDG_CACHE_HOME", "HOME"};
  std::vector<std::optional<std::string>> kept;
  for (const char* name : variables) {
    const char* const value = ::getenv(name);
    kept.push_back(value ? std::optional<std::string>(value) : std::nullopt);
  }
  ::setenv("HOME", "/home/me", 1);
  ::setenv("XDG_CACHE_HOME", "/caches", 1);
  EXPECT_EQ(user_cache_folder(), "/caches/qgen");
  for (const char* value : {"", "caches"}) {
    ::setenv("XDG_CACHE_HOME", value, 1);
    EXPECT_EQ(user_cache_folder(), "/home/me/.cache/qgen") << value;
  }
  ::unsetenv("HOME");
  EXPECT_EQ(user_cache_folder(), std::nullopt);
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) ::setenv(variables[i], kept[i]->c_str(), 1);
    else ::unsetenv(variables[i]);
  }
}

TEST_F(Files, NamesAreShownEscaped) {
  EXPECT_EQ(read_file(at("a\x1b[2J\nb")).error().message,
            "cannot read " + at("a\\x1b[2J\\nb") + ": No such file or directory");
}

}  // namespace
}  // namespace qgen
