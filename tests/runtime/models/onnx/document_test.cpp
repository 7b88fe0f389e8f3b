// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "tests/support/document.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/models/onnx/patterns.h"

namespace qgen::onnx {
namespace {

std::string cell(std::string_view text) { return text.empty() ? " |" : fmt::format(" {} |", text); }
std::string cell(const Form& form) { return cell(form.op); }

TEST(Document, HasTheTableOfPatterns) {
  const std::string page = tests::read_document("docs/onnx.md");
  std::string table;
  for (const Pattern& row : patterns())
    table += fmt::format("|{}{}{}{}\n", cell(row.op), cell(row.operands), cell(row.quantized), cell(row.real));
  EXPECT_THAT(page, ::testing::HasSubstr(table));
}

// The record of scripts/onnx_node_tests.
TEST(Document, HasTheCountsOfOnnxsOwnTests) {
  const std::string table = tests::read_document("tests/runtime/models/onnx/onnx_tests.tsv");
  const auto count_of = [&](const std::string& outcome) {
    size_t count = 0;
    for (size_t at = table.find(outcome); at != table.npos; at = table.find(outcome, at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(count_of("\twrong\n"), 0U);
  EXPECT_THAT(tests::read_document("docs/onnx.md"),
              ::testing::HasSubstr(fmt::format("| right | refused | wrong |\n|---|---|---|\n| {} | {} | 0 |",
                                               count_of("\tright\n"), count_of("\trefused\n"))));
}

}  // namespace
}  // namespace qgen::onnx
