// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Call of specs/reduction: dimensions that are kept and dimensions that are reduced. docs/reduction.md has the
// formulas.
#include <fmt/format.h>

#include <algorithm>

#include "operators.h"
#include "reduce.h"
#include "runtime/engine/calls/placement.h"
#include "runtime/engine/operators/axis.h"
#include "runtime/engine/operators/divider.h"
#include "runtime/engine/operators/merge_dimensions.h"
#include "sample.h"
#include "vocabulary/integer.h"

namespace qgen::generated::operators {
namespace {

using words::Reduction;

struct Side {
  int64_t side, stride;
};

std::vector<Side> merged(std::vector<Side> sides) {
  std::ranges::reverse(sides);  // innermost first
  return merge_dimensions(sides, [](const Side& outer, const Side& inner) -> std::optional<Side> {
    if (outer.stride != inner.stride * inner.side) return std::nullopt;
    return Side{outer.side * inner.side, inner.stride};
  });
}

Expected<std::vector<bool>> reduced_dimensions(const std::vector<int64_t>& axes, const Shape& shape) {
  std::vector<bool> is_reduced(shape.size(), false);
  for (const int64_t axis : axes) {
    const auto d = dimension_of("axes has", axis, "input", shape);
    if (!d) return d.error();
    if (is_reduced[*d]) return refused(fmt::format("axes names dimension {} twice", *d));
    is_reduced[*d] = true;
  }
  return is_reduced;
}

bool is_place(Reduction operation) { return operation == Reduction::arg_max || operation == Reduction::arg_min; }
bool needs_reals(Reduction operation) {
  return operation == Reduction::mean || operation == Reduction::l2 || operation == Reduction::log_sum ||
         operation == Reduction::log_sum_exp;
}

}  // namespace

Expected<Call> infer(const ReduceInputs<Described>& inputs, const ReduceAttributes& attributes) {
  const TensorDesc& input = inputs.input;
  const Reduction operation = attributes.operation;
  const std::string_view said = words::kReduction[static_cast<size_t>(operation)];
  if (input.dtype == DType::i32 && needs_reals(operation))
    return refused(fmt::format("operation is {}, and input is i32", said),
                   "mean, l2, log_sum and log_sum_exp need floating-point elements");
  const auto is_reduced = reduced_dimensions(attributes.axes, input.shape);
  if (!is_reduced) return is_reduced.error();
  TensorDesc output{is_place(operation) ? DType::i32 : input.dtype, {}};
  std::vector<Side> kept, reduced;
  const Strides strides = row_major_strides(input.shape);
  int64_t terms = 1;
  for (size_t d = 0; d < input.shape.size(); ++d) {
    const bool goes = (*is_reduced)[d];
    (goes ? reduced : kept).push_back({input.shape[d], strides[d]});
    if (goes) terms *= input.shape[d];
    if (!goes) output.shape.push_back(input.shape[d]);
    else if (attributes.keepdims) output.shape.push_back(1);
  }
  if (terms == 0 && element_count(output.shape) > 0)
    return refused(fmt::format("input of shape {} has no elements along the axes", to_text(input.shape)));
  const auto outputs = u32(element_count(output.shape));
  const std::vector<Side> kept_sides = outputs > 0 ? merged(kept) : std::vector<Side>();
  const std::vector<Side> reduced_sides = outputs > 0 ? merged(reduced) : std::vector<Side>();
  const reduce::Problem fields{
      .outputs = outputs,
      .terms = u32(terms),
      .operation = operation,
      .takes_last = attributes.takes_last ? 1u : 0u,
      .inverse_terms = terms > 0 ? 1.0f / static_cast<float>(terms) : 0.0f,
      .kept_rank = static_cast<uint32_t>(kept_sides.size()),
      .kept_dividers = dividers_of(kept_sides),
      .kept_strides = numbers_of(kept_sides, &Side::stride),
      .reduced_rank = static_cast<uint32_t>(reduced_sides.size()),
      .reduced_dividers = dividers_of(reduced_sides),
      .reduced_strides = numbers_of(reduced_sides, &Side::stride),
  };
  return make_call(fields, inputs, {.output = output});
}

Expected<Call> infer(const SampleInputs<Described>& inputs) {
  const TensorDesc& logits = inputs.logits;
  const int64_t rows = logits.shape[0], columns = logits.shape[1];
  if (columns == 0 && rows > 0)
    return refused(fmt::format("logits is {}, and its rows must have elements", to_text(logits.shape)));
  const sample::Problem fields{.rows = u32(rows), .columns = rows == 0 ? 1 : u32(columns)};
  return make_call(fields, inputs, {.output = TensorDesc{DType::i32, {rows}}});
}

}  // namespace qgen::generated::operators
