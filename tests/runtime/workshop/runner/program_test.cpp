// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The inputs and outputs of qgen-run without a device. It never waits for something that may not end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "common/files.h"
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

// A choice on the device of a file.
std::string explain_on(const std::string& device_file) {
  return program("qgen-run") +
         " q8ta_relu --shape input=2x3:i8 --set input_scale=1 --set output_scale=1 --explain --device-file " +
         device_file;
}

std::string shipped_device() { return tests::source_folder() + "/devices/adreno-740.yaml"; }

TEST(Programs, WaitForNoPipe) {
  const std::string path = pipe_without_a_writer();
  const Answer answer = shell(explain_on(path));
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.text, HasSubstr("cannot read " + path + ": it is a named pipe"));
  fs::remove(path);
}

TEST(Programs, ReadWhatTheShellHandsThem) {
  const Answer whole = shell(explain_on(shipped_device()));
  ASSERT_EQ(whole.code, 0) << whole.text;
  for (const std::string& from : {"cat " + shipped_device() + " | " + explain_on("/dev/stdin"),
                                  explain_on("/dev/stdin") + " <" + shipped_device()}) {
    EXPECT_EQ(shell(from).text, whole.text) << from;
  }
}

// The ranking for a device of another Vulkan version.
Answer explained_on_vulkan(std::string_view minor) {
  std::string text = *read_file(shipped_device(), size_t{1} << 20);
  const size_t at = text.find("vulkan: 1.3.");
  EXPECT_NE(at, std::string::npos);
  text.replace(at, 11, "vulkan: 1." + std::string(minor));
  const fs::path path = fs::path(testing::TempDir()) / ("qgen_old_vulkan_" + std::to_string(::getpid()) + ".yaml");
  EXPECT_TRUE(write_file(path.string(), text));
  const Answer answer = shell(explain_on(path.string()));
  fs::remove(path);
  return answer;
}

// Device::open() refuses it in the same words.
TEST(Programs, RankNothingForAVulkanThatIsTooOld) {
  const Answer answer = explained_on_vulkan("0");
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.text, HasSubstr("offers Vulkan 1.0, and qgen needs 1.1"));
}

TEST(Programs, RankTheSameForAnOlderVulkanWithTheSameFeatures) {
  const Answer newest = shell(explain_on(shipped_device()));
  for (const std::string_view minor : {"1", "2"}) {
    const Answer older = explained_on_vulkan(minor);
    EXPECT_EQ(older.code, 0);
    EXPECT_EQ(older.text, newest.text);
  }
}

TEST(Programs, SayThatStandardOutputIsFull) {
  for (const std::string& command : {explain_on(shipped_device()), program("qgen-run") + " --list"}) {
    const Answer answer = shell(command + " >/dev/full");
    EXPECT_EQ(answer.code, 3) << command;
    EXPECT_THAT(answer.text, HasSubstr("cannot write to standard output: No space left on device")) << command;
  }
}

}  // namespace
}  // namespace qgen
