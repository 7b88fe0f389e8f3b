// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A graph with its constants on a device, prepared for each set of input shapes that it is run with.
//
//   auto model = Model::create(context, operators, graph, {});
//   const auto outputs = model.run({{"image", picture}});      // prepares it for [1, 3, 224, 224], and replays
//   const auto others = model.run({{"image", pictures}});      // and for [8, 3, 224, 224]: the same weights
//
// An engine records it between its own commands, on its own buffers (docs/engines.md):
//
//   const uint64_t bytes = *model.arena_bytes(shapes);                 // of the caller's buffer, which wrap() has made
//   model.prepare(shapes, &arena);
//   model.record(frame, {{"image", &x}}, {{"scores", &y}});            // in each frame, without waiting
//
// The most recently used shapes stay prepared. For another thread, use a context whose executor was made by
// create_beside(). Models made by beside() share weights; each has separate recordings and tensors:
//
//   Model own = model->beside(context_of_the_thread);
#pragma once

#include <list>
#include <memory>
#include <mutex>

#include "runtime/models/graph/compiled.h"
#include "runtime/models/graph/prepared.h"

namespace qgen::graph {

struct ModelOptions {
  size_t most_prepared = 4;
  OnProgress on_progress = {};
  InputShapes states = {};  // shapes of states that have open sides, for calls that do not give them
};

class Model {
 public:
  // `context` and `operators` must outlive it. Does no work yet: errors are those of the first prepare().
  static Model create(Context& context, OperatorEntries operators, Graph graph, const ModelOptions& options);
  // Of one that was compiled. Choices hold on the same device with the same kernels, at the same shapes; with the
  // library of its own kernels, these are the same. Else it is chosen anew, which is_chosen_anew() then says, and which
  // needs a library that has kernels to choose from.
  static Model create(Context& context, OperatorEntries operators, Compiled compiled, const ModelOptions& options);
  Model beside(Context& context) const;

  // Ready for these shapes, until other shapes have replaced them. Errors: the errors of Prepared::create(). `arena`:
  // PrepareOptions::arena, which must be there as long as these shapes are prepared; null: memory of the executor's.
  // Where they are prepared already, they keep the arena that they have. `kept`: PrepareOptions::kept; `given` has their
  // shapes too.
  Expected<Prepared*> prepare(const InputShapes& given, const DeviceTensor* arena = nullptr,
                              const LentTensors& kept = {});
  // The arena's size for these shapes. It plans them, and prepare() then need not.
  Expected<uint64_t> arena_bytes(const InputShapes& given);
  // All inputs in but states, and all outputs out but states. States of one shape are shared by all shapes of the
  // others.
  Expected<Tensors> run(const Tensors& inputs);
  // The memory of all states becomes 0.
  Done clear_states();
  // Prepared::record(), for the shapes of these inputs, which must all be given. Where they are not prepared, they are,
  // which takes time and waits for uploads.
  Done record(Commands& commands, const LentTensors& inputs, const LentTensors& outputs = {});

  // Of the shapes that were prepared last. Errors: no outputs yet, and the errors of downloading.
  Expected<Compiled> compiled() const;
  bool is_chosen_anew() const { return is_chosen_anew_; }

  const Graph& graph() const;       // of one that was moved from: empty
  uint64_t constant_bytes() const;  // on the device
  uint64_t state_bytes() const;     // likewise

 private:
  struct Shared {
    Graph graph;
    std::optional<Constants> constants;
    std::optional<Compiled> compiled;  // its graph and weights are those above
    std::mutex mutex;
  };
  // Where the kept inputs lie.
  using Places = std::map<std::string, std::shared_ptr<const DeviceTensor::Memory>, std::less<>>;
  struct Ready {
    InputShapes shapes;
    Places kept;
    std::unique_ptr<Prepared> prepared;
  };

  Model(Context& context, OperatorEntries operators, std::shared_ptr<Shared> shared, ModelOptions options)
      : context_(&context), operators_(operators), options_(std::move(options)), shared_(std::move(shared)) {}
  // With the lock of shared_ held.
  Expected<Inferred> infer_shapes(const InputShapes& shapes);  // and makes the constants, where they are not there
  PrepareOptions options_for(const InputShapes& shapes) const;
  Expected<Planned> plan(const InputShapes& shapes, const Inferred& inferred);
  Expected<std::unique_ptr<Prepared>> make(const InputShapes& shapes, const DeviceTensor* arena,
                                           const LentTensors& kept);
  // With the shapes of states that are not given.
  InputShapes whole(InputShapes shapes) const;
  Expected<LentTensors> states_for(const Inferred& inferred);
  const Decision* decision_for(const InputShapes& shapes) const;
  const OwnKernels* own_kernels() const;  // null: the context has another library
  std::vector<uint64_t> digests_of(const Schedule& schedule) const;
  bool has_same_kernels(const Schedule& schedule) const;

  Context* context_;
  OperatorEntries operators_;
  ModelOptions options_;
  std::shared_ptr<Shared> shared_;
  bool is_chosen_anew_ = false;
  std::list<Ready> ready_;                  // the most recently used first
  std::map<InputShapes, Planned> planned_;  // by arena_bytes(), until they are prepared
  std::map<std::pair<std::string, Shape>, DeviceTensor> states_;
};

}  // namespace qgen::graph
