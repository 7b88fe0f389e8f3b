// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What the generated typed functions (operators.cpp) do. A call with the same arguments as an earlier one is not
// inferred again: Context::decisions keeps its Call and its choice, by the bytes of the arguments.
//
//   const ArgumentKey key{q8ta_unary::signatures[0], inputs.input, attributes.input_scale};
//   const auto call = call_of(context, key, [&] { return q8ta_relu_call(described, attributes); });
//   return run_for_one(context, q8ta_unary::signatures[0], call, std::move(arguments));
//
// With a known call, recording takes a third of the time (docs/results_host.md#recording-a-call).
#pragma once

#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "runtime/engine/calls/infer_arguments.h"
#include "runtime/engine/selector/decision_cache.h"

namespace qgen {

// All that infer() can see of a typed function's arguments, as bytes: dtypes, shapes, layouts and attributes; no
// memory. The signature fixes the order and types of the arguments, so different arguments have different bytes.
class ArgumentKey {
 public:
  template <typename... Arguments>
  explicit ArgumentKey(const SignatureInfo& signature, const Arguments&... arguments) {
    put(&signature);
    (add(arguments), ...);
  }
  std::span<const std::byte> bytes() const {
    return far_.empty() ? std::span(near_.data(), near_bytes_) : std::span<const std::byte>(far_);
  }

 private:
  template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void add(const T& value) { put(value); }
  template <typename T>
  void add(const Required<T>& value) {
    add(value.get());
  }
  template <typename T>
  void add(const std::optional<T>& value) {
    put(value.has_value());
    if (value) add(*value);
  }
  void add(const std::vector<int64_t>& list);  // a shape too
  void add(const Representation& representation);
  void add(const DeviceTensor& tensor);
  void add(const DeviceTensor* tensor);
  void add(const ViewedTensor& viewed);
  void add(const Weight& weight);

  template <typename T>
  void put(const T& value) {
    static_assert(std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>, "no padding");
    put_bytes(std::as_bytes(std::span(&value, 1)));
  }
  void put_bytes(std::span<const std::byte> bytes);

  // On the stack, unless an attribute is a long list.
  std::array<std::byte, 512> near_;
  size_t near_bytes_ = 0;
  std::vector<std::byte> far_;
};

// The call that Context::decisions keeps under this key; without a cache, or if it is not there: none.
KeptCall find_call(const Context& context, const ArgumentKey& key);
// The call with its choice, which is kept if the context keeps choices.
KeptCall keep_call(const Context& context, const ArgumentKey& key, Call call);

// `infer` gives an Expected<Call>. It is called if no call with this key is kept.
template <typename Infer>
Expected<KeptCall> call_of(const Context& context, const ArgumentKey& key, const Infer& infer) {
  if (KeptCall kept = find_call(context, key); kept.call) return kept;
  auto call = infer();
  if (!call) return call.error();
  return keep_call(context, key, *std::move(call));
}

// Runs `call`, which belongs to this signature, with derived arguments added; otherwise as run() of a Call. An output
// that was given is among the results, as a second handle. The second form returns the single output.
Expected<std::vector<DeviceTensor>> run(Context& context, const SignatureInfo& signature,
                                        const Expected<KeptCall>& call, ArgumentList arguments);
Expected<DeviceTensor> run_for_one(Context& context, const SignatureInfo& signature, const Expected<KeptCall>& call,
                                   ArgumentList arguments);

}  // namespace qgen
