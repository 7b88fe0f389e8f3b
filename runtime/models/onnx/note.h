// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What an import tells of a node beside the graph.
#pragma once

#include <string>

namespace qgen::onnx {

// What was not done in integers, and why.
struct Note {
  std::string node;
  std::string reason;
};

}  // namespace qgen::onnx
