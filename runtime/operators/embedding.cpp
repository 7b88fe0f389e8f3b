// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/operators/embedding.h"

#include <fmt/format.h>

#include "embedding_q4gsw.h"
#include "operators.h"
#include "runtime/operators/checks.h"
#include "runtime/operators/weight_checks.h"

namespace qgen {
Expected<Call> embedding_q4gsw_call(const TensorDesc& indices, const TensorDesc& weight, const TensorDesc& scales,
                                    const EmbeddingOptions& options) {
  if (Done plain = check_plain("indices", indices, DType::i32); !plain) return plain.error();
  if (Done real = check_dtype("output_dtype", options.output_dtype, {DType::f32, DType::f16}); !real)
    return real.error();
  const auto groups = checked_groups(kFourBits, weight, scales);
  if (!groups) return groups.error();
  const auto form = checked_form(kFourBits, weight);
  if (!form) return form.error();
  TensorDesc output{options.output_dtype, indices.shape};
  output.shape.push_back(weight.shape[1]);
  if (output.shape.size() > kMaxRank) {
    return refused(fmt::format("indices of shape {} give an output of rank {}, and tensors have rank {} at most",
                               to_text(indices.shape), output.shape.size(), kMaxRank));
  }
  if (Done count = check_count("output", output.shape); !count) return count.error();

  generated::embedding_q4gsw::Problem fields;
  fields.m = static_cast<uint32_t>(element_count(indices.shape));
  fields.n = static_cast<uint32_t>(weight.shape[0]);
  fields.k = static_cast<uint32_t>(weight.shape[1]);
  fields.groups = static_cast<uint32_t>(*groups);
  fields.group_size = static_cast<uint32_t>(weight.shape[1] / *groups);
  return make_call(generated::embedding_q4gsw::op, fields, {indices, *form, scales, output});
}

Expected<DeviceTensor> embedding_q4gsw(Context& context, const DeviceTensor& indices, Weight& weight,
                                       const DeviceTensor& scales, const EmbeddingOptions& options) {
  return run_for_one(context, embedding_q4gsw_call(desc_of(indices), desc_of(weight), desc_of(scales), options),
                     {&indices, &weight, &scales, {}});
}

// ---- by name -----------------------------------------------------------------------------------------------------------

Expected<Call> generated::operators::infer(const EmbeddingQ4gswInputs<Described>& inputs,
                                           const EmbeddingQ4gswAttributes& attributes, const EmbeddingQ4gswPlaces&) {
  if (Done same = check_group_size(attributes.group_size, inputs.weight, inputs.weight_scales); !same)
    return same.error();
  return embedding_q4gsw_call(inputs.indices, inputs.weight, inputs.weight_scales,
                              {.output_dtype = attributes.output_dtype});
}

}  // namespace qgen
