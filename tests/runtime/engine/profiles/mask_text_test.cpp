// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/profiles/mask_text.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/support/expected_text.h"
#include "tests/support/source_folder.h"

namespace qgen::profiles {
namespace {

class MaskTextTest : public ::testing::Test {
 protected:
  void SetUp() override { unsetenv(kMaskVariable); }
  void TearDown() override { unsetenv(kMaskVariable); }

  static void set(const std::string& text) { setenv(kMaskVariable, text.c_str(), 1); }
  static std::string error_of(const MaskText& text) {
    const auto mask = read_mask(text);
    return mask ? "no error" : to_text(mask.error());
  }
  static std::string file(const std::string& name) { return tests::source_folder() + "/devices/" + name + ".yaml"; }
};

TEST_F(MaskTextTest, NothingIsNoMask) {
  const auto mask = read_mask({});
  ASSERT_TRUE(mask);
  EXPECT_TRUE(mask->is_empty());
}

TEST_F(MaskTextTest, ReadsOptions) {
  const auto mask = read_mask({.as = file("mali-g78"),
                               .without = {"shader_int8", "shader_int64"},
                               .limits = {"shared_memory_bytes=16384", "workgroup_size=128x64x32", "vulkan=1.2"}});
  ASSERT_TRUE(mask) << to_text(mask.error());
  EXPECT_EQ(mask->without, bit(Feature::shader_int8) | bit(Feature::shader_int64));
  ASSERT_EQ(mask->limits.size(), 2U);
  EXPECT_EQ(mask->limits[0].value[0], 16384U);
  EXPECT_EQ(mask->limits[1].value, (LimitValue{128, 64, 32}));
  EXPECT_EQ(mask->api_version, 1U << 22U | 2U << 12U);
  EXPECT_TRUE(mask->as);
}

TEST_F(MaskTextTest, ReadsTheVariableToo) {
  set("as=" + file("mali-g78") + ",without=shader_int64,image_extent=256");
  const auto mask = read_mask({.without = {"shader_int8"}});
  ASSERT_TRUE(mask) << to_text(mask.error());
  EXPECT_TRUE(mask->as);
  EXPECT_EQ(mask->without, bit(Feature::shader_int8) | bit(Feature::shader_int64));
  EXPECT_EQ(mask->limits.size(), 1U);
}

TEST_F(MaskTextTest, AnOptionsDeviceReplacesTheVariables) {
  set("as=" + file("mali-g78"));
  const auto mask = read_mask({.as = file("apple-m1")});
  ASSERT_TRUE(mask) << to_text(mask.error());
  EXPECT_THAT(mask->as->name, ::testing::HasSubstr("M1"));
}

TEST_F(MaskTextTest, SaysWhatIsWrong) {
  EXPECT_TEXT(error_of({.without = {"shader_int9"}}),
              "--without: there is no feature 'shader_int9'\n"
              "  hint: did you mean 'shader_int8'?");
  EXPECT_TEXT(error_of({.limits = {"shared_bytes=4"}}),
              "--limit: there is no limit 'shared_bytes'\n"
              "  hint: devices/README.md lists features and limits");
  EXPECT_TEXT(error_of({.limits = {"bound_sets"}}),
              "--limit: bound_sets is ''\n"
              "  hint: give a number from 1 to 4294967295");
  EXPECT_TEXT(error_of({.limits = {"bound_sets=0"}}),
              "--limit: bound_sets is '0'\n"
              "  hint: give a number from 1 to 4294967295");
  EXPECT_TEXT(error_of({.limits = {"bound_sets=4x4x4"}}),
              "--limit: bound_sets is '4x4x4'\n"
              "  hint: give a number from 1 to 4294967295");
  EXPECT_TEXT(error_of({.limits = {"vulkan=new"}}),
              "--limit: vulkan is 'new'\n"
              "  hint: give a version, such as vulkan=1.2");
  EXPECT_THAT(error_of({.as = file("no-such-device")}), ::testing::HasSubstr("no-such-device"));
}

TEST_F(MaskTextTest, SaysThatTheVariableIsWrong) {
  set("without=shader_int8,");
  EXPECT_TEXT(error_of({}),
              "QGEN_DEVICE_MASK: there is no limit ''\n"
              "  hint: devices/README.md lists features and limits");
}

}  // namespace
}  // namespace qgen::profiles
