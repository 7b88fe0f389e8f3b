// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Imports a quantized ONNX model as a graph of qgen's operators. docs/onnx.md lists the imported nodes and their
// operators.
//
//   const auto model = onnx::import_model("resnet50_int8.onnx");
//   if (!model) return model.error();   // "node 'Sqrt_12' (Sqrt): needs an operator for roots of a tensor"
//   for (const onnx::Note& note : model->notes) print(note.node, note.reason);
//   graph::infer(model->graph, operators, {{"image", {8, 3, 224, 224}}});
//
// Nodes of the graph have names made of the model's: "Conv_5 + Relu_6 + Add_7". Bytes are signed in the graph. An input
// or output that is unsigned in the model stays unsigned.
#pragma once

#include <filesystem>

#include "runtime/models/graph/graph.h"
#include "runtime/models/onnx/note.h"
#include "runtime/models/onnx/read_limits.h"

namespace qgen::onnx {

struct Model;       // model.h
struct ModelGraph;  // model.h

struct Imported {
  graph::Graph graph;
  std::vector<Note> notes;  // parts that run in floating point or otherwise differ from the model, with the reason
};

// Nodes of one operator that are not imported, for one reason.
struct Lack {
  std::string op, domain;
  std::string reason, hint;  // the reason's first line is the one to mend
  std::vector<std::string> nodes;
};
// The operators that a model needs; if none is missing, it can be imported.
struct Support {
  size_t nodes = 0;         // that its outputs need
  std::vector<Lack> lacks;  // in the order of their first nodes
};

// For people: a reason once, with the first of its nodes and how many there are.
std::vector<std::string> texts_of(std::span<const Note> notes);

// A tensor that stays on the device between runs: an input of the model, and the output that the next run gets as this
// input.
struct StateNames {
  std::string input, output;
  bool operator==(const StateNames&) const = default;
};
// The caches of a language model, by the names that exporters give: past_key_values.0.key and present.0.key, past_key_0
// and present_key_0.
std::vector<StateNames> states_of(const ModelGraph& graph);

// i32 [B]: the position of the last new token of each sequence.
constexpr std::string_view kLastPositions = "last_positions";
// i64 [T], i32 in the graph: 0, 1, 2 ... up to the capacity.
constexpr std::string_view kKeyPositions = "key_positions";
// Inputs of language models: [B, S], [B, past + S] and [B, S].
constexpr std::string_view kTokens = "input_ids", kAttentionMask = "attention_mask", kPositions = "position_ids";

struct ImportOptions {
  // Inputs of the model that are known already, scales above all: they become constants. Where qgen lacks the model's
  // type: i32 for int64, u32 for uint64, u8 for booleans, f32 for f64.
  Tensors constants = {};
  // Of inputs whose sides have names: the sides become these numbers, wherever the names stand among inputs.
  graph::InputShapes shapes = {};
  ReadLimits limits = {};
  // Without fusion: each computing node is a separate operator with a floating-point result. The result is quantized if
  // the model quantizes it, and dequantized before a node that moves elements. Slow; tests compare fused models with
  // it.
  bool fuses = true;
  // Caches of layers of attention become states of the graph. Their third dimension is then the capacity, in keys. How
  // many keys there are is in `seqlens_k` of a GroupQueryAttention; others get the input kLastPositions, and a bias of
  // positions the input kKeyPositions. A model that chooses between a branch with caches and one without, by an input
  // use_cache_branch, takes the one with caches, unless `constants` has this input.
  std::vector<StateNames> states = {};
  bool finds_states = false;  // those of states_of(), if `states` is empty
  // A token's position in the input position_ids is its place in the caches, as Generator writes it. Then rotations and
  // writes of caches may be one operator. Positions that a model computes are so without this option.
  bool positions_follow_caches = false;
};

Expected<Imported> import_model(const std::filesystem::path& file, const ImportOptions& options = {});
// External data are refused.
Expected<Imported> import_model(std::span<const std::byte> file, const ImportOptions& options = {});
Expected<Imported> import_model(Model model, const ImportOptions& options = {});
// Errors: an unreadable file, or one that violates the ONNX specification.
Expected<Support> check_support(Model model, const ImportOptions& options = {});

}  // namespace qgen::onnx
