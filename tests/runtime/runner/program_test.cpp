// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What qgen-run and qgen-plan read and write, as far as no device is needed: nothing is waited for that may never end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "tests/support/source_folder.h"

namespace qgen {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct Answer {
  int code = -1;
  std::string text;  // of both streams
};

Answer shell(const std::string& command) {
  Answer answer;
  FILE* pipe = ::popen(("( " + command + " ) 2>&1").c_str(), "r");
  char buffer[4096];
  for (size_t got = 0; (got = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) answer.text.append(buffer, got);
  const int status = ::pclose(pipe);
  answer.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return answer;
}

std::string program(const std::string& name) {
  return (fs::read_symlink("/proc/self/exe").parent_path() / "../runtime" / name).lexically_normal().string();
}

std::string pipe_without_a_writer() {
  const fs::path path = fs::path(testing::TempDir()) / ("qgen_pipe_" + std::to_string(::getpid()));
  fs::remove(path);
  EXPECT_EQ(::mkfifo(path.c_str(), 0666), 0);
  return path.string();
}

TEST(Programs, WaitForNoPipe) {
  const std::string path = pipe_without_a_writer();
  const Answer plan = shell(program("qgen-plan") + " " + path);
  EXPECT_EQ(plan.code, 2);
  EXPECT_THAT(plan.text, HasSubstr("cannot read " + path + ": it is a named pipe"));
  fs::remove(path);
}

TEST(Programs, ReadWhatTheShellHandsThem) {
  const std::string graph = tests::source_folder() + "/tests/runtime/planner/graphs/diamond.yaml";
  const Answer whole = shell(program("qgen-plan") + " " + graph);
  ASSERT_EQ(whole.code, 0) << whole.text;
  for (const std::string& from :
       {"cat " + graph + " | " + program("qgen-plan") + " -",
        "cat " + graph + " | " + program("qgen-plan") + " /dev/stdin", program("qgen-plan") + " - <" + graph}) {
    EXPECT_EQ(shell(from).text, whole.text) << from;
  }
}

TEST(Programs, SayThatStandardOutputIsFull) {
  const std::string graph = tests::source_folder() + "/tests/runtime/planner/graphs/diamond.yaml";
  for (const std::string& command : {program("qgen-plan") + " " + graph, program("qgen-run") + " --list"}) {
    const Answer answer = shell(command + " >/dev/full");
    EXPECT_EQ(answer.code, 3) << command;
    EXPECT_THAT(answer.text, HasSubstr("cannot write to standard output: No space left on device")) << command;
  }
}

}  // namespace
}  // namespace qgen
