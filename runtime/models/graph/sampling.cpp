// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace qgen::graph {
namespace {

struct SmallTensor {
  const char* operand;
  DType dtype;
  Shape shape;
};

// Of `sample`, in the order of its operands: all but the logits, the output last.
std::vector<SmallTensor> small_tensors(int64_t sequences) {
  return {{"top_k", DType::i32, {1}},
          {"temperature", DType::f32, {1}},
          {"seed", DType::i32, {2}},
          {"draws", DType::i32, {sequences, 2}},
          {"output", DType::i32, {sequences}}};
}

Expected<Choice> choice_for(const Context& context, OperatorEntries operators, const DeviceTensor& logits) {
  const OperatorEntry* entry = find_operator(operators, "sample");
  if (!entry) return unknown_operator(operators, "sample");
  Request request{.inputs = {{"logits", HostTensor{logits.dtype(), logits.shape(), {}}}}};
  for (const SmallTensor& tensor : small_tensors(logits.shape()[0])) {
    if (std::string_view(tensor.operand) != "output")
      request.inputs.emplace(tensor.operand, HostTensor{tensor.dtype, tensor.shape, {}});
  }
  auto whole = complete(*entry, std::move(request), Data::described);
  if (!whole) return whole.error();
  const auto call = infer_call(*entry, *whole);
  if (!call) return call.error();
  Selection selection = select(call->problem, context.profile, context.library, {.best_only = true});
  if (selection.ranked.empty()) return no_kernel(selection);
  return std::move(selection.ranked.front());
}

template <typename T>
void write(const RoundTrip& trip, size_t input, const std::vector<T>& values) {
  std::memcpy(trip.input(input).data(), values.data(), values.size() * sizeof(T));
}

}  // namespace

Sampler::Sampler(std::shared_ptr<const DeviceTensor::Memory> logits, std::vector<DeviceTensor> tensors,
                 Recording recording, RoundTrip trip)
    : logits_(std::move(logits)),
      tensors_(std::move(tensors)),
      recording_(std::move(recording)),
      trip_(std::move(trip)) {}

Expected<Sampler> Sampler::create(Context& context, OperatorEntries operators, const DeviceTensor& logits) {
  const auto choice = choice_for(context, operators, logits);
  if (!choice) return choice.error();
  std::vector<DeviceTensor> tensors;
  for (const SmallTensor& tensor : small_tensors(logits.shape()[0])) {
    auto made = context.executor.allocate(tensor.dtype, tensor.shape, Storage::buffer);
    if (!made) return made.error();
    tensors.push_back(*std::move(made));
  }
  Work work{&*choice, {&logits}};
  std::vector<const DeviceTensor*> inputs;
  for (const DeviceTensor& tensor : tensors) {
    work.operands.push_back(&tensor);
    inputs.push_back(&tensor);
  }
  inputs.pop_back();
  auto recording = context.executor.record({&work, 1});
  if (!recording) return recording.error();
  auto trip = RoundTrip::create(*recording, inputs, {&tensors.back()});
  if (!trip) return trip.error();
  return Sampler(logits.shared_memory(), std::move(tensors), *std::move(recording), *std::move(trip));
}

Expected<std::vector<int32_t>> Sampler::draw(const Sampling& how, uint32_t index) {
  if (!logits_) return moved_from("sampler");
  const auto integer = [](uint64_t bits) { return static_cast<int32_t>(static_cast<uint32_t>(bits)); };
  std::vector<int32_t> tokens(static_cast<size_t>(tensors_.back().shape()[0])), draws;
  for (size_t b = 0; b < tokens.size(); ++b) draws.insert(draws.end(), {static_cast<int32_t>(b), integer(index)});
  write(trip_, 0, std::vector<int32_t>{static_cast<int32_t>(std::min<uint32_t>(how.top_k, 1U << 30))});
  write(trip_, 1, std::vector<float>{static_cast<float>(how.temperature)});
  write(trip_, 2, std::vector<int32_t>{integer(how.seed), integer(how.seed >> 32)});
  write(trip_, 3, draws);
  if (Done ran = trip_.run(); !ran) return ran.error();
  std::memcpy(tokens.data(), trip_.output(0).data(), tokens.size() * sizeof(int32_t));
  return tokens;
}

}  // namespace qgen::graph
