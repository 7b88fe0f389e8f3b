// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/program.h"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <system_error>

namespace qgen {
namespace {

int fail(std::string_view name, const std::string& message) {
  const std::string text = fmt::format("{}: error: {}\n", name, message);
  std::fwrite(text.data(), 1, text.size(), stderr);
  return kWrongMachineCode;
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
    return fail(name, "the host has no more memory to give");
  } catch (const std::system_error& error) {  // of fmt::print()
    return fail_to_print(name, error.code().value());
  }
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  return fail_to_print(name, errno);
}

}  // namespace qgen
