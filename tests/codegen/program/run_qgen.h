// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The fixture of the tests that run the built program: a separate folder with two small specs, and a function to run
// qgen in it.
//
//   TEST_F(Program, ListsIds) { EXPECT_EQ(qgen({"specs", "--list"}).out, "copy.f32.vec1\n..."); }
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace qgen::tests {

namespace fs = std::filesystem;

// 4 variants: `require` removes two of six combinations.
constexpr std::string_view kCopySpec = R"(operator: copy
summary: y = x
template: copy.comp
operands:
  input:  {access: read,  dtype: $dtype}
  output: {access: write, dtype: $dtype}
problem:
  numel: u32
parameters:
  dtype: [f32, i32]
  vec:   [1, 2, 4]
specialization:
  workgroup: [64, 128]
require:      [dtype == f32 or vec == 1]
applies_when: [numel % vec == 0]
grid: [ceil_div(numel, vec * workgroup), 1, 1]
)";
constexpr std::string_view kCopyTemplate = R"(// y = x
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input, vec)}
${declare(output, vec)}
${declare_problem()}
$include "lib/index.glsl"

void main() {
  const uint i = linear_index();
  if (i < problem.numel / ${vec}) output_data[i] = input_data[i];
}
)";
// 2 variants; HLSL cannot say gl_SubgroupID.
constexpr std::string_view kTotalSpec = R"(operator: total
template: reduce/total.comp
operands:
  input:  {access: read,       dtype: f32}
  output: {access: read_write, dtype: f32}
problem:
  numel: u32
parameters:
  method: [serial, subgroup]
grid: [1, 1, 1]
)";
constexpr std::string_view kTotalTemplate = R"(#version 450
${extensions()}
$if method == subgroup
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 32) in;
$end
${declare(input)}
${declare(output)}
${declare_problem()}
$include "lib/index.glsl"

void main() {
  float sum = 0.0;
$if method == subgroup
  for (uint i = linear_index(); i < problem.numel; i += 32u) sum += input_data[i];
  sum = subgroupAdd(sum);
  if (gl_SubgroupID == 0u && subgroupElect()) output_data[0] = sum;
$else
  for (uint i = linear_index(); i < problem.numel; ++i) sum += input_data[i];
  output_data[0] = sum;
$end
}
)";
constexpr std::string_view kIndex = R"(uint linear_index() {
  return gl_GlobalInvocationID.x + gl_NumWorkGroups.x * gl_WorkGroupSize.x * gl_GlobalInvocationID.y;
}
)";
constexpr std::string_view kIds =
    "copy.f32.vec1\ncopy.f32.vec2\ncopy.f32.vec4\ncopy.i32.vec1\ntotal.serial\ntotal.subgroup\n";

// The program of the same build as this test.
inline std::string program() {
  return (fs::read_symlink("/proc/self/exe").parent_path() / "../codegen/qgen").lexically_normal().string();
}

inline std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void write_text(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

inline void replace_in(const fs::path& path, std::string_view what, std::string_view with) {
  std::string text = read_text(path);
  const size_t at = text.find(what);
  ASSERT_NE(at, std::string::npos) << path << " has no '" << what << "'";
  write_text(path, text.replace(at, what.size(), with));
}

using Arguments = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;

struct Answer {
  int code = -1;  // the exit code; minus the signal that ended it
  std::string out, err;
};

// A qgen that was started and not waited for.
class Running {
 public:
  struct How {
    fs::path folder;          // where it runs
    Environment environment;  // on top of this process's own
    rlim_t most_file_bytes = RLIM_INFINITY;
    rlim_t most_memory_bytes = RLIM_INFINITY;  // of address space
    std::string out;                           // a path for stdout instead of one of ours; it is not read back
  };

  Running(const std::string& program, Arguments arguments, const How& how, const fs::path& outputs)
      : out_(outputs.string() + ".out"), err_(outputs.string() + ".err") {
    arguments.insert(arguments.begin(), program);
    pid_ = ::fork();
    if (pid_ == 0) become(arguments, how);
  }

  void kill(int signal = SIGKILL) { ::kill(pid_, signal); }
  pid_t pid() const { return pid_; }

  Answer wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return {code, read_text(out_), read_text(err_)};
  }

 private:
  [[noreturn]] void become(const Arguments& arguments, const How& how) const {
    const auto redirect = [](const std::string& path, int to) {
      const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
      return file >= 0 && ::dup2(file, to) >= 0;
    };
    for (const auto& [name, value] : how.environment) ::setenv(name.c_str(), value.c_str(), 1);
    const rlimit file_limit{how.most_file_bytes, how.most_file_bytes};
    const rlimit memory_limit{how.most_memory_bytes, how.most_memory_bytes};
    std::vector<char*> words;
    for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    const bool is_ready = redirect(how.out.empty() ? out_ : how.out, STDOUT_FILENO) && redirect(err_, STDERR_FILENO) &&
                          ::chdir(how.folder.c_str()) == 0 && ::setrlimit(RLIMIT_FSIZE, &file_limit) == 0 &&
                          ::setrlimit(RLIMIT_AS, &memory_limit) == 0;
    if (is_ready) ::execv(words.front(), words.data());
    ::_exit(127);
  }

  std::string out_, err_;
  pid_t pid_ = -1;
};

class Program : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "qgen-program-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    write_inputs(here());
  }
  void TearDown() override { fs::remove_all(root_); }

  static void write_inputs(const fs::path& folder) {
    write_text(folder / "specs/copy.yaml", kCopySpec);
    write_text(folder / "specs/reduce/total.yaml", kTotalSpec);
    write_text(folder / "templates/copy.comp", kCopyTemplate);
    write_text(folder / "templates/reduce/total.comp", kTotalTemplate);
    write_text(folder / "templates/lib/index.glsl", kIndex);
  }

  // The project that qgen runs in, and its cache unless a test names another.
  fs::path here() const { return root_ / "project"; }
  fs::path cache() const { return root_ / "cache/qgen"; }

  Running start(const Arguments& arguments, Running::How how = {}) {
    if (how.folder.empty()) how.folder = here();
    how.environment.emplace("XDG_CACHE_HOME", (root_ / "cache").string());
    return Running(program(), arguments, how, root_ / std::to_string(++runs_));
  }
  Answer qgen(const Arguments& arguments, const Running::How& how = {}) { return start(arguments, how).wait(); }

  // A run that must succeed.
  Answer made(const Arguments& arguments, const Running::How& how = {}) {
    Answer answer = qgen(arguments, how);
    EXPECT_EQ(answer.code, 0) << testing::PrintToString(arguments) << "\n" << answer.out << answer.err;
    return answer;
  }

  // Every file below a folder with its bytes.
  static std::map<std::string, std::string> contents(const fs::path& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      std::error_code leads_nowhere;
      if (entry.is_regular_file(leads_nowhere))
        files[entry.path().lexically_relative(folder).string()] = read_text(entry.path());
    }
    return files;
  }

  // Which file stands where, and since when: equal stamps mean that nothing was written.
  static std::map<std::string, std::string> stamps(const fs::path& folder) {
    std::map<std::string, std::string> files;
    for (const auto& [name, bytes] : contents(folder)) {
      struct stat status {};
      ::stat((folder / name).c_str(), &status);
      std::ostringstream stamp;
      stamp << status.st_ino << " " << status.st_mtim.tv_sec << "." << status.st_mtim.tv_nsec;
      files[name] = stamp.str();
    }
    return files;
  }

  fs::path root_;

 private:
  int runs_ = 0;
};

}  // namespace qgen::tests
