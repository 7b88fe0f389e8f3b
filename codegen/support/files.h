// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The only ways in which qgen touches files. A file appears whole or not at all: it is written beside its place and
// renamed, so a run that is killed, or a second run in the same folder, leaves no half of one. Errors name the path;
// to read what is not there is Kind::not_found, whatever else goes wrong Kind::system.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/library/error.h"

namespace qgen {

Expected<std::string> read_file(const std::string& path);

// Writes only what differs from what is there, so that time stamps tell the truth. True: written.
Expected<bool> write_if_changed(const std::string& path, std::string_view bytes);

// Makes the folder of `path` too.
Done write_file(const std::string& path, std::string_view bytes);

// The files below a folder, '/'-separated relative to it, sorted by name; symbolic links to files count, links to
// folders are not followed, and what is only being written is none. A folder that cannot be read is an error.
Expected<std::vector<std::string>> list_files(const std::string& folder);

// Removes what runs that were killed left half-written in one folder.
void remove_abandoned_files(const std::string& folder);

}  // namespace qgen
