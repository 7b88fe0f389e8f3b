// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Folders are watched, not files: editors that save by renaming replace the file, and new files count too. Before each
// run, folders that appeared since then are added. They are added before the inputs are read, so no change is missed.
//
// A folder that is removed takes its watch with it, and nothing reports its return. So while a folder is missing, the
// loop also looks for it twice a second.
#include "codegen/watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/log.h"
#include "common/sanitizers.h"
#include "common/text.h"

namespace qgen {
namespace {

namespace fs = std::filesystem;

// IN_CLOSE_WRITE and not IN_MODIFY: a file that is still being written is not read.
constexpr uint32_t kEvents =
    IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
// An editor's events of one save follow each other within a millisecond.
constexpr int kQuietMs = 4, kMostWaitMs = 40;
constexpr int kMissingFolderMs = 500;

class Watcher {
 public:
  Watcher() : events_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {}
  ~Watcher() {
    if (events_ >= 0) ::close(events_);
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // Adds the folders, and all below them. Those that are already watched stay so.
  Done add(const std::set<fs::path>& roots);
  // Returns after a change, when no further one follows at once; or after a while, if a folder is missing.
  void wait();
  bool has_changed_within(int timeout_ms);

 private:
  Done add_one(const fs::path& folder);
  Done failed() const {
    return Error{Error::Kind::system, fmt::format("cannot watch the folders: {}", std::strerror(errno)),
                 errno == ENOSPC || errno == EMFILE ? "raise fs.inotify.max_user_watches and max_user_instances" : ""};
  }

  int events_;
  bool is_folder_missing_ = false;
};

Done Watcher::add_one(const fs::path& folder) {
  if (::inotify_add_watch(events_, folder.c_str(), kEvents) >= 0) return std::monostate{};
  const bool is_missing = errno == ENOENT || errno == ENOTDIR || errno == EACCES;
  if (!is_missing) return failed();
  is_folder_missing_ = true;
  return std::monostate{};
}

Done Watcher::add(const std::set<fs::path>& roots) {
  if (events_ < 0) return failed();
  is_folder_missing_ = false;
  for (const fs::path& root : roots) {
    if (Done added = add_one(root); !added) return added;
    std::error_code code;
    for (auto it = fs::recursive_directory_iterator(root, code); !code && it != fs::end(it); it.increment(code)) {
      std::error_code gone;
      if (!it->is_directory(gone) || it->is_symlink(gone)) continue;
      if (Done added = add_one(it->path()); !added) return added;
    }
  }
  return std::monostate{};
}

bool Watcher::has_changed_within(int timeout_ms) {
  pollfd entry{events_, POLLIN, 0};
  if (::poll(&entry, 1, timeout_ms) <= 0) return false;
  std::array<char, 64 << 10> buffer;
  while (::read(events_, buffer.data(), buffer.size()) > 0) {
  }
  return true;
}

void Watcher::wait() {
  const int timeout_ms = is_folder_missing_ ? kMissingFolderMs : -1;
  if (!has_changed_within(timeout_ms)) return;
  for (int waited = 0; waited < kMostWaitMs && has_changed_within(kQuietMs); waited += kQuietMs) {
  }
}

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

// The folders of all inputs. Of a spec file, only its own folder.
std::set<fs::path> folders_of(const RunOptions& options, const std::vector<std::string>& template_roots) {
  std::set<fs::path> folders(template_roots.begin(), template_roots.end());
  for (const std::string& spec : options.specs) {
    std::error_code code;
    folders.insert(fs::is_regular_file(spec, code) ? folder_of(spec) : fs::path(spec));
  }
  for (const std::string& device : options.device_files) folders.insert(folder_of(device));
  if (!options.tuning.empty()) folders.insert(options.tuning);
  return folders;
}

QGEN_NOT_ADDRESS_SANITIZED void end(int) { ::_exit(static_cast<int>(ExitCode::done)); }

// Files are written to temporary ones that have no name until they are complete, so ending at any moment leaves either
// the old files or the new ones.
void end_on_interrupt() {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    action.sa_handler = end;
    ::sigaction(signal, &action, nullptr);
  }
}

ExitCode fail(const Error& error) {
  write_log(fmt::format("qgen: error: {}\n", to_text(error)));
  return ExitCode::bad_machine;
}

}  // namespace

// Some programs save by truncating a file and writing it. A file that was read in between is probably wrong, and a
// further change follows at once. So an error is printed when none followed.
ExitCode watch(const RunOptions& options) {
  end_on_interrupt();
  Repeated repeated(options);
  Watcher watcher;
  std::optional<RunResult> unprinted;
  std::vector<std::string> roots = options.template_roots;
  bool is_announced = options.verbosity == RunOptions::Verbosity::quiet;
  for (;;) {
    // A default root that is gone for now is still waited for.
    if (auto found = default_template_roots(options.specs); options.template_roots.empty() && !found.empty())
      roots = std::move(found);
    if (const Done added = watcher.add(folders_of(options, roots)); !added) return fail(added.error());
    if (auto result = repeated.run()) unprinted = std::move(result);
    if (unprinted && unprinted->code != ExitCode::done && watcher.has_changed_within(kMostWaitMs)) continue;
    if (unprinted) print(*unprinted);
    unprinted.reset();
    if (!is_announced) print({ExitCode::done, "watching for changes; Ctrl-C ends\n", ""});
    is_announced = true;
    watcher.wait();
  }
}

}  // namespace qgen
