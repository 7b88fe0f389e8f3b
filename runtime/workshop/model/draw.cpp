// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/model/draw.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>

extern char** environ;

namespace qgen::model {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

Error no_dot(std::string_view why) {
  return {Error::Kind::system, fmt::format("cannot draw: {}", why),
          "install Graphviz, or name a file that ends in .dot, which needs no program"};
}

std::string ending_of(const std::string& file) { return std::filesystem::path(file).extension(); }

Done check_ending(const std::string& file) {
  const std::string ending = ending_of(file);
  if (ending == ".dot" || ending == ".svg" || ending == ".png" || ending == ".pdf") return std::monostate{};
  return refused(fmt::format("'{}' must end in .svg, .png, .pdf or .dot", file));
}

// Runs `dot` with an argument.
Done run_dot(std::string argument, std::FILE* input, std::FILE* output, std::FILE* errors) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(input), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(output), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(errors), STDERR_FILENO);
  std::string program = "dot";
  char* arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawnp(&child, "dot", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return no_dot("the program 'dot' cannot be started");
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return no_dot("the program 'dot' failed");
  return std::monostate{};
}

}  // namespace

Done check_drawing(const std::string& file) {
  if (Done known = check_ending(file); !known || ending_of(file) == ".dot") return known;
  const File input(std::tmpfile()), output(std::tmpfile());
  if (!input || !output) return no_dot("cannot create a temporary file");
  return run_dot("-V", input.get(), output.get(), output.get());
}

Expected<std::string> drawing(const std::string& dot, const std::string& file) {
  if (Done known = check_ending(file); !known) return known.error();
  if (ending_of(file) == ".dot") return dot;
  // Files without names, so that neither side waits for the other.
  const File input(std::tmpfile()), output(std::tmpfile());
  if (!input || !output) return no_dot("cannot create a temporary file");
  if (std::fwrite(dot.data(), 1, dot.size(), input.get()) != dot.size() || std::fflush(input.get()) != 0)
    return no_dot("the disk is full");
  std::rewind(input.get());
  const Done drawn = run_dot("-T" + ending_of(file).substr(1), input.get(), output.get(), stderr);
  if (!drawn) return drawn.error();

  std::string picture;
  std::rewind(output.get());
  char piece[1 << 14];
  for (size_t count; (count = std::fread(piece, 1, sizeof(piece), output.get())) > 0;) picture.append(piece, count);
  return picture;
}

}  // namespace qgen::model
