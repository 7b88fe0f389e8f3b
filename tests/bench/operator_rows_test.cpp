// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Tests the rows of bench/ without timing them: every operator is in them, and in the short list.
#include "bench/operator_rows.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "common/files.h"
#include "runtime/engine/operators/shipped.h"
#include "tests/support/source_folder.h"

namespace qgen::bench {
namespace {

using Names = std::set<std::string, std::less<>>;

Names registered() {
  Names names;
  for (const OperatorEntry& entry : operators()) names.emplace(entry.name);
  return names;
}

Names operators_of(const std::vector<Row>& rows) {
  Names names;
  for (const Row& row : rows) names.insert(row.op);
  return names;
}

// Those with a row that has a rival.
Names with_rivals(const std::vector<Row>& rows) {
  Names names;
  for (const Row& row : rows) {
    if (row.plain) names.insert(row.op);
  }
  return names;
}

TEST(OperatorRows, NameEveryOperatorOfTheRegistry) {
  EXPECT_EQ(operators_of(operator_rows()), registered());
  EXPECT_EQ(operators_of(short_rows()), registered());
}

TEST(OperatorRows, BearNamesOfTheirOwn) {
  Names seen;
  for (const Row& row : operator_rows()) EXPECT_TRUE(seen.insert(row.op + "/" + row.size).second) << row.op << row.size;
}

// Of "input=4096x64:i8".
std::string name_in(const std::string& text) { return text.substr(0, text.find('=')); }

void expect_names(const std::vector<std::string>& texts, const auto& arguments) {
  Names names;
  for (const auto& argument : arguments) names.emplace(argument.name);
  for (const std::string& text : texts) EXPECT_TRUE(names.contains(name_in(text))) << text;
}

TEST(OperatorRows, NameArgumentsOfTheirOperators) {
  for (const Row& row : operator_rows()) {
    SCOPED_TRACE(row.op);
    const OperatorEntry& entry = *std::ranges::find(operators(), row.op, &OperatorEntry::name);
    expect_names(row.chosen.request.shapes, entry.tensors);
    expect_names(row.chosen.request.attributes, entry.attributes);
  }
}

TEST(ShortRows, HaveARivalWhereTheOperatorHasOne) {
  EXPECT_EQ(with_rivals(short_rows()), with_rivals(operator_rows()));
}

TEST(ShortRows, AreTheBuiltInProblems) {
  const auto file = read_file(tests::source_folder() + "/tuning/problems.yaml");
  ASSERT_TRUE(file) << to_text(file.error());
  EXPECT_EQ(*file, problems_text(short_rows())) << "operators_bench --short --problems >tuning/problems.yaml";
}

// A row that was renamed would go missing without a word.
TEST(ShortRows, AreAllThere) { EXPECT_THAT(names_without_rows(), ::testing::IsEmpty()); }

}  // namespace
}  // namespace qgen::bench
