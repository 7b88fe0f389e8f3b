// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Runs a model that was compiled for named devices (`qgen-model compile --for`, qgen_add_model). Loading it parses no
// ONNX, chooses nothing and packs nothing. It needs no operator of the program: the file has its kernels.
//
//   auto model = graph::FixedModel::open(device, file, {});
//   const auto outputs = model->run({{"image", picture}});             // waits
//
// An engine records it between its own commands, on its own buffers (docs/engines.md):
//
//   DeviceTensor arena = *model->executor().wrap(mine, DType::u8, {model->arena_bytes()});
//   model->prepare(&arena);
//   Commands frame = *model->executor().commands({});
//   model->record(frame, {{"image", &x}}, {{"scores", &y}});           // tensors of model->executor()
//
// A model belongs to one thread at a time. Open it again for another thread.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "runtime/models/graph/bound_graph.h"

namespace qgen::graph {

class FixedModel {
 public:
  // Reads the part for this device; `file` may then go. Errors: the file is none or is damaged; the device can run no
  // part, with the reason of each.
  static Expected<FixedModel> open(const Device& device, std::span<const std::byte> file,
                                   const ExecutorOptions& options);

  // Uploads the weights, makes the pipelines, and records; once. `arena`: where the tensors between the layers lie, a
  // tensor of executor() in a buffer, of arena_bytes(); null: memory of the executor's. Errors: the arena is too small,
  // those of the device.
  Done prepare(const DeviceTensor* arena = nullptr);
  uint64_t arena_bytes() const;

  // Both prepare it first, if that was not done. Errors: those of BoundGraph.
  Expected<Tensors> run(const Tensors& inputs);
  Done record(Commands& commands, const LentTensors& inputs, const LentTensors& outputs);

  // A dtype and a shape, without data.
  Tensors inputs() const;
  Tensors outputs() const;
  // Of a model that was moved from: "", an executor that was moved from, a library without operators. The executor is
  // a part of the model and moves with it.
  const std::string& compiled_for() const;  // the name of the device that the part was made for
  Executor& executor();
  const KernelLibrary& library() const;  // its kernels

  FixedModel(FixedModel&&) noexcept;
  FixedModel& operator=(FixedModel&&) noexcept;
  ~FixedModel();

 private:
  struct State;
  FixedModel(std::unique_ptr<State> state, Executor executor);
  std::unique_ptr<State> state_;
  Executor executor_;  // of the part's kernels
};

}  // namespace qgen::graph
