// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/model.h"

#include <algorithm>
#include <utility>

namespace qgen::graph {

Model Model::create(Context& context, OperatorEntries operators, Graph graph, const ModelOptions& options) {
  auto shared = std::make_shared<Shared>();
  shared->graph = std::move(graph);
  return {context, operators, std::move(shared), options};
}

Model Model::create(Context& context, OperatorEntries operators, Compiled compiled, const ModelOptions& options) {
  auto shared = std::make_shared<Shared>();
  shared->graph = std::exchange(compiled.graph, {});
  shared->compiled.emplace(std::move(compiled));
  return {context, operators, std::move(shared), options};
}

Model Model::beside(Context& context) const { return {context, operators_, shared_, options_}; }

Expected<Inferred> Model::infer_shapes(const InputShapes& shapes) {
  auto inferred = infer(shared_->graph, operators_, shapes);
  if (!inferred || shared_->constants) return inferred;
  Constants::SavedWeights saved;
  if (shared_->compiled) saved = std::exchange(shared_->compiled->weights, {});
  auto constants = Constants::create(shared_->graph, *inferred, std::move(saved));
  if (!constants) return constants.error();
  shared_->constants.emplace(*std::move(constants));
  return inferred;
}

PrepareOptions Model::options_for(const InputShapes& shapes) const {
  return {.on_progress = options_.on_progress, .decision = decision_for(shapes), .own_kernels = own_kernels()};
}

Expected<Planned> Model::plan(const InputShapes& shapes, const Inferred& inferred) {
  if (auto known = planned_.extract(shapes)) return std::move(known.mapped());
  PrepareOptions how = options_for(shapes);
  if (how.own_kernels && !how.decision)
    return Error{Error::Kind::unsupported, "the model contains kernels for another device, driver or shapes only",
                 "compile it for this device and these shapes, or run it with a program that has a kernel library"};
  auto planned = Prepared::plan(*context_, operators_, shared_->graph, inferred, *shared_->constants, how);
  is_chosen_anew_ =
      shared_->compiled && !how.own_kernels && !(how.decision && planned && has_same_kernels(planned->schedule));
  if (!how.decision || !is_chosen_anew_) return planned;
  how.decision = nullptr;
  return Prepared::plan(*context_, operators_, shared_->graph, inferred, *shared_->constants, how);
}

// One thread at a time, so that a second thread finds the uploads of the first.
Expected<std::unique_ptr<Prepared>> Model::make(const InputShapes& shapes, const DeviceTensor* arena,
                                                const LentTensors& kept) {
  const std::lock_guard lock(shared_->mutex);
  const auto inferred = infer_shapes(shapes);
  if (!inferred) return inferred.error();
  auto planned = plan(shapes, *inferred);
  if (!planned) return planned.error();
  PrepareOptions how = options_for(shapes);
  how.arena = arena;
  how.kept = kept;
  auto states = states_for(*inferred);
  if (!states) return states.error();
  how.states = *std::move(states);
  auto prepared = Prepared::create(*context_, shared_->graph, *std::move(planned), *shared_->constants, how);
  if (prepared) shared_->constants->release(shared_->graph);
  return prepared;
}

InputShapes Model::whole(InputShapes shapes) const {
  shapes.insert(options_.states.begin(), options_.states.end());
  return shapes;
}

Expected<LentTensors> Model::states_for(const Inferred& inferred) {
  LentTensors states;
  for (const State& state : shared_->graph.states) {
    const TensorDesc& tensor = inferred.values[state.input];
    const std::string& name = shared_->graph.values[state.input].name;
    auto found = states_.find({name, tensor.shape});
    if (found == states_.end()) {
      auto made = context_->executor.allocate(tensor.dtype, tensor.shape, Storage::buffer);
      if (!made) return made.error();
      if (Done cleared = context_->executor.fill(*made, 0); !cleared) return cleared.error();
      found = states_.emplace(std::pair(name, tensor.shape), *std::move(made)).first;
    }
    states.emplace(name, &found->second);
  }
  return states;
}

Done Model::clear_states() {
  for (const auto& [name, tensor] : states_) {
    if (Done cleared = context_->executor.fill(tensor, 0); !cleared) return cleared;
  }
  return std::monostate{};
}

Expected<Prepared*> Model::prepare(const InputShapes& given, const DeviceTensor* arena, const LentTensors& kept) {
  const InputShapes shapes = whole(given);
  Places places;
  for (const auto& [name, tensor] : kept) places.emplace(name, tensor->shared_memory());
  const auto known =
      std::ranges::find_if(ready_, [&](const Ready& one) { return one.shapes == shapes && one.kept == places; });
  if (known != ready_.end()) {
    ready_.splice(ready_.begin(), ready_, known);
    return ready_.front().prepared.get();
  }
  if (!shared_) return moved_from("model");
  auto prepared = make(shapes, arena, kept);
  if (!prepared) return prepared.error();
  if (ready_.size() >= std::max<size_t>(options_.most_prepared, 1)) ready_.pop_back();
  ready_.push_front({shapes, std::move(places), *std::move(prepared)});
  return ready_.front().prepared.get();
}

Expected<uint64_t> Model::arena_bytes(const InputShapes& given) {
  const InputShapes shapes = whole(given);
  const auto known = std::ranges::find(ready_, shapes, &Ready::shapes);
  if (known != ready_.end()) return known->prepared->schedule().memory.bytes;
  if (!shared_) return moved_from("model");
  const std::lock_guard lock(shared_->mutex);
  const auto inferred = infer_shapes(shapes);
  if (!inferred) return inferred.error();
  auto planned = plan(shapes, *inferred);
  if (!planned) return planned.error();
  return planned_.insert_or_assign(shapes, *std::move(planned)).first->second.schedule.memory.bytes;
}

Done Model::record(Commands& commands, const LentTensors& inputs, const LentTensors& outputs) {
  InputShapes shapes;
  for (const auto& [name, tensor] : inputs) {
    if (!tensor) return refused("input '" + name + "' is null");
    shapes.emplace(name, tensor->shape());
  }
  const auto prepared = prepare(shapes);
  return prepared ? (*prepared)->record(commands, inputs, outputs) : Done(prepared.error());
}

Expected<Tensors> Model::run(const Tensors& inputs) {
  const auto prepared = prepare(shapes_of(inputs));
  if (!prepared) return prepared.error();
  return (*prepared)->run(inputs);
}

// Null: nothing was chosen for these shapes and this device.
const Decision* Model::decision_for(const InputShapes& shapes) const {
  const auto& compiled = shared_->compiled;
  const bool holds = compiled && compiled->shapes == shapes && compiled->device == device_text(context_->profile);
  return holds ? &compiled->decision : nullptr;
}

const OwnKernels* Model::own_kernels() const {
  const OwnKernels* own = shared_->compiled ? shared_->compiled->own_kernels.get() : nullptr;
  const bool is_used = own && own->library().operators().data() == context_->library.operators().data();
  return is_used ? own : nullptr;
}

std::vector<uint64_t> Model::digests_of(const Schedule& schedule) const {
  std::vector<uint64_t> digests;
  for (const Step& step : schedule.steps) digests.push_back(digest_of(*step.choice, context_->library));
  return digests;
}

bool Model::has_same_kernels(const Schedule& schedule) const {
  return digests_of(schedule) == shared_->compiled->digests;
}

Expected<Compiled> Model::compiled() const {
  if (!shared_) return moved_from("model");
  if (ready_.empty()) return refused("the model is prepared for no shapes", "run it first");
  if (!shared_->graph.states.empty()) return refused("a model with states cannot be compiled");
  if (!shared_->graph.kept.empty()) return refused("a model with kept inputs cannot be compiled");
  const std::lock_guard lock(shared_->mutex);
  const Schedule& schedule = ready_.front().prepared->schedule();
  Compiled compiled{.graph = shared_->graph,
                    .shapes = ready_.front().shapes,
                    .decision = schedule.decision,
                    .device = device_text(context_->profile),
                    .digests = digests_of(schedule)};
  auto own = OwnKernels::of(schedule.steps, context_->library);
  if (!own) return own.error();
  compiled.own_kernels = *std::move(own);
  auto weights = shared_->constants->saved_weights(context_->executor);
  if (!weights) return weights.error();
  compiled.weights = *std::move(weights);
  if (Done filled = shared_->constants->fetch_parameters(context_->executor, compiled.graph); !filled)
    return filled.error();
  return compiled;
}

const Graph& Model::graph() const {
  static const Graph kMovedFrom;
  return shared_ ? shared_->graph : kMovedFrom;
}

uint64_t Model::state_bytes() const {
  uint64_t bytes = 0;
  for (const auto& [name, tensor] : states_) bytes += buffer_bytes(tensor.dtype(), tensor.shape(), tensor.layout());
  return bytes;
}

uint64_t Model::constant_bytes() const {
  if (!shared_) return 0;
  const std::lock_guard lock(shared_->mutex);
  return shared_->constants ? shared_->constants->device_bytes() : 0;
}

}  // namespace qgen::graph
