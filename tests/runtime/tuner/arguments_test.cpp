// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What qgen-tune's command line says of itself, and what it takes.
#include "runtime/tuner/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "registry.h"

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

TEST(TuneArguments, MergesTwoFilesAndMore) {
  const auto three = parsed({"merge", "a.yaml", "b.yaml", "c.yaml"});
  ASSERT_TRUE(std::holds_alternative<Arguments>(three));
  EXPECT_EQ(std::get<Arguments>(three).files, (std::vector<std::string>{"a.yaml", "b.yaml", "c.yaml"}));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(std::get<int>(parsed({"merge", "a.yaml"})), kWrongInput);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("FILE"));
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(std::get<int>(parsed({"merge", "--help"})), kDone);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(), HasSubstr(" FILE ... "));
}

}  // namespace
}  // namespace qgen::tuner
