// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/calls/typed_call.h"

#include <utility>

namespace qgen {

// ---- the key --------------------------------------------------------------------------------------------------------

void ArgumentKey::put_bytes(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  if (far_.empty() && near_bytes_ + bytes.size() <= near_.size()) {
    std::memcpy(near_.data() + near_bytes_, bytes.data(), bytes.size());
    near_bytes_ += bytes.size();
    return;
  }
  if (far_.empty()) far_.assign(near_.begin(), near_.begin() + static_cast<std::ptrdiff_t>(near_bytes_));
  far_.insert(far_.end(), bytes.begin(), bytes.end());
}

void ArgumentKey::add(const std::vector<int64_t>& list) {
  put(list.size());
  put_bytes(std::as_bytes(std::span(list)));
}

void ArgumentKey::add(const Representation& representation) {
  put(representation.storage);
  put(representation.layout);
}

void ArgumentKey::add(const DeviceTensor& tensor) {
  put(tensor.shared_memory() == nullptr);  // moved from: refused
  put(tensor.dtype());
  put(tensor.storage());
  put(tensor.layout());
  add(tensor.shape());
}

void ArgumentKey::add(const DeviceTensor* tensor) {
  put(tensor != nullptr);
  if (tensor) add(*tensor);
}

void ArgumentKey::add(const ViewedTensor& viewed) {
  add(*viewed.tensor);
  add(viewed.view.shape);
  add(viewed.view.strides);
  put(viewed.view.offset);
}

void ArgumentKey::add(const Weight& weight) {
  put(weight.layouts());  // which forms it has, and may still have
  add(weight.shape());    // empty: moved from
}

// ---- kept calls -----------------------------------------------------------------------------------------------------

KeptCall find_call(const Context& context, const ArgumentKey& key) {
  return context.decisions ? context.decisions->find(key.bytes()) : KeptCall();
}

KeptCall keep_call(const Context& context, const ArgumentKey& key, Call call) {
  KeptCall kept{std::make_shared<const Call>(std::move(call)), nullptr};
  if (!takes_kept_choices(context)) return kept;
  kept.choice = context.decisions->best(kept.call->problem);
  if (kept.choice) context.decisions->keep(key.bytes(), kept);
  return kept;
}

// ---- run ------------------------------------------------------------------------------------------------------------

namespace {

// What was made, with those that were given in their places.
std::vector<DeviceTensor> outputs_of(const SignatureInfo& signature, const ArgumentList& arguments,
                                     std::vector<DeviceTensor> made) {
  std::vector<DeviceTensor> outputs;
  size_t next = 0;
  for (const TensorInfo& info : signature.tensors) {
    if (info.role != TensorInfo::Role::output) continue;
    const auto* given = std::get_if<const DeviceTensor*>(&arguments[info.operand]);
    if (given) outputs.emplace_back((*given)->shared_memory());
    else if (next < made.size()) outputs.push_back(std::move(made[next++]));
  }
  return outputs;
}

}  // namespace

Expected<std::vector<DeviceTensor>> run(Context& context, const SignatureInfo& signature,
                                        const Expected<KeptCall>& call, ArgumentList arguments) {
  if (!call) return call.error();
  if (Done added = add_derived(context.executor, signature, *call->call, arguments); !added) return added.error();
  auto made = run(context, *call, arguments);
  if (!made) return made.error();
  return outputs_of(signature, arguments, *std::move(made));
}

Expected<DeviceTensor> run_for_one(Context& context, const SignatureInfo& signature, const Expected<KeptCall>& call,
                                   ArgumentList arguments) {
  auto made = run(context, signature, call, std::move(arguments));
  if (!made) return made.error();
  return std::move(made->front());
}

}  // namespace qgen
