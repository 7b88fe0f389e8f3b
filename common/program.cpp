// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Runs a program's main function and reports exceptions. qgen throws nothing itself, so an exception here means that
// the machine lacks something; each kind has a sentence.
#include "common/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include "common/log.h"

namespace qgen {
namespace {

int fail(std::string_view name, std::string_view message, std::string_view hint = "") {
  std::string text = fmt::format("{}: error: {}\n", name, message);
  if (!hint.empty()) text += fmt::format("  hint: {}\n", hint);
  write_log(text);
  return kWrongMachineCode;
}

int fail_for_memory(std::string_view name) {
  return fail(name, "the machine has too little memory for this run", "use fewer threads");
}

int fail_to_print(std::string_view name, int reason) {
  return fail(name, fmt::format("cannot write to standard output: {}", std::strerror(reason != 0 ? reason : EIO)));
}

// The next file that is opened would take the number of a standard stream that is closed, and be written into.
void fill_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // Read only: writing to it is still an error. open() takes the lowest number that is free.
    if (::open("/dev/null", O_RDONLY) < 0) return;
  }
}

}  // namespace

int run_program(std::string_view name, const std::function<int()>& work) {
  fill_closed_streams();
  std::signal(SIGXFSZ, SIG_IGN);
  int code = 0;
  try {
    code = work();
  } catch (const std::bad_alloc&) {
    return fail_for_memory(name);
  } catch (const std::length_error&) {
    return fail_for_memory(name);
  } catch (const std::system_error& error) {  // of a thread that cannot be started, or of fmt::print()
    if (std::ferror(stdout)) return fail_to_print(name, error.code().value());
    return fail(name, error.what(), "a limit of this process is reached: see ulimit -a");
  } catch (const std::exception& exception) {
    return fail(name, exception.what(), "this is a fault of the program: please report it");
  }
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  return fail_to_print(name, errno);
}

}  // namespace qgen
