// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The inputs and outputs of the last run into one output folder. If the inputs are the same now, and the outputs are
// still there with the same bytes, there is nothing to do. A run that compared all bytes leaves the stamps of the files.
// If a later run finds the same stamps, it reads no file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/cache/figures.h"
#include "codegen/cache/file_stamps.h"
#include "codegen/support/digest.h"
#include "common/error.h"

namespace qgen::cache {

struct RunMemo {
  Digest inputs;  // of every file's name and content, the options, and the versions of the compilers
  struct Output {
    std::string path;  // relative to the output folder
    uint64_t bytes = 0;
    Digest content;
  };
  std::vector<Output> outputs;
  std::vector<std::string> files_read;  // for the depfile
  Figures figures;                      // of the run that made the outputs
  Digest request;                       // of the arguments and the versions, and of no file's contents
  std::vector<FileStamp> stamps;        // of all inputs and outputs; empty: the contents decide
};

// nullopt: none, or damaged.
std::optional<RunMemo> load_memo(const std::string& path);
Done store_memo(const std::string& path, const RunMemo& memo);

// Whether `folder` has every output unchanged.
bool has_all_outputs(const RunMemo& memo, const std::string& folder);

}  // namespace qgen::cache
