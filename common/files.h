// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// All reading and writing of files in qgen's programs.
//
// The files of a command appear completely, and either all of them or none. Each is written to a temporary file without
// a name, in the folder of its path. When the last one is complete, they are renamed to their paths. A full disk, a
// limit on the size of files, or a kill before that leaves only the old files.
//
//   Outputs outputs;
//   if (Done done = outputs.add("q.npy", q); !done) return done;
//   if (Done done = outputs.add("scale.npy", scale); !done) return done;
//   return outputs.commit();
//
// A path that is no regular file (a device, a pipe, /dev/stdout) is written directly. A symbolic link is followed, and
// stays. Errors name the path. A wrong path (missing, a folder, too long) is Kind::not_found or invalid_argument; a
// failure of the machine is Kind::system.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"

namespace qgen {

// Of a regular file, or of a descriptor that this process was started with (/dev/stdin, /dev/fd/3). Any other pipe,
// socket or device is refused, since it may have no end. So is a file larger than `most_bytes`.
Expected<std::string> read_file(const std::string& path, size_t most_bytes = std::numeric_limits<size_t>::max());

// An error about what is in a file, with the file's name before it: "model.onnx: it has no nodes". For the contents
// alone: the errors of this header name their path.
Error in_file(const std::string& path, Error error);

// Whether it is a regular file, also through links. A file that another library opens is checked so: SQLite would wait
// for a pipe without end.
Done check_is_file(const std::string& path);

// Whether a command may write this file, asked before work that takes long. Nothing is written.
Done check_can_write(const std::string& path);

// The files that one command writes.
class Outputs {
 public:
  Outputs() = default;
  ~Outputs();  // without a commit(), nothing was written
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;

  enum class Folder { must_exist, is_made };  // the folder that a file goes to
  // The contents of `path`. Two files with the same path are refused.
  Done add(const std::string& path, std::string_view bytes, Folder folder = Folder::must_exist);
  // Adds the file only if its contents differ from the existing file, so that time stamps stay. True: added.
  Expected<bool> add_if_changed(const std::string& path, std::string_view bytes, Folder folder = Folder::must_exist);
  // No file of the command may replace this one. `why`: such as "this command reads it".
  void keep(const std::string& path, std::string_view why);
  Done commit();

 private:
  enum class State { staged, created, swapped, replaced };
  // A file that is complete but not yet renamed to its path.
  struct Staged {
    std::string path;       // the name as given
    std::string place;      // with all symbolic links resolved
    std::string temporary;  // in the same folder; empty while the file has no name
    int file = -1;          // open while the file has no name
    State state = State::staged;
  };
  // A file that is written directly: it has no old state to keep.
  struct Stream {
    std::string path;
    int file = -1;
    std::string bytes;
  };

  Done make_folder(const std::string& folder);
  Done take_place(const std::string& path, const std::string& place);
  Done stage(Staged staged, std::string_view bytes, int mode);
  Done put_in_place(Staged& staged);
  void take_back();
  void clean_up();

  std::vector<Staged> staged_;
  std::vector<Stream> streams_;
  std::set<std::string> places_;             // of all that is staged, or as it should be already
  std::map<std::string, std::string> kept_;  // place, and why
  std::set<std::string> folders_;            // that files went to
  std::vector<std::string> made_folders_;
  bool is_committed_ = false;
};

// A single file, with its folder.
Done write_file(const std::string& path, std::string_view bytes);

// The files below a folder, '/'-separated relative to it, sorted by name. Everything that is no folder counts, links
// included; whoever reads them reports those that cannot be read. Links to folders are not followed, and temporary
// files of a running command are left out. Error: a folder cannot be read.
Expected<std::vector<std::string>> list_files(const std::string& folder);

// The folder for caches: $XDG_CACHE_HOME/qgen if that is absolute, or else ~/.cache/qgen; nullopt: neither is known.
std::optional<std::string> user_cache_folder();

// Removes incomplete files that killed runs left in one folder. commit() does so in the folders that it writes to.
void remove_abandoned_files(const std::string& folder);

}  // namespace qgen
