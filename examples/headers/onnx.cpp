// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen/onnx.h: an ONNX model as a graph.
//
//   onnx MODEL
#include "qgen/onnx.h"

#include <cstdio>

#include "common.h"

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const qgen::onnx::Imported model = or_exit(qgen::onnx::import_model(std::filesystem::path(arguments[1])));
  for (const auto& node : model.graph.nodes) std::printf("%s: %s\n", node.name.c_str(), node.op.c_str());
  for (const auto& note : model.notes) std::printf("note: %s: %s\n", note.node.c_str(), note.reason.c_str());
}
