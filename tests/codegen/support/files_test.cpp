// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/support/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

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

}  // namespace
}  // namespace qgen
