// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Call of specs/packed/q8ta_concat.yaml: where each input begins along the axis, as kernels count dimensions.
#include <fmt/format.h>

#include <algorithm>

#include "operators.h"
#include "q8ta_concat.h"
#include "runtime/calls/placement.h"
#include "runtime/operators/divider.h"
#include "runtime/operators/packed_walk.h"
#include "runtime/operators/per_tensor.h"
#include "runtime/tensor/packed_layout.h"
#include "vocabulary/integer.h"

namespace qgen::generated::operators {
namespace {

constexpr size_t kInputs = 4;

// An input with its parameters; one that is left out has neither.
struct ConcatInput {
  std::optional<TensorDesc> tensor;
  std::optional<double> scale;
  int64_t zero_point = 0;
};
using ConcatInputs = std::array<ConcatInput, kInputs>;

std::string name_of(size_t input) { return fmt::format("input_{}", input + 1); }

Done check_parameters(const ConcatInputs& inputs) {
  for (size_t i = 0; i < kInputs; ++i) {
    if (inputs[i].tensor && !inputs[i].scale)
      return refused(fmt::format("{0} is given, and {0}_scale is not", name_of(i)));
    if (i > 0 && inputs[i].tensor && !inputs[i - 1].tensor)
      return refused(fmt::format("{} is given, and {} is not", name_of(i), name_of(i - 1)));
  }
  return std::monostate{};
}

Expected<size_t> axis_of(int64_t axis, const Shape& shape) {
  const auto rank = static_cast<int64_t>(shape.size());
  if (axis >= -rank && axis < rank) return static_cast<size_t>(axis < 0 ? axis + rank : axis);
  return refused(fmt::format("axis is {}, and input_1 of shape {} has {} dimensions", axis, to_text(shape), rank));
}

Expected<Shape> joined_shape(const ConcatInputs& inputs, size_t axis) {
  Shape all = inputs[0].tensor->shape;
  for (size_t i = 1; i < kInputs && inputs[i].tensor; ++i) {
    const Shape& shape = inputs[i].tensor->shape;
    Shape expected = inputs[0].tensor->shape;
    if (axis < shape.size()) expected[axis] = shape[axis];
    if (shape != expected) {
      return refused(fmt::format("{} has shape {}, and input_1 {}: they differ beside axis {}", name_of(i),
                                 to_text(shape), to_text(inputs[0].tensor->shape), axis));
    }
    all[axis] = (Integer(all[axis]) + shape[axis]).value;
  }
  return all;
}

Done check_one_layout(const ConcatInputs& inputs, Layout output) {
  for (size_t i = 0; i < kInputs && inputs[i].tensor; ++i) {
    if (inputs[i].tensor->layout == output) continue;
    return Error{Error::Kind::unsupported,
                 fmt::format("{} is {} and output {}, which are not one layout", name_of(i),
                             name(inputs[i].tensor->layout), name(output)),
                 "q8ta_clone puts a tensor into another layout"};
  }
  return std::monostate{};
}

// A side along the axis, as kernels count: dimensions before the last three are one, in which elements of an outer one
// lie as many batches apart as the inner ones have.
int64_t length_of(const Shape& shape, size_t axis) {
  Integer length = shape[axis];
  for (size_t d = axis + 1; d + kDims <= shape.size(); ++d) length = length * shape[d];
  return length.value;
}

// Where the inputs lie in the output, within a period.
struct ConcatPlaces {
  uint32_t axis, period;
  std::array<uint32_t, kInputs> begins{}, lengths{};
};
ConcatPlaces concat_places(const ConcatInputs& inputs, const Shape& output, size_t axis) {
  ConcatPlaces places{u32(std::min<int64_t>(static_cast<int64_t>(output.size() - 1 - axis), index(Dim::batch))),
                      u32(length_of(output, axis))};
  uint32_t next = 0;
  for (size_t i = 0; i < kInputs && inputs[i].tensor; ++i) {
    places.begins[i] = next;
    places.lengths[i] = u32(length_of(inputs[i].tensor->shape, axis));
    next += places.lengths[i];
  }
  return places;
}

using Words = std::array<uint32_t, kDims>;
Words sides_in_words(const ConcatInput& input) {
  Words words{};
  if (input.tensor) std::ranges::transform(sides_of(input.tensor->shape), words.begin(), u32);
  return words;
}
Words strides_in_words(const ConcatInput& input) {
  return input.tensor ? block_strides(input.tensor->shape, input.tensor->layout) : Words{};
}

template <typename T, typename Get>
std::array<T, kInputs> per_input(const ConcatInputs& inputs, Get get) {
  std::array<T, kInputs> all{};
  std::ranges::transform(inputs, all.begin(), get);
  return all;
}

std::array<uint32_t, 12> dividers_of(const Walk& walk, uint32_t period) {
  std::array<uint32_t, 12> all{};
  const auto [divisor, multiplier, shift] = divider_of(std::max(period, 1u));
  std::ranges::copy(std::array{divisor, multiplier, shift}, std::ranges::copy(walk.dividers, all.begin()).out);
  return all;
}

}  // namespace

Expected<Call> infer(const Q8taConcatInputs<Described>& inputs, const Q8taConcatAttributes& attributes,
                     const Q8taConcatPlaces& places) {
  const ConcatInputs given = {
      ConcatInput{inputs.input_1.get(), attributes.input_1_scale, attributes.input_1_zero_point},
      ConcatInput{inputs.input_2.get(), attributes.input_2_scale, attributes.input_2_zero_point},
      ConcatInput{inputs.input_3, attributes.input_3_scale, attributes.input_3_zero_point},
      ConcatInput{inputs.input_4, attributes.input_4_scale, attributes.input_4_zero_point},
  };
  if (Done complete = check_parameters(given); !complete) return complete.error();
  const auto axis = axis_of(attributes.axis, inputs.input_1->shape);
  if (!axis) return axis.error();
  const auto shape = joined_shape(given, *axis);
  if (!shape) return shape.error();
  const TensorDesc output{DType::i8, *shape, places.output->storage, places.output->layout};
  if (Done size = check_size("output", output); !size) return size.error();
  if (Done same = check_one_layout(given, output.layout); !same) return same.error();

  const Walk walk = walk_of(output.shape, between(output.layout, output.layout));
  const bool is_empty = element_count(output.shape) == 0;  // its other sides may be past 32 bits
  const ConcatPlaces inside = is_empty ? ConcatPlaces{0, 1} : concat_places(given, output.shape, *axis);
  const PerTensor to = of_output(attributes);
  const q8ta_concat::Problem fields{
      .sides = walk.sides,
      .input_1_sides = sides_in_words(given[0]),
      .input_2_sides = sides_in_words(given[1]),
      .input_3_sides = sides_in_words(given[2]),
      .input_4_sides = sides_in_words(given[3]),
      .input_1_strides = strides_in_words(given[0]),
      .input_2_strides = strides_in_words(given[1]),
      .input_3_strides = strides_in_words(given[2]),
      .input_4_strides = strides_in_words(given[3]),
      .output_strides = block_strides(output.shape, output.layout),
      .axis = inside.axis,
      .period = inside.period,
      .begins = inside.begins,
      .lengths = inside.lengths,
      .boxes = walk.boxes,
      .box_shifts = walk.box_shifts,
      .dividers = dividers_of(walk, inside.period),
      .input_scales =
          per_input<float>(given, [](const ConcatInput& input) { return static_cast<float>(input.scale.value_or(1)); }),
      .input_zero_points =
          per_input<int32_t>(given, [](const ConcatInput& input) { return static_cast<int32_t>(input.zero_point); }),
      .inverse_scale = 1.0f / to.scale,
      .output_zero_point = to.zero_point,
      .padding = padding_word(to.zero_point),
  };
  return make_call(fields, {.input_1 = inputs.input_1,
                            .input_2 = inputs.input_2,
                            .input_3 = inputs.input_3,
                            .input_4 = inputs.input_4,
                            .output = output});
}

}  // namespace qgen::generated::operators
