// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/cache/file_stamps.h"

#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <filesystem>

namespace qgen::cache {
namespace {

namespace fs = std::filesystem;

int64_t nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

std::optional<FileStamp> stamp_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileStamp{path,
                   status.st_dev,
                   status.st_ino,
                   static_cast<uint64_t>(status.st_size),
                   nanoseconds(status.st_mtim),
                   nanoseconds(status.st_ctim)};
}

}  // namespace

std::optional<FileStamp> settled_stamp(const std::string& path) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  auto stamp = stamp_of(path);
  if (stamp && nanoseconds(now) - std::max(stamp->changed_ns, stamp->modified_ns) < kSettledNs) return std::nullopt;
  return stamp;
}

std::optional<std::vector<FileStamp>> settled_stamps(const std::vector<std::string>& paths) {
  std::vector<FileStamp> stamps;
  const auto add = [&](const std::string& path) {
    auto stamp = settled_stamp(path);
    if (stamp) stamps.push_back(*std::move(stamp));
    return stamp.has_value();
  };
  for (const std::string& path : paths) {
    if (!add(path)) return std::nullopt;
    std::error_code code;
    if (!fs::is_directory(path, code)) continue;
    auto entry = fs::recursive_directory_iterator(path, code);
    for (; !code && entry != fs::end(entry); entry.increment(code)) {
      if (!add(entry->path().string())) return std::nullopt;
    }
    if (code) return std::nullopt;
  }
  return stamps;
}

bool are_unchanged(std::span<const FileStamp> stamps) {
  return std::ranges::all_of(stamps, [](const FileStamp& stamp) { return stamp_of(stamp.path) == stamp; });
}

}  // namespace qgen::cache
