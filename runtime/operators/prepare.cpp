// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/operators/prepare.h"

namespace qgen {
namespace {

bool holds(DType wide, DType narrow) {
  if (wide == DType::f32) return narrow == DType::f16 || narrow == DType::bf16;
  const bool is_small = narrow == DType::i8 || narrow == DType::u8 || narrow == DType::i16 || narrow == DType::u16;
  return wide == DType::i32 && is_small;
}

HostTensor widened(const HostTensor& tensor, DType dtype) {
  HostTensor wide = zeros(dtype, tensor.shape);
  for (int64_t i = 0; i < element_count(tensor.shape); ++i) set_element(wide, i, element(tensor, i));
  return wide;
}

Expected<const DeviceTensor*> upload(Context& context, const HostTensor& tensor, Place place, PreparedCall& prepared) {
  auto uploaded = context.executor.upload(tensor, place.storage, place.layout);
  if (!uploaded) return uploaded.error();
  prepared.tensors.push_back(std::make_unique<DeviceTensor>(*std::move(uploaded)));
  return prepared.tensors.back().get();
}

}  // namespace

Expected<const DeviceTensor*> upload_input(Context& context, const Request& request, std::string_view name,
                                           PreparedCall& prepared) {
  const HostTensor* input = find_input(request, name);
  return input ? upload(context, *input, place_of(request, name), prepared) : nullptr;
}

Expected<const DeviceTensor*> upload_widened(Context& context, const Request& request, std::string_view name,
                                             DType dtype, PreparedCall& prepared) {
  const HostTensor* input = find_input(request, name);
  if (!input || !holds(dtype, input->dtype)) return upload_input(context, request, name, prepared);
  return upload(context, widened(*input, dtype), place_of(request, name), prepared);
}

Expected<PreparedCall> finished(PreparedCall prepared, const Expected<Call>& call, std::vector<Argument> arguments) {
  if (!call) return call.error();
  prepared.call = *call;
  prepared.arguments = std::move(arguments);
  return prepared;
}

}  // namespace qgen
