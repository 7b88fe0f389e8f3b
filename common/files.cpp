// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A file is staged as O_TMPFILE makes it: with an inode and no name, so that the kernel frees it however the process
// ends. linkat() then gives it a temporary name, and a rename moves it into place. A kill between these two leaves
// ".<pid>-<count>.qgen-tmp". The next command that writes into the folder removes it. File systems without O_TMPFILE,
// and sets of more files than may be open at once, take such names from the beginning.
//
// Each of several files is exchanged with the existing one. If a rename fails (a folder was made there meanwhile,
// somebody else's file in /tmp), the earlier ones are taken back. Several renames are not one: a kill among them leaves
// some files old and some new, each of them whole.
//
// Nothing is synced: after a loss of power outputs are made again, and fsync() would cost more than making them.
#include "common/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>

#include "common/text.h"

namespace qgen {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporarySuffix = ".qgen-tmp";
constexpr int kMostLinks = 40;  // as Linux follows
constexpr mode_t kPermissions = 0666;

// ---- errors ---------------------------------------------------------------------------------------------------------

// Failures that the person who named the path can mend.
bool is_wrong_name(int code) {
  return code == ENOENT || code == ENOTDIR || code == EISDIR || code == ELOOP || code == ENAMETOOLONG;
}

std::string_view hint_of(int code) {
  switch (code) {
    case EACCES:
    case EROFS:
    case EPERM: return "check the permissions of the folder";
    case ENOSPC:
    case EDQUOT: return "free some space, then run again: no file was left incomplete";
    case EFBIG: return "raise the limit on the size of files (ulimit -f)";
    case ENXIO: return "start the reader of a named pipe first";
    case ELOOP: return "symbolic links lead in a circle";
    default: return "";
  }
}

Error system_error(std::string_view verb, const std::string& path, int code) {
  return {is_wrong_name(code) ? Error::Kind::not_found : Error::Kind::system,
          fmt::format("cannot {} {}: {}", verb, printable(path), std::strerror(code)), std::string(hint_of(code))};
}

Error is_folder(std::string_view verb, const std::string& path) {
  return {Error::Kind::not_found, fmt::format("cannot {} {}: it is a folder", verb, printable(path)),
          "name a file, or move the folder away"};
}

// A file that cannot be found, and where the link leads that should have led to it.
Error cannot_find(const std::string& path, int code) {
  Error error = system_error("read", path, code);
  std::error_code no_link;
  const fs::path target = fs::read_symlink(path, no_link);
  if (!no_link) error.hint = fmt::format("it is a symbolic link to '{}'", printable(target.string()));
  return error;
}

std::string_view kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFIFO: return "a named pipe";
    case S_IFSOCK: return "a socket";
    case S_IFCHR:
    case S_IFBLK: return "a device";
    default: return "no regular file";
  }
}

Error is_special(const std::string& path, mode_t mode) {
  return {Error::Kind::invalid_argument, fmt::format("cannot read {}: it is {}", printable(path), kind_of(mode)),
          "name a regular file"};
}

// ---- descriptors ----------------------------------------------------------------------------------------------------

class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}
  ~Descriptor() {
    if (file_ >= 0) ::close(file_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return file_; }
  bool is_open() const { return file_ >= 0; }

 private:
  const int file_;
};

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

bool close_file(int& file) {
  const int closing = std::exchange(file, -1);
  return closing < 0 || ::close(closing) == 0;
}

// The descriptor of this process that a path names: /dev/stdout, /dev/fd/3, /proc/self/fd/3, or a link to such.
std::optional<int> own_descriptor(fs::path path) {
  const std::string descriptors = fmt::format("/proc/{}/fd", ::getpid());
  for (int links = 0; links < kMostLinks; ++links) {
    std::error_code code;
    const fs::path folder = fs::canonical(path.has_parent_path() ? path.parent_path() : fs::path("."), code);
    if (code) return std::nullopt;
    if (folder == descriptors) {
      const std::string name = path.filename().string();
      int file = -1;
      std::from_chars(name.data(), name.data() + name.size(), file);
      return file;
    }
    const fs::path target = fs::read_symlink(path, code);
    if (code) return std::nullopt;
    path = folder / target;
  }
  return std::nullopt;
}

// The target of a path without a file, at the end of its links.
std::string behind_links(const std::string& path) {
  fs::path place = path;
  for (int links = 0; links < kMostLinks; ++links) {
    std::error_code code;
    const fs::path target = fs::read_symlink(place, code);
    if (code) break;
    place = place.parent_path() / target;
  }
  std::error_code code;
  const fs::path folder = fs::canonical(place.has_parent_path() ? place.parent_path() : fs::path("."), code);
  return code ? place.string() : (folder / place.filename()).string();
}

std::string folder_of(const std::string& place) {
  const fs::path folder = fs::path(place).parent_path();
  return folder.empty() ? "." : folder.string();
}

// ---- temporary names ------------------------------------------------------------------------------------------------

// Short, whatever the file is called: a name may be as long as the file system takes.
std::string temporary_name(const std::string& place) {
  static std::atomic<unsigned> count{0};
  return fmt::format("{}/.{}-{}{}", folder_of(place), ::getpid(), count++, kTemporarySuffix);
}

// Tries names until `make` returns something other than "exists".
template <typename Make>
int with_temporary_name(const std::string& place, std::string& name, const Make& make) {
  int result = -1;
  do {
    name = temporary_name(place);
    result = make(name.c_str());
  } while (result < 0 && errno == EEXIST);
  if (result < 0) name.clear();
  return result;
}

// The process that a half-written file's name carries; 0: it is no such file.
pid_t writer_of(std::string_view name) {
  if (!name.ends_with(kTemporarySuffix)) return 0;
  name.remove_suffix(kTemporarySuffix.size());
  name = name.substr(name.rfind('.') + 1);
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  return error == std::errc{} && end != name.data() + name.size() && *end == '-' ? pid : 0;
}

// A file without a name; -1 where the file system has none.
int open_unnamed(const std::string& place) {
  return ::open(folder_of(place).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kPermissions);
}

int open_named(const std::string& place, std::string& temporary) {
  return with_temporary_name(place, temporary, [](const char* name) {
    return ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kPermissions);
  });
}

// Names are given through /proc, since linkat() takes a bare descriptor from root only.
bool can_name_descriptors() {
  static const bool can = ::access("/proc/self/fd", X_OK) == 0;
  return can;
}

// How many files may stay open without a name: half of the process's limit.
size_t most_unnamed() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  constexpr rlim_t kMost = 4096;
  return static_cast<size_t>(std::min(limit.rlim_cur, kMost) / 2);
}

}  // namespace

Error in_file(const std::string& path, Error error) {
  error.message = fmt::format("{}: {}", printable(path), error.message);
  return error;
}

// ---- reading --------------------------------------------------------------------------------------------------------

Done check_is_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return cannot_find(path, errno);
  if (S_ISDIR(status.st_mode)) return is_folder("read", path);
  if (S_ISREG(status.st_mode)) return std::monostate{};
  return is_special(path, status.st_mode);
}

Expected<std::string> read_file(const std::string& path, size_t most_bytes) {
  struct stat status {};
  // Before it is opened: to open a device may do something.
  if (::stat(path.c_str(), &status) != 0) return cannot_find(path, errno);
  if (S_ISDIR(status.st_mode)) return is_folder("read", path);
  const auto own = S_ISREG(status.st_mode) ? std::nullopt : own_descriptor(path);
  const bool may_end = own && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || ::isatty(*own) != 0);
  const Descriptor file(may_end                   ? ::fcntl(*own, F_DUPFD_CLOEXEC, 0)
                        : S_ISREG(status.st_mode) ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)
                                                  : -2);
  if (file.get() == -1) return system_error("read", path, errno);
  const bool is_regular = file.is_open() && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode);
  if (!is_regular && !may_end) {
    return is_special(path, status.st_mode);
  }
  const auto too_large = [&] {
    return Error{Error::Kind::invalid_argument,
                 fmt::format("cannot read {}: it has more than {} bytes", printable(path), most_bytes), ""};
  };
  if (is_regular && static_cast<uint64_t>(status.st_size) > most_bytes) return too_large();
  std::string bytes;
  bytes.resize(is_regular ? static_cast<size_t>(status.st_size) : 0);
  size_t size = 0;
  while (true) {
    if (size == bytes.size()) bytes.resize(size + (is_regular ? 1 : 1 << 16));
    const ssize_t got = ::read(file.get(), bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("read", path, errno);
    if (got == 0) break;
    size += static_cast<size_t>(got);
    if (size > most_bytes) return too_large();
  }
  bytes.resize(size);
  return bytes;
}

// ---- writing --------------------------------------------------------------------------------------------------------

Outputs::~Outputs() { clean_up(); }

Done Outputs::make_folder(const std::string& folder) {
  if (folders_.count(folder) != 0) return Done(std::monostate{});
  const fs::path path = fs::path(folder).lexically_normal();
  fs::path made;
  for (const fs::path& part : path) {
    if (part.empty()) continue;  // after the last '/'
    made /= part;
    if (::mkdir(made.c_str(), 0777) == 0) {
      made_folders_.push_back(made.string());
      continue;
    }
    const int reason = errno;
    struct stat status {};
    if (::stat(made.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) continue;
    Error error = system_error("make the folder", folder, reason == EEXIST ? ENOTDIR : reason);
    if (reason == ENOENT) error.kind = Error::Kind::system;  // where nothing can be made, such as /proc
    return error;
  }
  return Done(std::monostate{});
}

void Outputs::keep(const std::string& path, std::string_view why) { kept_.emplace(behind_links(path), why); }

Done Outputs::take_place(const std::string& path, const std::string& place) {
  if (const auto kept = kept_.find(place); kept != kept_.end())
    return refused(fmt::format("cannot write {}: {}", printable(path), kept->second), "name another file");
  if (places_.insert(place).second) return Done(std::monostate{});
  return refused(fmt::format("cannot write {}: two outputs of this command go there", printable(path)),
                 "name two files");
}

Done Outputs::add(const std::string& path, std::string_view bytes, Folder folder) {
  if (folder == Folder::is_made) {
    if (auto made = make_folder(folder_of(path)); !made) return made;
  }
  folders_.insert(folder_of(path));
  struct stat status {};
  const bool is_there = ::stat(path.c_str(), &status) == 0;
  if (!is_there && errno != ENOENT) return system_error("write", path, errno);
  if (is_there && S_ISDIR(status.st_mode)) return is_folder("write", path);
  const auto own = is_there ? own_descriptor(path) : std::nullopt;
  if (own || (is_there && !S_ISREG(status.st_mode))) {
    // Without a reader a named pipe would wait for one, perhaps for ever.
    Stream stream{
        path,
        own ? ::fcntl(*own, F_DUPFD_CLOEXEC, 0) : ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY),
        std::string(bytes)};
    if (stream.file < 0) return system_error("write", path, errno);
    if (!own) ::fcntl(stream.file, F_SETFL, ::fcntl(stream.file, F_GETFL) & ~O_NONBLOCK);
    streams_.push_back(std::move(stream));
    return Done(std::monostate{});
  }
  Staged staged;
  staged.path = path;
  staged.place = behind_links(path);
  if (auto taken = take_place(path, staged.place); !taken) return taken;
  return stage(std::move(staged), bytes, is_there ? static_cast<int>(status.st_mode & 0777) : -1);
}

Done check_can_write(const std::string& path) {
  struct stat status {};
  const bool is_special = ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
  if (is_special) return std::monostate{};  // to open a pipe would tell its reader that it ends
  Outputs never_committed;
  return never_committed.add(path, "");
}

Expected<bool> Outputs::add_if_changed(const std::string& path, std::string_view bytes, Folder folder) {
  const auto present = read_file(path);
  if (present && *present == bytes) {
    folders_.insert(folder_of(path));
    if (auto taken = take_place(path, behind_links(path)); !taken) return taken.error();
    return false;
  }
  if (auto added = add(path, bytes, folder); !added) return added.error();
  return true;
}

// `mode`: of the file that stands there, or -1.
Done Outputs::stage(Staged staged, std::string_view bytes, int mode) {
  staged.file = can_name_descriptors() && staged_.size() < most_unnamed() ? open_unnamed(staged.place) : -1;
  if (staged.file < 0) staged.file = open_named(staged.place, staged.temporary);
  if (staged.file < 0) return system_error("write", staged.path, errno);
  staged_.push_back(std::move(staged));
  Staged& file = staged_.back();
  const bool is_written =
      write_all(file.file, bytes) && (mode < 0 || ::fchmod(file.file, static_cast<mode_t>(mode)) == 0);
  if (!is_written) return system_error("write", file.path, errno);
  // Some file systems say only here that the disk is full.
  if (!file.temporary.empty() && !close_file(file.file)) return system_error("write", file.path, errno);
  return Done(std::monostate{});
}

Done Outputs::commit() {
  for (Stream& stream : streams_) {
    if (!write_all(stream.file, stream.bytes) || !close_file(stream.file)) {
      const Error error = system_error("write", stream.path, errno);
      clean_up();
      return error;
    }
  }
  for (Staged& staged : staged_) {
    if (auto placed = put_in_place(staged); !placed) {
      take_back();
      clean_up();
      return placed;
    }
  }
  is_committed_ = true;
  clean_up();
  for (const std::string& folder : folders_) remove_abandoned_files(folder);
  return Done(std::monostate{});
}

Done Outputs::put_in_place(Staged& staged) {
  if (staged.temporary.empty()) {
    const std::string unnamed = fmt::format("/proc/self/fd/{}", staged.file);
    const int named = with_temporary_name(staged.place, staged.temporary, [&](const char* name) {
      return ::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW);
    });
    if (named < 0 || !close_file(staged.file)) return system_error("write", staged.path, errno);
  }
  const char* from = staged.temporary.c_str();
  const char* to = staged.place.c_str();
  const bool is_alone = staged_.size() == 1;
  if (!is_alone && ::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) {
    staged.state = State::created;
  } else if (!is_alone && errno == EEXIST && ::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0) {
    staged.state = State::swapped;
  } else if (::rename(from, to) == 0) {  // alone, or where the file system cannot exchange
    staged.state = State::replaced;
  } else {
    return system_error("write", staged.path, errno);
  }
  if (staged.state != State::swapped) staged.temporary.clear();
  return Done(std::monostate{});
}

void Outputs::take_back() {
  for (auto staged = staged_.rbegin(); staged != staged_.rend(); ++staged) {
    const char* place = staged->place.c_str();
    if (staged->state == State::created) ::unlink(place);
    if (staged->state == State::swapped) {
      ::renameat2(AT_FDCWD, staged->temporary.c_str(), AT_FDCWD, place, RENAME_EXCHANGE);
    }
  }
}

// Files that are not in place, exchanged old files included.
void Outputs::clean_up() {
  for (Staged& staged : staged_) {
    close_file(staged.file);
    if (!staged.temporary.empty()) ::unlink(staged.temporary.c_str());
  }
  for (Stream& stream : streams_) close_file(stream.file);
  staged_.clear();
  streams_.clear();
  if (is_committed_) return;
  std::for_each(made_folders_.rbegin(), made_folders_.rend(), [](const std::string& made) { ::rmdir(made.c_str()); });
  made_folders_.clear();
}

Done write_file(const std::string& path, std::string_view bytes) {
  Outputs outputs;
  if (auto added = outputs.add(path, bytes, Outputs::Folder::is_made); !added) return added;
  return outputs.commit();
}

// ---- folders --------------------------------------------------------------------------------------------------------

Expected<std::vector<std::string>> list_files(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code code;
  fs::recursive_directory_iterator entry(folder, code);
  for (; !code && entry != fs::recursive_directory_iterator(); entry.increment(code)) {
    std::error_code ignored;
    const bool is_folder_itself = entry->symlink_status(ignored).type() == fs::file_type::directory;
    if (is_folder_itself || writer_of(entry->path().filename().string()) > 0) continue;
    names.push_back(entry->path().lexically_relative(folder).generic_string());
  }
  if (code) return system_error("read", folder, code.value());
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::string> user_cache_folder() {
  // A relative one has no effect: the specification of XDG_CACHE_HOME says so.
  if (const char* cache = ::getenv("XDG_CACHE_HOME"); cache && *cache == '/') return std::string(cache) + "/qgen";
  if (const char* home = ::getenv("HOME"); home && *home) return std::string(home) + "/.cache/qgen";
  return std::nullopt;
}

void remove_abandoned_files(const std::string& folder) {
  std::error_code code;
  for (fs::directory_iterator entry(folder, code); !code && entry != fs::directory_iterator(); entry.increment(code)) {
    const pid_t writer = writer_of(entry->path().filename().string());
    const bool is_abandoned = writer > 0 && ::kill(writer, 0) != 0 && errno == ESRCH;
    std::error_code ignored;
    if (is_abandoned) fs::remove(entry->path(), ignored);
  }
}

}  // namespace qgen
