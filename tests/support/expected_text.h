// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Texts for people that tests expect in full. One switch rewrites them:
//
//   EXPECT_TEXT(refused.error().message, "rank 9 is above 8");
//
// passes if both are equal. With QGEN_UPDATE_EXPECTED=1 in the environment, a text that differs is written into the
// test's source. It replaces the string literal with the expected text. The literal may also be a row of a table above.
// Of several equal literals the one nearest to the EXPECT_TEXT is replaced. A text that another run would not give is
// not written. Afterwards run scripts/format, read the diff, and build again.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

namespace qgen::tests {

// `source` with the nearest literal of `expected` to `line` replaced by one of `actual`; nullopt: it has no such
// literal. Adjacent literals are one.
std::optional<std::string> with_text_replaced(std::string_view source, size_t line, std::string_view expected,
                                              std::string_view actual);

// What `text` contains that another run would not: a folder of this machine, the number of this process, a control
// character. Empty: nothing.
std::string only_of_this_run(std::string_view text);

class SameText {
 public:
  SameText(std::string_view file, size_t line) : file_(file), line_(line) {}
  ::testing::AssertionResult operator()(const char* actual_source, const char* expected_source, std::string_view actual,
                                        std::string_view expected) const;

 private:
  std::string_view file_;
  size_t line_;
};

}  // namespace qgen::tests

#define EXPECT_TEXT(actual, expected) EXPECT_PRED_FORMAT2(::qgen::tests::SameText(__FILE__, __LINE__), actual, expected)
