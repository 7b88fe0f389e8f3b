// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The same inputs give the same bytes for any machine state: threads, locale, time zone, folder, the order of files on
// disk and on the command line, a cache or none. bench/codegen_figures.py does this 50 times with the corpus.
#include <algorithm>
#include <random>

#include "tests/codegen/program/run_qgen.h"

namespace qgen::tests {
namespace {

// Copies a tree file by file in a random order: folders list their files in another one then.
void copy_shuffled(const fs::path& from, const fs::path& to, std::mt19937& random) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    if (entry.is_regular_file()) files.push_back(entry.path().lexically_relative(from));
  }
  std::shuffle(files.begin(), files.end(), random);
  for (const fs::path& file : files) write_text(to / file, read_text(from / file));
}

template <typename T>
const T& one_of(const std::vector<T>& all, std::mt19937& random) {
  return all[random() % all.size()];
}

TEST_F(Program, BytesDoNotDependOnTheMachine) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  made({"specs", "-o", "out", "--no-cache", "-j", "1"});
  const auto expected = contents(here() / "out");
  for (int run = 0; run < 6; ++run) {
    const fs::path folder = root_ / one_of<std::string>({"a", "b c", "d/e/f", "ö"}, random) / std::to_string(run);
    copy_shuffled(here() / "specs", folder / "specs", random);
    copy_shuffled(here() / "templates", folder / "templates", random);
    Arguments arguments =
        one_of<Arguments>({{"specs"}, {"./specs/"}, {"../" + std::to_string(run) + "/specs"}}, random);
    arguments.insert(arguments.end(), {"-o", "out", "-j", std::to_string(1 + random() % 8)});
    if (random() % 2 == 0) arguments.push_back("--no-cache");
    Running::How how{.folder = folder};
    how.environment["LC_ALL"] = one_of<std::string>({"C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8"}, random);
    how.environment["TZ"] = one_of<std::string>({"UTC", "Asia/Kathmandu", "America/St_Johns"}, random);
    made(arguments, how);
    EXPECT_EQ(contents(folder / "out"), expected) << "run " << run << testing::PrintToString(arguments);
  }
}

TEST_F(Program, BytesDoNotDependOnTheOrderOfArguments) {
  made({"specs/copy.yaml", "specs/reduce/total.yaml", "-o", "one"});
  made({"specs/reduce/total.yaml", "specs/copy.yaml", "specs/copy.yaml", "-o", "other"});
  EXPECT_EQ(contents(here() / "one"), contents(here() / "other"));
}

}  // namespace
}  // namespace qgen::tests
