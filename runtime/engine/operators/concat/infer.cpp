// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Calls of specs/packed/q8ta_concat.yaml and specs/movement/concat.yaml: where each input begins along the axis, as
// kernels count dimensions.
#include <fmt/format.h>

#include <algorithm>

#include "concat.h"
#include "operators.h"
#include "q8ta_concat.h"
#include "runtime/engine/calls/placement.h"
#include "runtime/engine/operators/axis.h"
#include "runtime/engine/operators/divider.h"
#include "runtime/engine/operators/packed_walk.h"
#include "runtime/engine/operators/per_tensor.h"
#include "runtime/engine/operators/same_as.h"
#include "runtime/engine/tensor/packed_layout.h"
#include "vocabulary/integer.h"

namespace qgen::generated::operators {
namespace {

constexpr size_t kParts = 4;
// The inputs; the last one may be left out.
using Parts = std::array<std::optional<TensorDesc>, kParts>;

std::string name_of(size_t part) { return fmt::format("input_{}", part + 1); }

Done check_order(const Parts& parts) {
  for (size_t i = 1; i < kParts; ++i) {
    if (parts[i] && !parts[i - 1])
      return refused(fmt::format("{} is given, but {} is not", name_of(i), name_of(i - 1)));
  }
  return std::monostate{};
}

Done check_one_dtype(const Parts& parts) {
  for (size_t i = 1; i < kParts && parts[i]; ++i) {
    if (parts[i]->dtype == parts[0]->dtype) continue;
    return refused(fmt::format("{} is {}, and input_1 is {}: all inputs must have the same dtype", name_of(i),
                               name(parts[i]->dtype), name(parts[0]->dtype)));
  }
  return std::monostate{};
}

Expected<Shape> joined_shape(const Parts& parts, size_t axis) {
  Shape all = parts[0]->shape;
  for (size_t i = 1; i < kParts && parts[i]; ++i) {
    const Shape& shape = parts[i]->shape;
    Shape expected = parts[0]->shape;
    if (axis < shape.size()) expected[axis] = shape[axis];
    if (shape != expected) {
      return refused(fmt::format("{} has shape {}, and input_1 has {}: they may differ only along axis {}", name_of(i),
                                 to_text(shape), to_text(parts[0]->shape), axis));
    }
    all[axis] = (Integer(all[axis]) + shape[axis]).value;
  }
  return all;
}

// The output, and the dimension in which it has all parts.
struct Joined {
  TensorDesc output;
  size_t axis;
};
Expected<Joined> joined_parts(const Parts& parts, int64_t given_axis, const Representation& representation) {
  if (Done complete = check_order(parts); !complete) return complete.error();
  if (Done same = check_one_dtype(parts); !same) return same.error();
  const auto axis = dimension_of("axis is", given_axis, "input_1", parts[0]->shape);
  if (!axis) return axis.error();
  auto shape = joined_shape(parts, *axis);
  if (!shape) return shape.error();
  Joined result{{parts[0]->dtype, *std::move(shape), representation.storage, representation.layout}, *axis};
  if (Done size = check_size("output", result.output); !size) return size.error();
  return result;
}

// Numbers along the axis for kernels: the length of each part, and its beginning.
struct Lengths {
  std::array<uint32_t, kParts> begins{}, lengths{};
  uint32_t all = 0;
};
template <typename LengthOf>
Lengths lengths_of(const Parts& parts, LengthOf length_of) {
  Lengths result;
  for (size_t i = 0; i < kParts && parts[i]; ++i) {
    result.begins[i] = result.all;
    result.lengths[i] = u32(length_of(parts[i]->shape));
    result.all += result.lengths[i];
  }
  return result;
}

// ---- elements as they are -------------------------------------------------------------------------------------------

// The dimensions from the axis on.
int64_t row_of(const Shape& shape, size_t axis) {
  return element_count(Shape(shape.begin() + static_cast<std::ptrdiff_t>(axis), shape.end()));
}

// ---- bytes in any layout --------------------------------------------------------------------------------------------

// The scale and the zero point of an input; no scale if the input is left out.
struct InputScale {
  std::optional<double> scale;
  int64_t zero_point;
};
using InputScales = std::array<InputScale, kParts>;

Done check_scales(const Parts& parts, const InputScales& given) {
  for (size_t i = 0; i < kParts; ++i) {
    if (parts[i] && !given[i].scale) return refused(fmt::format("{0} is given, but {0}_scale is not", name_of(i)));
  }
  return std::monostate{};
}

Done check_one_layout(const Parts& parts, const TensorDesc& output) {
  for (size_t i = 0; i < kParts && parts[i]; ++i) {
    if (Done same = check_same_layout(name_of(i), *parts[i], "output", output); !same) return same;
  }
  return std::monostate{};
}

// A length along the axis. The dimensions before the last three are merged into one, where elements of an outer
// dimension are as many batches apart as the inner ones have.
int64_t side_along(const Shape& shape, size_t axis) {
  Integer side = shape[axis];
  for (size_t d = axis + 1; d + kDims <= shape.size(); ++d) side = side * shape[d];
  return side.value;
}

using Words = std::array<uint32_t, kDims>;
Words sides_in_words(const std::optional<TensorDesc>& part) { return part ? in_words(sides_of(part->shape)) : Words{}; }
Words strides_in_words(const std::optional<TensorDesc>& part) {
  return part ? block_strides(part->shape, part->layout) : Words{};
}

template <typename T, typename Get>
std::array<T, kParts> per_input(const InputScales& given, Get get) {
  std::array<T, kParts> all{};
  std::ranges::transform(given, all.begin(), get);
  return all;
}

}  // namespace

Expected<Call> infer(const ConcatInputs<Described>& inputs, const ConcatAttributes& attributes) {
  const Parts parts = {inputs.input_1.get(), inputs.input_2.get(), inputs.input_3, inputs.input_4};
  const auto made = joined_parts(parts, attributes.axis, Representation{});
  if (!made) return made.error();
  const int64_t numel = element_count(made->output.shape);
  Lengths rows;  // of an empty output sides may be past 32 bits
  if (numel > 0) rows = lengths_of(parts, [&](const Shape& shape) { return row_of(shape, made->axis); });
  const concat::Problem fields{
      .numel = u32(numel),
      .begins = rows.begins,
      .lengths = rows.lengths,
      .dividers = divider_words(rows.all),
      .is_quads = std::ranges::all_of(rows.lengths, [](uint32_t length) { return length % 4 == 0; }) ? 1u : 0u,
  };
  return make_call(fields, inputs, {.output = made->output});
}

Expected<Call> infer(const Q8taConcatInputs<Described>& inputs, const Q8taConcatAttributes& attributes,
                     const Q8taConcatRepresentations& representations) {
  const Parts parts = {inputs.input_1.get(), inputs.input_2.get(), inputs.input_3, inputs.input_4};
  const InputScales given = {
      InputScale{attributes.input_1_scale, attributes.input_1_zero_point},
      InputScale{attributes.input_2_scale, attributes.input_2_zero_point},
      InputScale{attributes.input_3_scale, attributes.input_3_zero_point},
      InputScale{attributes.input_4_scale, attributes.input_4_zero_point},
  };
  if (Done known = check_scales(parts, given); !known) return known.error();
  const auto made = joined_parts(parts, attributes.axis, *representations.output);
  if (!made) return made.error();
  const TensorDesc& output = made->output;
  if (Done same = check_one_layout(parts, output); !same) return same.error();

  const Walk walk = walk_of(output.shape, between(output.layout, output.layout));
  const bool is_empty = element_count(output.shape) == 0;  // its other sides may be past 32 bits
  Lengths sides;
  if (!is_empty) sides = lengths_of(parts, [&](const Shape& shape) { return side_along(shape, made->axis); });
  const auto from_the_end = static_cast<uint32_t>(output.shape.size() - 1 - made->axis);
  const PerTensor to = of_output(attributes);
  const q8ta_concat::Problem fields{
      .walked_axes = axes_fields(walk),
      .sides = walk.sides,
      .input_1_sides = sides_in_words(parts[0]),
      .input_2_sides = sides_in_words(parts[1]),
      .input_3_sides = sides_in_words(parts[2]),
      .input_4_sides = sides_in_words(parts[3]),
      .input_1_strides = strides_in_words(parts[0]),
      .input_2_strides = strides_in_words(parts[1]),
      .input_3_strides = strides_in_words(parts[2]),
      .input_4_strides = strides_in_words(parts[3]),
      .output_strides = block_strides(output.shape, output.layout),
      .axis = is_empty ? 0u : std::min(from_the_end, static_cast<uint32_t>(index(Dim::batch))),
      .period = is_empty ? 1u : sides.all,
      .begins = sides.begins,
      .lengths = sides.lengths,
      .boxes = walk.boxes,
      .box_shifts = walk.box_shifts,
      .dividers = joined(walk.dividers, divider_words(sides.all)),
      .input_scales =
          per_input<float>(given, [](const InputScale& input) { return static_cast<float>(input.scale.value_or(1)); }),
      .input_zero_points =
          per_input<int32_t>(given, [](const InputScale& input) { return static_cast<int32_t>(input.zero_point); }),
      .inverse_scale = 1.0f / to.scale,
      .output_zero_point = to.zero_point,
      .padding = padding_word(to.zero_point),
  };
  return make_call(fields, inputs, {.output = output});
}

}  // namespace qgen::generated::operators
