// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Each tool gives the same result in a worker as in the calling process.
#include "codegen/workers/module_tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/codegen/compile/shaders.h"

namespace qgen::workers {
namespace {

using compile::Optimization;
using Rows = std::vector<std::vector<uint32_t>>;

class Tools : public testing::Test {
 protected:
  // A slow machine with sanitizers needs more than the default time, and these tests are about other limits.
  const std::unique_ptr<ProcessPool> pool_ = make_pool(2, {.cpu_seconds = 100});
  const ModuleTools here_ = in_this_process();
  const ModuleTools there_ = in_workers(*pool_);
};

std::string text_of(const Refusal& refusal) {
  std::string text;
  for (const Fault& fault : refusal.faults) {
    text += std::to_string(fault.line) + ": " + fault.message + "|" + fault.expected + "|" + fault.hint + "\n";
  }
  return text + (refusal.is_cut_off ? "cut off\n" : "");
}

TEST_F(Tools, MakeTheSameModuleInAWorker) {
  for (const std::string_view glsl : {tests::kReduce, tests::kTexture, tests::kCooperative, tests::kCooperative2}) {
    const auto here = here_.compile(glsl, Optimization::performance);
    const auto there = there_.compile(glsl, Optimization::performance);
    ASSERT_TRUE(here && there);
    EXPECT_EQ(*here, *there);
  }
}

TEST_F(Tools, ReflectTheSameInAWorker) {
  const auto spirv = here_.compile(tests::kReduce, Optimization::performance);
  ASSERT_TRUE(spirv);
  const Rows rows = {{64}, {128}, {256}};
  const auto here = here_.reflect(*spirv, rows);
  const auto there = there_.reflect(*spirv, rows);
  ASSERT_TRUE(here && there);
  EXPECT_EQ(reflect::to_text(here->interface), reflect::to_text(there->interface));
  EXPECT_EQ(here->stripped, there->stripped);
  ASSERT_EQ(there->resources.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(there->resources[i].workgroup[0], rows[i][0]);
    EXPECT_EQ(there->resources[i].shared_bytes, here->resources[i].shared_bytes);
  }
}

TEST_F(Tools, TranslateTheSameInAWorker) {
  const auto spirv = here_.compile(tests::kReduce, Optimization::performance);
  ASSERT_TRUE(spirv);
  for (const auto language : {reflect::Language::msl, reflect::Language::hlsl}) {
    const auto here = here_.translate(*spirv, language);
    const auto there = there_.translate(*spirv, language);
    ASSERT_EQ(bool(here), bool(there));
    if (here) EXPECT_EQ(*here, *there);
    else EXPECT_EQ(here.error().reason, there.error().reason);
  }
}

TEST_F(Tools, RefuseInTheSameWordsInAWorker) {
  for (const std::string_view glsl :
       {"#version 450\nvoid main() {\n  acc += 1;\n}\n", "void main() {}\n", "#version 99999\n", "", "#version"}) {
    const auto here = here_.compile(glsl, Optimization::none);
    const auto there = there_.compile(glsl, Optimization::none);
    ASSERT_TRUE(!here && !there) << glsl;
    EXPECT_EQ(text_of(here.error()), text_of(there.error()));
  }
  const auto here = here_.reflect({1, 2, 3}, {{}});
  const auto there = there_.reflect({1, 2, 3}, {{}});
  ASSERT_TRUE(!here && !there);
  EXPECT_EQ(text_of(here.error()), text_of(there.error()));
}

TEST_F(Tools, SayWhatLimitATextMet) {
  std::string chain =
      "#version 450\nlayout(local_size_x = 1) in;\nlayout(binding = 0) buffer B { float b; };\n"
      "void main() { b = b";
  for (int i = 0; i < 400'000; ++i) chain += "+b";
  const auto refused = there_.compile(chain + "; }\n", Optimization::performance);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is_cut_off);
  EXPECT_THAT(text_of(refused.error()),
              testing::HasSubstr("0: the compiler runs out of its stack of 64 MiB||something is"));
}

}  // namespace
}  // namespace qgen::workers
