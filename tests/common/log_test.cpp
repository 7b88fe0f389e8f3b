// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A log without a reader: its writer, and the bar that writes through it.
#include "common/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "common/progress.h"
#include "tests/support/source_folder.h"

namespace qgen {
namespace {

// Standard error is another file until the end of the block; -1: it is closed.
class StandardErrorIs {
 public:
  explicit StandardErrorIs(int file) : kept_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100)) {
    ::close(STDERR_FILENO);
    if (file >= 0) ::dup2(file, STDERR_FILENO);
  }
  ~StandardErrorIs() {
    ::dup2(kept_, STDERR_FILENO);
    ::close(kept_);
  }
  StandardErrorIs(const StandardErrorIs&) = delete;
  StandardErrorIs& operator=(const StandardErrorIs&) = delete;

 private:
  int kept_;
};

struct Pipe {
  int reader, writer;
};
Pipe make_pipe() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  return {ends[0], ends[1]};
}

std::string text_in(const Pipe& pipe) {
  ::close(pipe.writer);
  std::string text;
  for (char byte = 0; ::read(pipe.reader, &byte, 1) == 1;) text += byte;
  ::close(pipe.reader);
  return text;
}

bool is_pending(int signal) {
  sigset_t pending;
  ::sigpending(&pending);
  return ::sigismember(&pending, signal) == 1;
}

bool is_blocked(int signal) {
  sigset_t blocked;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  return ::sigismember(&blocked, signal) == 1;
}

void write_everything() {
  write_log("a note\n");
  print_log("{} of {}\n", 1, 2);
  Progress progress(/*is_terminal=*/true);
  progress.show_at_once("pipelines", 9, 12);
}  // the bar goes

TEST(Log, ReachesItsReader) {
  const Pipe pipe = make_pipe();
  {
    const StandardErrorIs writer(pipe.writer);
    write_everything();
  }
  const std::string text = text_in(pipe);
  EXPECT_THAT(text, ::testing::StartsWith("a note\n1 of 2\n\rpipelines ["));
  EXPECT_THAT(text, ::testing::EndsWith("\r\033[K"));
}

// The default effect of a pipe without a reader is death, and an exception in a destructor ends in abort().
TEST(Log, IsLostWithoutHarm) {
  const Pipe broken = make_pipe();
  ::close(broken.reader);
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  ASSERT_NE(::signal(SIGPIPE, SIG_DFL), SIG_ERR);
  for (const int file : {-1, full, broken.writer}) {
    const StandardErrorIs lost(file);
    errno = EDOM;
    write_log("a note\n");
    EXPECT_EQ(errno, EDOM);
    write_everything();
    EXPECT_FALSE(is_pending(SIGPIPE));
    EXPECT_FALSE(is_blocked(SIGPIPE));
  }
  ::close(full);
  ::close(broken.writer);
}

// Code that writes to standard error in another way throws or dies there again.
TEST(Log, IsTheOnlyWriter) {
  namespace fs = std::filesystem;
  for (const char* room : {"common", "vocabulary", "codegen", "runtime", "bench"}) {
    for (const auto& file : fs::recursive_directory_iterator(fs::path(tests::source_folder()) / room)) {
      if (file.path().extension() != ".cpp" && file.path().extension() != ".h") continue;
      std::ifstream stream(file.path());
      for (std::string line; std::getline(stream, line);) {
        if (line.find("//") < line.find("stderr")) continue;
        for (const char* writer : {"print(stderr", "printf(stderr", "std::cerr", "perror("}) {
          EXPECT_EQ(line.find(writer), std::string::npos) << file.path() << ": " << line;
        }
      }
    }
  }
}

}  // namespace
}  // namespace qgen
