// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/nearest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
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

TEST(Nearest, ListsTheNearestWords) {
  const std::vector<std::string_view> words = {"relu6", "sigmoid", "relu", "hardswish", "elu"};
  EXPECT_EQ(nearest("rel", words, 3), (std::vector<std::string_view>{"relu", "elu", "relu6"}));
  EXPECT_EQ(nearest("", words, 1), std::vector<std::string_view>{"elu"});
  EXPECT_EQ(nearest("relu", words, 9).size(), 5U);
  EXPECT_TRUE(nearest("relu", {}, 3).empty());
}

// The table itself, without a band.
size_t plain_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> all(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        all[i][j] = i + j;
        continue;
      }
      all[i][j] = std::min({all[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), all[i - 1][j] + 1, all[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        all[i][j] = std::min(all[i][j], all[i - 2][j - 2] + 1);
    }
  }
  return all[a.size()][b.size()];
}

// The band loses no distance that counts.
TEST(Nearest, IsTheLeastDistance) {
  std::mt19937 random(1);
  const auto word = [&] {
    std::string text;
    for (size_t i = random() % 12; i > 0; --i) text += static_cast<char>('a' + random() % 3);
    return text;
  };
  for (int turn = 0; turn < 3000; ++turn) {
    const std::string written = word();
    std::vector<std::string> words;
    for (int i = 0; i < 5; ++i) words.push_back(word());
    const std::vector<std::string_view> candidates(words.begin(), words.end());
    size_t least = std::max<size_t>(written.size() / 3, 1) + 1;
    std::string_view best;
    for (const std::string_view candidate : candidates) {
      const size_t distance = plain_distance(written, candidate);
      if (distance > least || (distance == least && (best.empty() || candidate >= best))) continue;
      least = distance;
      best = candidate;
    }
    EXPECT_EQ(nearest(written, candidates), best) << "'" << written << "' of " << ::testing::PrintToString(words);
  }
}

}  // namespace
}  // namespace qgen
