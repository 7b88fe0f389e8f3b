// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/fitting/write_constants.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "common/files.h"
#include "tests/support/expected_text.h"

namespace qgen::fitting {
namespace {

const std::vector<FittedConstant> kConstants = {
    {.spec = "tiles", .name = "tile_us", .before = 0.4, .after = 0.372},
    {.spec = "tiles", .name = "step_us", .before = 0.09, .after = 1.2e-7},
    {.spec = "tiles", .name = "kept", .before = 5, .after = 5},
};

struct TextCase {
  std::string_view before, after;
};

TEST(WithConstants, ChangesTheNumbersAndNothingElse) {
  constexpr TextCase kCases[] = {
      {"fit: {tile_us: 0.4, step_us: 0.09, kept: 5.00}   # 0.4 and 0.09\ncost: tile_us\n",
       "fit: {tile_us: 0.372, step_us: 1.2e-07, kept: 5.00}   # 0.4 and 0.09\ncost: tile_us\n"},
      {"a: 0.4\nfit:\n  step_us:   0.09 # é\n\n  kept: 5\n  'tile_us' : \"0.4\"\ngrid: [f(a, b), 1]\n",
       "a: 0.4\nfit:\n  step_us:   1.2e-07 # é\n\n  kept: 5\n  'tile_us' : \"0.372\"\ngrid: [f(a, b), 1]\n"},
      {"# é\nfit: {step_us: 2^-4, kept: 5,\n  tile_us:\n    0.4}",
       "# é\nfit: {step_us: 1.2e-07, kept: 5,\n  tile_us:\n    0.372}"},
      {"fit:\n  tile_us: {value: 0.4, unit: us, help: of 0.4}\n  step_us: 0.09\n  kept: {value: 5, unit: us, help: "
       "it}\n",
       "fit:\n  tile_us: {value: 0.372, unit: us, help: of 0.4}\n  step_us: 1.2e-07\n  kept: {value: 5, unit: us, "
       "help: it}\n"},
      {"fit: [waits, {step_us: 0.09, kept: 5}, {tile_us: 0.4}]\n",
       "fit: [waits, {step_us: 1.2e-07, kept: 5}, {tile_us: 0.372}]\n"},
  };
  for (const TextCase& row : kCases) {
    const auto text = with_constants(row.before, "tiles.yaml", kConstants);
    ASSERT_TRUE(text) << to_text(text.error());
    EXPECT_EQ(*text, row.after);
  }
}

TEST(WithConstants, SaysWhatIsWrong) {
  const auto message = [](std::string_view text) {
    return with_constants(text, "tiles.yaml", kConstants).error().message;
  };
  EXPECT_TEXT(message("cost: 1\n"), "tiles.yaml: the spec has no 'fit'");
  EXPECT_TEXT(message("cost: 1\nfit: {step_us: 1}\n"), "tiles.yaml:2:6: 'fit' has no number 'tile_us'");
  EXPECT_TEXT(message("fit: [waits, {step_us: 1}]\n"), "tiles.yaml:1:6: 'fit' has no number 'tile_us'");
  EXPECT_TEXT(message("fit: waits\n"), "tiles.yaml: the spec has no 'fit'");
  EXPECT_EQ(message("cost: [1\n").substr(0, 11), "tiles.yaml:");
}

TEST(WriteConstants, FindsTheSpecs) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "qgen_write_constants";
  std::filesystem::remove_all(folder);
  const std::string spec = folder / "deep/tiles.yaml", other = folder / "other.yaml";
  ASSERT_TRUE(write_file(spec, "fit: {tile_us: 0.4, step_us: 0.09, kept: 5}\n"));
  ASSERT_TRUE(write_file(other, "fit: {tile_us: 0.4}\n"));
  const auto written = write_constants(folder, kConstants);
  ASSERT_TRUE(written) << to_text(written.error());
  EXPECT_EQ(*written, std::vector<std::string>{spec});
  EXPECT_EQ(*read_file(spec), "fit: {tile_us: 0.372, step_us: 1.2e-07, kept: 5}\n");
  EXPECT_EQ(*read_file(other), "fit: {tile_us: 0.4}\n");
  const std::string cost = folder / "deep/tiles.cost.yaml";
  ASSERT_TRUE(write_file(cost, "cost_of: tiles\nfit: {tile_us: 0.4, step_us: 0.09, kept: 5}\n"));
  EXPECT_EQ(*write_constants(folder, kConstants), std::vector<std::string>{cost});
  EXPECT_EQ(*read_file(cost), "cost_of: tiles\nfit: {tile_us: 0.372, step_us: 1.2e-07, kept: 5}\n");
  std::filesystem::remove(cost);

  std::vector<FittedConstant> more = kConstants;
  more.push_back({.spec = "gone", .name = "x", .before = 1, .after = 2});
  more.front().after = 9;
  EXPECT_EQ(write_constants(folder, more).error().message, folder.string() + " has no gone.yaml");
  EXPECT_EQ(*read_file(spec), "fit: {tile_us: 0.372, step_us: 1.2e-07, kept: 5}\n");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace qgen::fitting
