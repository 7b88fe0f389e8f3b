// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A quantized ONNX model as a graph of qgen's operators. docs/onnx.md says what is imported and what becomes of it.
//
//   const auto model = onnx::import_model("resnet50_int8.onnx");
//   if (!model) return model.error();   // "node 'Softmax_12' (Softmax): needs an operator for softmax"
//   for (const onnx::Note& note : model->notes) print(note.node, note.reason);
//   graph::infer(model->graph, operators, {{"image", {8, 3, 224, 224}}});
//
// Nodes of the graph are called after the model's: "Conv_5 + Relu_6 + Add_7". Bytes are signed in the graph; an input
// or output that is unsigned in the model stays so.
#pragma once

#include <filesystem>

#include "runtime/onnx/builder.h"
#include "runtime/onnx/reader.h"

namespace qgen::onnx {

struct Imported {
  graph::Graph graph;
  std::vector<Note> notes;  // what runs in reals or otherwise than the model says it, and why
};

// For people: a reason once, with the first of its nodes and how many there are.
std::vector<std::string> texts_of(std::span<const Note> notes);

struct ImportOptions {
  // Inputs of the model that are known already, scales above all: they become constants.
  Tensors constants = {};
  ReadLimits limits = {};
  // Without: each node that computes is an operator by itself, which gives reals; those are quantized where the model
  // says it, and are dequantized before they move. Slow, and what is fused can be held to it.
  bool fuses = true;
};

Expected<Imported> import_model(const std::filesystem::path& file, const ImportOptions& options = {});
// External data are refused.
Expected<Imported> import_model(std::span<const std::byte> file, const ImportOptions& options = {});
Expected<Imported> import_model(Model model, const ImportOptions& options = {});

}  // namespace qgen::onnx
