// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/graph/model.h"

#include <algorithm>

namespace qgen::graph {

Model Model::create(Context& context, OperatorEntries operators, Graph graph, const ModelOptions& options) {
  auto shared = std::make_shared<Shared>();
  shared->graph = std::move(graph);
  return {context, operators, std::move(shared), options};
}

Model Model::beside(Context& context) const { return {context, operators_, shared_, options_}; }

// One thread at a time: what one uploads, the next one finds.
Expected<std::unique_ptr<Prepared>> Model::make(const InputShapes& shapes) {
  const std::lock_guard lock(shared_->mutex);
  const auto inferred = infer(shared_->graph, operators_, shapes);
  if (!inferred) return inferred.error();
  if (!shared_->constants) {
    auto constants = Constants::create(shared_->graph, *inferred);
    if (!constants) return constants.error();
    shared_->constants.emplace(*std::move(constants));
  }
  auto prepared = Prepared::create(*context_, operators_, shared_->graph, *inferred, *shared_->constants,
                                   {.on_pipeline = options_.on_pipeline});
  if (prepared) shared_->constants->release(shared_->graph);
  return prepared;
}

Expected<Prepared*> Model::prepare(const InputShapes& shapes) {
  const auto known = std::ranges::find(ready_, shapes, &Ready::shapes);
  if (known != ready_.end()) {
    ready_.splice(ready_.begin(), ready_, known);
    return ready_.front().prepared.get();
  }
  auto prepared = make(shapes);
  if (!prepared) return prepared.error();
  if (ready_.size() >= std::max<size_t>(options_.most_prepared, 1)) ready_.pop_back();
  ready_.push_front({shapes, *std::move(prepared)});
  return ready_.front().prepared.get();
}

Expected<Tensors> Model::run(const Tensors& inputs) {
  const auto prepared = prepare(shapes_of(inputs));
  if (!prepared) return prepared.error();
  return (*prepared)->run(inputs);
}

uint64_t Model::constant_bytes() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->constants ? shared_->constants->device_bytes() : 0;
}

}  // namespace qgen::graph
