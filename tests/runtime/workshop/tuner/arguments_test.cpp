// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The command line of qgen-tune: --help and the accepted arguments.
#include "runtime/workshop/tuner/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/date.h"
#include "registry.h"
#include "tests/support/expected_text.h"

namespace qgen::tuner {
namespace {

using ::testing::HasSubstr;

std::variant<Arguments, int> parsed(std::vector<std::string> words) {
  words.insert(words.begin(), "qgen-tune");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  return parse_arguments(static_cast<int>(pointers.size()), pointers.data(),
                         {.library = {.name = "qgen-tune", .kernels = generated::library()}});
}

TEST(TuneArguments, ForgetsWhatIsOlder) {
  const auto older_than = [](std::vector<std::string> words) {
    words.insert(words.begin(), "forget");
    return std::get<Arguments>(parsed(words)).older_than;
  };
  EXPECT_EQ(older_than({"--older", "2026-11-01"}), "2026-11-01");
  EXPECT_EQ(older_than({"q8ta_linear", "--older", "2026-11-01"}), "2026-11-01");
  EXPECT_EQ(older_than({"--older", "0"}), days_ago(0));
  EXPECT_EQ(older_than({"--all", "--older", "30"}), days_ago(30));
  for (const char* odd : {"2026-13-45", "-3", "99999", "nan", "30 days", ""}) {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(std::get<int>(parsed({"forget", "--older", odd})), kWrongInput) << odd;
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::StartsWith("qgen-tune: --older: '")) << odd;
  }
}

// One line that is true of this command line, and a hint.
TEST(TuneArguments, ReportsWhatIsWrong) {
  const auto misuse = [](const std::vector<std::string>& words) {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(std::get<int>(parsed(words)), kWrongInput);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_TEXT(misuse({"--stratgy", "batches"}),
              "qgen-tune: unknown option '--stratgy'\n  hint: did you mean '--strategy'?\n");
  EXPECT_TEXT(misuse({"--colour=red"}),
              "qgen-tune: unknown option '--colour'\n  hint: qgen-tune --help shows the options\n");
  EXPECT_TEXT(misuse({"mrege", "a.yaml"}), "qgen-tune: unknown command 'mrege'\n  hint: did you mean 'merge'?\n");
  EXPECT_TEXT(misuse({"nonsense"}),
              "qgen-tune: unknown command 'nonsense'\n"
              "  hint: the commands are show, export, import, merge, forget, fit, report\n");
  EXPECT_TEXT(misuse({"export", "extra"}),
              "qgen-tune: unexpected argument 'extra'\n  hint: qgen-tune export --help shows the options\n");
  EXPECT_TEXT(misuse({"--strategy", "best"}),
              "qgen-tune: --strategy: 'best' is not one of auto, exhaustive, batches\n"
              "  hint: qgen-tune --help shows the options\n");
  EXPECT_TEXT(misuse({"--out"}), "qgen-tune: --out needs a value\n  hint: qgen-tune --help shows the options\n");
  EXPECT_TEXT(misuse({"merge"}), "qgen-tune: FILE is required\n  hint: qgen-tune merge --help shows the options\n");
  EXPECT_TEXT(misuse({"--budget", "10", "--budget", "20"}),
              "qgen-tune: --budget can be given only once\n"
              "  hint: qgen-tune --help shows the options\n");
}

TEST(TuneArguments, MergesOneFileAndMore) {
  const auto three = parsed({"merge", "a.yaml", "b.yaml", "c.yaml"});
  ASSERT_TRUE(std::holds_alternative<Arguments>(three));
  EXPECT_EQ(std::get<Arguments>(three).files, (std::vector<std::string>{"a.yaml", "b.yaml", "c.yaml"}));
  EXPECT_TRUE(std::holds_alternative<Arguments>(parsed({"merge", "a.yaml"}))) << "a fleet may have one result";
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(std::get<int>(parsed({"merge"})), kWrongInput);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("FILE"));
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(std::get<int>(parsed({"merge", "--help"})), kDone);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(), HasSubstr(" FILE ... "));
}

TEST(TuneArguments, TheOlderWordForBatchesIsAccepted) {
  for (const char* word : {"batches", "halving"})
    EXPECT_EQ(std::get<Arguments>(parsed({"--strategy", word})).search.strategy, Strategy::batches) << word;
}

TEST(TuneArguments, NeedAFileForTheResultOfAPart) {
  const auto part = parsed({"--shard", "3/8", "--out", "three.yaml"});
  ASSERT_TRUE(std::holds_alternative<Arguments>(part));
  EXPECT_EQ(std::get<Arguments>(part).shard, (Shard{3, 8}));
  EXPECT_EQ(store_path(std::get<Arguments>(part)), "three.yaml.part.sqlite") << "not the store of this user";
  EXPECT_EQ(store_path(std::get<Arguments>(parsed({"--out", "a.yaml", "--store", "b.sqlite"}))), "b.sqlite");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(std::get<int>(parsed({"--shard", "3/8"})), kWrongInput);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("needs --out"));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(std::get<int>(parsed({"--shard", "9/8", "--out", "a.yaml"})), kWrongInput);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("'9/8' is no part"));
}

}  // namespace
}  // namespace qgen::tuner
