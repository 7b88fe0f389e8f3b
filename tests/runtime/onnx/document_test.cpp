// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "tests/support/document.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/onnx/patterns.h"

namespace qgen::onnx {
namespace {

std::string cell(std::string_view text) { return text.empty() ? " |" : fmt::format(" {} |", text); }
std::string cell(const Form& form) {
  return cell(form.of_bytes.empty() ? std::string(form.op) : fmt::format("{}, {}", form.op, form.of_bytes));
}

TEST(Document, HasTheTableOfPatterns) {
  const std::string page = tests::read_document("docs/onnx.md");
  std::string table;
  for (const Pattern& row : patterns())
    table += fmt::format("|{}{}{}{}\n", cell(row.op), cell(row.operands), cell(row.quantized), cell(row.real));
  EXPECT_THAT(page, ::testing::HasSubstr(table));
}

}  // namespace
}  // namespace qgen::onnx
