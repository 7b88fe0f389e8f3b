// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Small graphs and the whole explanation of each: graphs/<name>.yaml says what it is about, graphs/<name>.txt is what
// `qgen-plan --explain` prints, or the error.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "runtime/planner/graph_text.h"
#include "tests/support/source_folder.h"

namespace qgen::planner {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string answer(const fs::path& yaml) {
  const auto text = read_graph(read(yaml), yaml.filename().string());
  if (!text) return to_text(text.error()) + "\n";
  const auto planned = plan(text->graph, plan_options(*text));
  return planned ? explain(text->graph, plan_options(*text), *planned) : to_text(planned.error()) + "\n";
}

std::vector<fs::path> graphs() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(tests::source_folder() + "/tests/runtime/planner/graphs")) {
    if (entry.path().extension() == ".yaml") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

class PlanTable : public ::testing::TestWithParam<fs::path> {};

TEST_P(PlanTable, IsExplainedAsItsTextSays) {
  EXPECT_EQ(answer(GetParam()), read(fs::path(GetParam()).replace_extension(".txt")));
}

INSTANTIATE_TEST_SUITE_P(All, PlanTable, ::testing::ValuesIn(graphs()),
                         [](const auto& graph) { return graph.param.stem().string(); });

}  // namespace
}  // namespace qgen::planner
