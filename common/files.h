// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The only ways in which qgen's programs touch files.
//
// What a command writes appears whole, and all of it or none: every file is written beside its place under no name at
// all, and only when the last one is complete are they named and put in place. A full disk, a limit on the size of
// files or a kill before that moment leaves the old files and nothing else.
//
//   Outputs outputs;
//   if (Done done = outputs.add("q.npy", q); !done) return done;
//   if (Done done = outputs.add("scale.npy", scale); !done) return done;
//   return outputs.commit();
//
// A place that is no regular file (a device, a pipe, /dev/stdout) is written through; a symbolic link is followed, and
// stays. Errors name the path. What was named wrongly (not there, a folder, too long) is Kind::not_found or
// invalid_argument, what the machine cannot do Kind::system.
#pragma once

#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"

namespace qgen {

// Of a regular file, or of a descriptor that this process was started with (/dev/stdin, /dev/fd/3). Any other pipe,
// socket or device is refused, since it may have no end; so is what is larger than `most_bytes`.
Expected<std::string> read_file(const std::string& path, size_t most_bytes = std::numeric_limits<size_t>::max());

// The files that one command writes.
class Outputs {
 public:
  Outputs() = default;
  ~Outputs();  // without a commit(), nothing was written
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;

  enum class Folder { must_exist, is_made };  // the folder that a file goes to
  // What `path` will hold. Two files of one place are refused.
  Done add(const std::string& path, std::string_view bytes, Folder folder = Folder::must_exist);
  // Only what differs from what is there, so that time stamps tell the truth. True: added.
  Expected<bool> add_if_changed(const std::string& path, std::string_view bytes, Folder folder = Folder::must_exist);
  Done commit();

 private:
  enum class State { staged, created, swapped, replaced };
  // A file that is complete and not yet in its place.
  struct Staged {
    std::string path;       // as it was named
    std::string place;      // behind all symbolic links
    std::string temporary;  // beside the place; empty while the file has no name
    int file = -1;          // open while the file has no name
    State state = State::staged;
  };
  // What is written through: it has no old state that could be kept, and may be gone once written.
  struct Stream {
    std::string path;
    int file = -1;
    std::string bytes;
  };

  Done make_folder(const std::string& folder);
  Done stage(Staged staged, std::string_view bytes, int mode);
  Done put_in_place(Staged& staged);
  void take_back();
  void clean_up();

  std::vector<Staged> staged_;
  std::vector<Stream> streams_;
  std::set<std::string> places_;   // of all that is staged
  std::set<std::string> folders_;  // that files went to
  std::vector<std::string> made_folders_;
  bool is_committed_ = false;
};

// One file by itself, with its folder.
Done write_file(const std::string& path, std::string_view bytes);

// The files below a folder, '/'-separated relative to it, sorted by name: whatever is no folder, links included, so
// that what cannot be read is told by who reads it. Links to folders are not followed, and what is only being written
// is none. A folder that cannot be read is an error.
Expected<std::vector<std::string>> list_files(const std::string& folder);

// Where qgen keeps what it can make again: $XDG_CACHE_HOME/qgen, or ~/.cache/qgen; nullopt where neither is known.
std::optional<std::string> user_cache_folder();

// Removes what runs that were killed left half-written in one folder. commit() does so where it writes.
void remove_abandoned_files(const std::string& folder);

}  // namespace qgen
