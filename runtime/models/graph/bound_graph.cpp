// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/bound_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/nearest.h"

namespace qgen::graph {
namespace {

Error unknown_name(std::string_view kind, std::string_view name, std::span<const NamedTensor> known) {
  std::vector<std::string_view> names;
  for (const NamedTensor& one : known) names.push_back(one.name);
  return refused(fmt::format("the model has no {} '{}'", kind, name), hint_among(name, names));
}

}  // namespace

BoundGraph::BoundGraph(Parts parts, Recording recording) : parts_(std::move(parts)), recording_(std::move(recording)) {
  for (uint32_t tensor = 0; tensor < parts_.owners.size(); ++tensor) views_[parts_.owners[tensor]].push_back(tensor);
}

const DeviceTensor* BoundGraph::find(const std::vector<NamedTensor>& named, std::string_view name) const {
  const auto found = std::ranges::find(named, name, &NamedTensor::name);
  return found == named.end() ? nullptr : &parts_.tensors[found->tensor];
}
const DeviceTensor* BoundGraph::input(std::string_view name) const { return find(parts_.inputs, name); }
const DeviceTensor* BoundGraph::output(std::string_view name) const { return find(parts_.outputs, name); }

Expected<Tensors> BoundGraph::run(Executor& executor, const Tensors& inputs) {
  if (!recording_.state()) return moved_from("bound graph");
  for (const auto& [name, tensor] : inputs) {
    if (!input(name)) return unknown_name("input", name, parts_.inputs);
  }
  for (const NamedTensor& input : parts_.inputs) {
    const auto given = inputs.find(input.name);
    if (given == inputs.end()) return refused(fmt::format("input '{}' is missing", input.name));
    if (Done written = executor.write(parts_.tensors[input.tensor], given->second); !written) {
      Error error = written.error();
      error.message = fmt::format("input '{}': {}", input.name, error.message);
      return error;
    }
  }
  if (Done done = executor.run(recording_); !done) return done.error();
  Tensors outputs;
  for (const NamedTensor& named : parts_.outputs) {
    auto output = executor.download(parts_.tensors[named.tensor]);
    if (!output) return output.error();
    outputs.emplace(named.name, *std::move(output));
  }
  return outputs;
}

// ---- in command buffers of the caller -------------------------------------------------------------------------------

Expected<std::vector<BoundGraph::Place>> BoundGraph::places_of(const LentTensors& given,
                                                               const std::vector<NamedTensor>& named,
                                                               std::string_view kind) {
  std::vector<Place> places;
  for (const auto& [name, tensor] : given) {
    const auto found = std::ranges::find(named, name, &NamedTensor::name);
    if (found == named.end()) return unknown_name(kind, name, named);
    if (!tensor) return refused(fmt::format("{} '{}' is null", kind, name));
    places.emplace_back(&*found, tensor);
  }
  return places;
}

size_t BoundGraph::view_count(const std::vector<Place>& places) const {
  size_t count = 0;
  for (const auto& [named, tensor] : places) count += views_.at(parts_.owners[named->tensor]).size();
  return count;
}

// Every view of the tensor's memory is one of the given memory then.
Done BoundGraph::rebind(Executor& executor, const Place& place, std::vector<DeviceTensor>& views,
                        std::vector<Rebinding>& rebindings) const {
  const auto& [named, to] = place;
  const DeviceTensor& own = parts_.tensors[named->tensor];
  if (to->dtype() != own.dtype() || to->shape() != own.shape() || to->storage() != own.storage() ||
      to->layout() != own.layout()) {
    return refused(fmt::format("'{}' is {} {} in a {}, and was given {} {} in a {}", named->name,
                               qgen::name(own.dtype()), to_text(own.shape()), qgen::name(own.storage()),
                               qgen::name(to->dtype()), to_text(to->shape()), qgen::name(to->storage())));
  }
  for (const uint32_t other : views_.at(parts_.owners[named->tensor])) {
    const DeviceTensor& view = parts_.tensors[other];
    auto seen = executor.view(*to, view.dtype(), view.shape(), view.layout());
    if (!seen) return seen.error();
    views.push_back(*std::move(seen));
    rebindings.push_back({&view, &views.back()});
  }
  return std::monostate{};
}

Done BoundGraph::check_is_written(const NamedTensor& output) const {
  const auto is_same = [&](const NamedTensor& input) {
    return parts_.owners[input.tensor] == parts_.owners[output.tensor];
  };
  if (!std::ranges::any_of(parts_.inputs, is_same)) return std::monostate{};
  return refused(fmt::format("output '{}' is an input that is passed through, and no kernel writes it", output.name),
                 "copy the input, or read it");
}

Done BoundGraph::record(Executor& executor, Commands& commands, const LentTensors& inputs, const LentTensors& outputs) {
  if (!recording_.state()) return moved_from("bound graph");
  auto places = places_of(inputs, parts_.inputs, "input");
  if (!places) return places.error();
  const auto written = places_of(outputs, parts_.outputs, "output");
  if (!written) return written.error();
  for (const auto& [named, tensor] : *written) {
    if (Done is_written = check_is_written(*named); !is_written) return is_written;
  }
  places->insert(places->end(), written->begin(), written->end());
  std::vector<DeviceTensor> views;
  views.reserve(view_count(*places));  // rebindings point into it
  std::vector<Rebinding> rebindings;
  for (const Place& place : *places) {
    if (Done bound = rebind(executor, place, views, rebindings); !bound) return bound;
  }
  return commands.record(recording_, rebindings);
}

}  // namespace qgen::graph
