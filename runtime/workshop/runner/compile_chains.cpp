// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One run of the generator for each chain: a run has one file of each name, and the steps are a file of templates.
#include "runtime/workshop/runner/compile_chains.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "common/files.h"
#include "runtime/engine/library/blob.h"
#include "runtime/engine/library/blob_writer.h"
#include "runtime/engine/operators/pointwise/chain_kernels.h"

extern char** environ;

namespace qgen::runner {
namespace {

namespace fs = std::filesystem;

// Below a folder of templates. Another version of qgen may lack it: its kernels would all interpret.
constexpr const char* kSteps = "lib/pointwise_steps.glsl";
constexpr const char* kCompileSeconds = "60";  // a chain of 64 functions is a long kernel

// A folder that goes with its files.
class TemporaryFolder {
 public:
  static Expected<TemporaryFolder> make() {
    std::error_code code;
    const fs::path base = fs::temp_directory_path(code);
    std::string path = (base / "qgen-chains-XXXXXX").string();
    if (code || !::mkdtemp(path.data()))
      return Error{Error::Kind::system, fmt::format("cannot make a folder like '{}': {}", path, std::strerror(errno)),
                   "TMPDIR names the folder for temporary files"};
    return TemporaryFolder(std::move(path));
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code code;
    if (!path_.empty()) fs::remove_all(path_, code);
  }
  std::string operator/(std::string_view name) const { return fmt::format("{}/{}", path_, name); }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Runs a program whose output goes to a file; gives its exit status.
Expected<int> run_to_file(std::vector<std::string> arguments, const std::string& output) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    return Error{Error::Kind::system,
                 fmt::format("cannot start the generator '{}': {}", arguments[0], std::strerror(failed)),
                 "--qgen names the program"};
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

Expected<blob_format::Module> compile_chain(const chains::TypedChain& chain, const Generator& generator) {
  const auto folder = TemporaryFolder::make();
  if (!folder) return folder.error();
  Outputs outputs;
  const std::string templates = *folder / "templates", output = *folder / "output", text = *folder / "text";
  if (Done added = outputs.add(fmt::format("{}/{}", templates, kSteps), glsl_of(chain), Outputs::Folder::is_made);
      !added)
    return added.error();
  if (Done written = outputs.commit(); !written) return written.error();
  const std::string variant = fmt::format("pointwise.{}.{}", name(chain.dtype), name(chain.output_dtype));
  const auto status =
      run_to_file({generator.program, generator.operators + "/specs", "--operators", "pointwise", "--filter", variant,
                   "--templates", templates, "--templates", generator.operators + "/templates", "-o", output,
                   "--compile-seconds", kCompileSeconds, "-q"},
                  text);
  if (!status) return status.error();
  if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0) {
    const auto said = read_file(text);
    return Error{Error::Kind::system,
                 fmt::format("the generator '{}' cannot compile the chain '{}'{}{}", generator.program,
                             chains::kernel_id(chain), said && !said->empty() ? ":\n" : "", said ? *said : ""),
                 "it must be of the same version as this program, and so must --operators"};
  }
  const auto bytes = read_file(output + "/kernels.blob");
  if (!bytes) return bytes.error();
  const auto blob = Blob::open(std::as_bytes(std::span(*bytes)));
  if (!blob) return blob.error();
  return blob->module(0);
}

// Where a program of the same name as `name` may be: beside this one, as installed, or in the build folder.
std::string program_beside(const fs::path& folder) {
  for (const fs::path& path : {folder / "qgen", folder / "../codegen/qgen"}) {
    std::error_code code;
    if (fs::is_regular_file(path, code)) return path.string();
  }
  return "qgen";
}

}  // namespace

Expected<Generator> find_generator(const std::string& program, const std::string& operators) {
  std::error_code code;
  const fs::path folder = fs::read_symlink("/proc/self/exe", code).parent_path();
  Generator found{program.empty() ? program_beside(folder) : program, operators};
  const auto has_steps = [&](const fs::path& path) { return fs::is_regular_file(path / "templates" / kSteps, code); };
  if (operators.empty()) {
    const fs::path installed = folder / "../share/qgen/operators";
    found.operators = has_steps(installed) ? installed.string() : ".";
  }
  if (has_steps(found.operators)) return found;
  return Error{Error::Kind::not_found,
               fmt::format("there is no 'templates/{}' in the folder '{}'", kSteps, found.operators),
               "--operators names the folder with the specs and templates of this version of qgen"};
}

Expected<std::vector<std::byte>> compile_chains(std::span<const chains::TypedChain> chains, const Generator& generator,
                                                const std::function<void(size_t done, size_t total)>& on_chain) {
  std::vector<blob_format::Module> modules;
  std::vector<uint32_t> rows;
  for (const chains::TypedChain& chain : chains) {
    if (on_chain) on_chain(modules.size(), chains.size());
    auto module = compile_chain(chain, generator);
    if (!module) return module.error();
    rows.push_back(static_cast<uint32_t>(modules.size()));
    modules.push_back(*std::move(module));
  }
  const blob_format::PackedFamily packed = blob_format::pack(modules);
  const blob_format::BlobFamily family{&packed, rows};
  const std::string blob = blob_format::write_blob({&family, 1});
  const auto bytes = std::as_bytes(std::span(blob));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

}  // namespace qgen::runner
