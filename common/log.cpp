// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The signal of a pipe without a reader is blocked in the writing thread, and cleared if the write raised it. The rest
// of the program keeps its own handling of SIGPIPE.
#include "common/log.h"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

namespace qgen {
namespace {

class WithoutBrokenPipe {
 public:
  WithoutBrokenPipe() noexcept {
    ::sigemptyset(&only_pipe_);
    ::sigaddset(&only_pipe_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &only_pipe_, &before_);
  }
  ~WithoutBrokenPipe() {
    const timespec at_once{};
    if (!was_pending_) {
      while (::sigtimedwait(&only_pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
      }
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutBrokenPipe(const WithoutBrokenPipe&) = delete;
  WithoutBrokenPipe& operator=(const WithoutBrokenPipe&) = delete;

 private:
  sigset_t only_pipe_, before_;
  bool was_pending_;
};

}  // namespace

void write_log(std::string_view text) noexcept {
  const int before = errno;
  {
    const WithoutBrokenPipe quiet;
    while (!text.empty()) {
      const ssize_t count = ::write(STDERR_FILENO, text.data(), text.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      text.remove_prefix(static_cast<size_t>(count));
    }
  }
  errno = before;
}

}  // namespace qgen
