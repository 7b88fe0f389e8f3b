// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace qgen {
namespace {

struct NearestCase {
  std::string_view written;
  std::vector<std::string_view> candidates;
  std::string_view expected;
};

const NearestCase kCases[] = {
    {"vce", {"vec", "width"}, "vec"},
    {"vce", {"vcf", "vca"}, "vca"},
    {"acb", {"abcd", "abc"}, "abc"},
    {"vec", {"vec", "vea"}, "vec"},
    {"x", {"y"}, "y"},
    {"x", {"yz"}, ""},
    {"", {"a"}, "a"},
    {"width", {}, ""},
    {"widht", {"height", "width"}, "width"},
    {"op.f32.vec4", {"op.f32.vec1", "op.f16.vec4", "op.f32.vec4.slow"}, "op.f32.vec1"},
    {"completely", {"different"}, ""},
};

TEST(Nearest, FindsTheWordThatWasMeant) {
  for (const NearestCase& c : kCases) EXPECT_EQ(nearest(c.written, c.candidates), c.expected) << c.written;
}

}  // namespace
}  // namespace qgen
