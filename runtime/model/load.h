// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A model from a file, whatever its kind.
#pragma once

#include <filesystem>

#include "runtime/graph/graph.h"

namespace qgen::model {

struct Loaded {
  graph::Graph graph;
  std::vector<std::string> notes;  // for people: what runs otherwise than they may think
  double parse_ms = 0;             // the file
  double fuse_ms = 0;              // its patterns
};
// Errors: the file cannot be read, or is refused.
Expected<Loaded> load(const std::filesystem::path& file);

}  // namespace qgen::model
