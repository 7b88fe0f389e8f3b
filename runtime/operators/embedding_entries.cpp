// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/operators/embedding.h"
#include "runtime/operators/families.h"
#include "runtime/operators/prepare.h"
#include "runtime/operators/weight_entries.h"

namespace qgen {
namespace {

constexpr TensorInfo kInputs[] = {
    {"indices", false, "i32, any shape: rows of the weight"}, kWeightOfFourBits, kScalesOfGroups};
constexpr TensorInfo kOutputs[] = {{"output", false, "[..., K], of output_dtype"}};
constexpr AttributeInfo kAttributes[] = {
    kGroupSize, {"output_dtype", AttributeInfo::Kind::word, "float32", "float32 or float16", {}}};

Expected<PreparedCall> prepare_embedding(Context& context, const Request& request) {
  PreparedCall prepared;
  const auto indices = upload_widened(context, request, "indices", DType::i32, prepared);
  if (!indices) return indices.error();
  const auto weight = upload_weight(context, request, prepared);
  if (!weight) return weight.error();
  auto call = embedding_q4gsw_call(desc_of(**indices), desc_of(*weight->codes), desc_of(*weight->scales),
                                   {.output_dtype = dtype_attribute(request, "output_dtype")});
  if (!call) return call.error();
  prepared.call = *std::move(call);
  prepared.arguments = {*indices, weight->codes, weight->scales, {}};
  return prepared;
}

constexpr OperatorEntry kEntries[] = {
    {"embedding_q4gsw", "rows of an int4 weight with a scale a group, by index", kInputs, kOutputs, kAttributes,
     prepare_embedding},
};

}  // namespace

std::span<const OperatorEntry> embedding_entries() { return kEntries; }

}  // namespace qgen
