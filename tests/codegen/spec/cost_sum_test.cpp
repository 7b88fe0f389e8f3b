// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/spec/cost_sum.h"

#include <gmock/gmock.h>

#include "codegen/spec/parse_spec.h"
#include "tests/support/expected_text.h"

namespace qgen::spec {
namespace {

constexpr std::string_view kSpec = R"(operator: op
template: op.comp
operands: {out: {access: write, dtype: f32}}
problem: {m: u32, mode: {words: [slow, fast]}}
specialization: {tile: [{rows: 16, workgroup: 64}]}
fit: {tile_us: 0.5}
define:
  tiles:    ceil_div(m, tile.rows)
  tiles_us: tiles * tile_us
grid: [tiles, 1, 1]
cost: device.launch_us + tiles_us * choose(mode == fast, 1.0, 2.0) - m / 1000.0
)";

const DeviceNumbers kDevice{.launch_us = 3};

Spec parsed() { return *parse_spec(kSpec, "op.yaml"); }

std::string errors_of(const NamedValues& values) {
  const auto parts = cost_sum(parsed(), values, kDevice);
  return parts ? "" : qgen::to_text(parts.error(), {});
}

TEST(CostSum, HasALineForEachTermAndDefinition) {
  const auto parts = cost_sum(parsed(), {{"m", "100"}, {"tile.rows", "16"}, {"mode", "slow"}}, kDevice);
  ASSERT_TRUE(parts) << qgen::to_text(parts.error(), {});
  EXPECT_EQ(to_text(*parts),
            "cost: 9.9 us\n"
            "  = 3          device.launch_us\n"
            "  + 7          tiles_us * choose(mode == fast, 1.0, 2.0)\n"
            "  - 0.1        m / 1000.0\n"
            "tiles_us: 3.5\n"
            "  = 3.5        tiles * tile_us\n"
            "tiles: 7\n"
            "  = 7          ceil_div(m, tile.rows)\n");
}

TEST(CostSum, SaysWhatIsMissingAndWhatIsWrong) {
  EXPECT_TEXT(errors_of({{"m", "1"}}),
              "op.yaml:11:7: error: the cost of 'op' reads names that have "
              "no value here\n"
              "  expected: values of mode, tile.rows\n");
  EXPECT_TEXT(errors_of({{"m", "one"}, {"tile.rows", "16"}, {"mode", "slow"}}),
              "op.yaml:1:11: error: 'm' of 'op' cannot be 'one'\n"
              "  expected: integer\n");
  EXPECT_TEXT(errors_of({{"m", "-1"}, {"tile.rows", "16"}, {"mode", "slow"}}),
              "op.yaml:1:11: error: 'm' of 'op' cannot be '-1'\n"
              "  expected: an integer from 0 to 4294967295\n");
  EXPECT_TEXT(errors_of({{"m", "99999999999999999999"}, {"tile.rows", "16"}, {"mode", "slow"}}),
              "op.yaml:1:11: error: 'm' of 'op' cannot be '99999999999999999999'\n"
              "  expected: an integer from 0 to 4294967295\n");
  EXPECT_TEXT(errors_of({{"m", "1"}, {"tile.rows", "17"}, {"mode", "slow"}}),
              "op.yaml:1:11: error: 'tile.rows' of 'op' cannot be '17'\n"
              "  expected: 16\n");
  EXPECT_TEXT(errors_of({{"m", "1"}, {"tile.rows", "16"}, {"mode", "quick"}}),
              "op.yaml:1:11: error: "
              "'mode' of 'op' cannot "
              "be 'quick'\n"
              "  expected: one "
              "of fast, slow\n");
  EXPECT_TEXT(errors_of({{"m", "1"}, {"tile.row", "16"}, {"mode", "slow"}}),
              "op.yaml:1:11: error: "
              "'op' has no 'tile.row'\n"
              "  hint: did you mean "
              "'tile.rows'?\n");
}

}  // namespace
}  // namespace qgen::spec
