// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A remark of an import about one node: its results may differ, or it is slow.
#pragma once

#include <string>

namespace qgen::onnx {

// A part that does not run in integers, with the reason.
struct Note {
  std::string node;
  std::string reason;
};

}  // namespace qgen::onnx
