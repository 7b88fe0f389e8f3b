// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/support/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

namespace qgen {
namespace {

namespace fs = std::filesystem;

// Half-written files are called "<name>.<pid>-<count>.qgen-tmp".
constexpr std::string_view kTemporarySuffix = ".qgen-tmp";

Error system_error(std::string_view verb, const std::string& path, int code) {
  const char* hint = code == EACCES || code == EROFS    ? "check the permissions of the folder"
                     : code == ENOSPC || code == EDQUOT ? "free some space, then run again: no file was left in half"
                     : code == EFBIG                    ? "raise the limit on the size of files (ulimit -f)"
                                                        : "";
  return {Error::Kind::system, fmt::format("cannot {} {}: {}", verb, path, std::strerror(code)), hint};
}

// A path that is not there, or is of the wrong sort, was named wrongly.
Error read_error(const std::string& path, int code) {
  Error error = system_error("read", path, code);
  if (code == ENOENT || code == ENOTDIR || code == EISDIR) error.kind = Error::Kind::not_found;
  return error;
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  bool close() {
    const int fd = std::exchange(fd_, -1);
    return fd < 0 || ::close(fd) == 0;
  }

 private:
  int fd_;
};

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> count{0};
  return fmt::format("{}.{}-{}{}", path, ::getpid(), count++, kTemporarySuffix);
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

}  // namespace

Expected<std::string> read_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return read_error(path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return read_error(path, errno);
  if (S_ISDIR(status.st_mode)) return read_error(path, EISDIR);
  std::string bytes;
  bytes.resize(static_cast<size_t>(status.st_size));
  size_t size = 0;
  while (true) {
    if (size == bytes.size()) bytes.resize(size + (S_ISREG(status.st_mode) ? 1 : 1 << 16));
    const ssize_t got = ::read(file.get(), bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return read_error(path, errno);
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  bytes.resize(size);
  return bytes;
}

Expected<bool> write_if_changed(const std::string& path, std::string_view bytes) {
  const auto present = read_file(path);
  if (present && *present == bytes) return false;
  if (auto written = write_file(path, bytes); !written) return written.error();
  return true;
}

Done write_file(const std::string& path, std::string_view bytes) {
  std::error_code code;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) fs::create_directories(folder, code);
  if (code) return system_error("make the folder", folder.string(), code.value());

  const std::string temporary = temporary_name(path);
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.is_open()) return system_error("write", path, errno);
  const bool is_written =
      write_all(file.get(), bytes) && file.close() && ::rename(temporary.c_str(), path.c_str()) == 0;
  if (is_written) return Done(std::monostate{});
  const int reason = errno;
  ::unlink(temporary.c_str());
  return system_error("write", path, reason);
}

Expected<std::vector<std::string>> list_files(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code code;
  fs::recursive_directory_iterator entry(folder, code);
  for (; !code && entry != fs::recursive_directory_iterator(); entry.increment(code)) {
    std::error_code ignored;
    if (!entry->is_regular_file(ignored) || writer_of(entry->path().filename().string()) > 0) continue;
    names.push_back(entry->path().lexically_relative(folder).generic_string());
  }
  if (code) return read_error(folder, code.value());
  std::sort(names.begin(), names.end());
  return names;
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
