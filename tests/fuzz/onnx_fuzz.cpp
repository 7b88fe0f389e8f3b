// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Any bytes as an ONNX model: refused with a message, or a graph whose nodes read only earlier values.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "runtime/models/onnx/import.h"
#include "runtime/models/onnx/reader.h"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto imported =
      qgen::onnx::import_model(std::as_bytes(std::span(data, size)), {.limits = {.data_bytes = 1 << 20}});
  if (!imported) {
    check(!imported.error().message.empty());
    return 0;
  }
  const qgen::graph::Graph& graph = imported->graph;
  std::vector<bool> is_written(graph.values.size(), false);
  for (size_t i = 0; i < graph.values.size(); ++i) is_written[i] = graph.values[i].data != nullptr;
  for (const auto input : graph.inputs) is_written.at(input) = true;
  for (const auto& node : graph.nodes) {
    for (const auto& port : node.inputs) check(is_written.at(port.value));
    for (const auto& port : node.outputs) {
      check(!is_written.at(port.value));
      is_written[port.value] = true;
    }
  }
  for (const auto& output : graph.outputs) check(is_written.at(output.value));
  for (const auto& note : imported->notes) check(!note.reason.empty());
  return 0;
}
