// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen throws nothing on purpose, so an exception that arrives here says what the machine lacks; each kind gets its
// sentence.
#include "common/program.h"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

namespace qgen {
namespace {

int fail(std::string_view name, std::string_view message, std::string_view hint = "") {
  std::string text = fmt::format("{}: error: {}\n", name, message);
  if (!hint.empty()) text += fmt::format("  hint: {}\n", hint);
  std::fwrite(text.data(), 1, text.size(), stderr);
  return kWrongMachineCode;
}

int fail_for_memory(std::string_view name) {
  return fail(name, "the machine has no memory left for this run", "fewer threads, and less at once, need less");
}

int fail_to_print(std::string_view name, int reason) {
  return fail(name, fmt::format("cannot write to standard output: {}", std::strerror(reason)));
}

}  // namespace

int run_program(std::string_view name, const std::function<int()>& work) {
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
    return fail(name, error.what(), "the machine's limits are reached: look at ulimit -a");
  } catch (const std::exception& exception) {
    return fail(name, exception.what(), "this is a fault of the program: please report it");
  }
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  return fail_to_print(name, errno);
}

}  // namespace qgen
