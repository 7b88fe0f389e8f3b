// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Stamps of files: what the file system says of them without reading them. A file whose stamp is the same has the same
// contents, since each write, rename and change of attributes sets the time that no program can choose (st_ctime).
//
// This time has a resolution, so a file may change twice with one stamp. Therefore a stamp counts only if it was taken
// at least kSettledNs after that time. Two seconds cover FAT, and small differences to the clock of a file server.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace qgen::cache {

struct FileStamp {
  std::string path;
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t bytes = 0;
  int64_t modified_ns = 0;
  int64_t changed_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

constexpr int64_t kSettledNs = 2'000'000'000;

// Of the file or folder that the path leads to; nullopt: there is none, or it changed less than kSettledNs ago.
std::optional<FileStamp> settled_stamp(const std::string& path);

// Of the paths, and of all files and folders below them; so a new file changes the stamp of its folder. nullopt: one of
// them has no settled stamp.
std::optional<std::vector<FileStamp>> settled_stamps(const std::vector<std::string>& paths);

// Whether all have these stamps now.
bool are_unchanged(std::span<const FileStamp> stamps);

}  // namespace qgen::cache
