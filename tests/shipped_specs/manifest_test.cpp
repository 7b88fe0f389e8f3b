// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The manifest of the build and the linked library have the same modules.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "common/files.h"
#include "registry.h"
#include "runtime/engine/library/kernel_library.h"

namespace qgen {
namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, '\t');) cells.push_back(cell);
  return cells;
}

// The digests by the variants' ids.
std::map<std::string, std::string> digests_in(const std::string& manifest) {
  std::istringstream lines(manifest);
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> head = cells_of(line);
  const auto column = static_cast<size_t>(std::ranges::find(head, "digest") - head.begin());
  std::map<std::string, std::string> digests;
  while (std::getline(lines, line)) {
    const std::vector<std::string> cells = cells_of(line);
    digests.emplace(cells.at(0), cells.at(column));
  }
  return digests;
}

TEST(Manifest, HasTheDigestsOfTheLibrary) {
  const auto manifest = read_file(QGEN_MANIFEST);
  ASSERT_TRUE(manifest) << to_text(manifest.error());
  const auto library = KernelLibrary::open(generated::library());
  ASSERT_TRUE(library) << to_text(library.error());
  std::map<std::string, std::string> digests;
  for (const OperatorInfo* op : library->operators()) {
    for (const KernelInfo& kernel : op->kernels) {
      digests.emplace(kernel.id, fmt::format("{:016x}", library->digest(kernel)));
    }
  }
  EXPECT_EQ(digests_in(*manifest), digests);
}

}  // namespace
}  // namespace qgen
