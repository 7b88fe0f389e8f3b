// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/operators/weight_entries.h"

#include <fmt/format.h>

namespace qgen {
namespace {

Done check_group_size(const Request& request, const Shape& weight, const Shape& scales) {
  const auto given = find_attribute<int64_t>(request, "group_size");
  if (!given || weight.size() != 2) return std::monostate{};
  const int64_t groups = scales.size() == 2 ? scales[1] : 1;
  if (*given * groups == weight[1]) return std::monostate{};
  return Error{Error::Kind::invalid_argument,
               fmt::format("group_size is {}, and weight_scales {} cut the weight {} into {} groups a row", *given,
                           to_text(scales), to_text(weight), groups),
               "group_size times the scales of a row is K"};
}

}  // namespace

Expected<UploadedWeight> upload_weight(Context& context, const Request& request, PreparedCall& prepared) {
  const HostTensor& source = request.inputs.at("weight");
  if (Done same = check_group_size(request, source.shape, request.inputs.at("weight_scales").shape); !same) {
    return same.error();
  }
  auto weight = Weight::create(source, {});
  if (!weight) return weight.error();
  prepared.weights.push_back(std::make_unique<Weight>(*std::move(weight)));
  const auto scales = upload_widened(context, request, "weight_scales", DType::f32, prepared);
  if (!scales) return scales.error();
  return UploadedWeight{prepared.weights.back().get(), *scales};
}

Expected<LinearInputs> upload_linear_inputs(Context& context, const Request& request, PreparedCall& prepared) {
  const auto input = upload_input(context, request, "input", prepared);
  if (!input) return input.error();
  const auto weight = upload_weight(context, request, prepared);
  if (!weight) return weight.error();
  const auto bias = upload_widened(context, request, "bias", DType::f32, prepared);
  if (!bias) return bias.error();
  return LinearInputs{*input, weight->codes, weight->scales, *bias};
}

}  // namespace qgen
