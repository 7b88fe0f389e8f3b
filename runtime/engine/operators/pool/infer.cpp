// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Calls of specs/pool: the window, its positions, and the numbers about both for kernels. docs/pool.md has the
// formulas.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "operators.h"
#include "pool2d.h"
#include "q8ta_pool2d.h"
#include "runtime/engine/calls/placement.h"
#include "runtime/engine/operators/divider.h"
#include "runtime/engine/operators/packed_walk.h"
#include "runtime/engine/operators/per_tensor.h"
#include "runtime/engine/operators/window.h"
#include "vocabulary/integer.h"

namespace qgen::generated::operators {
namespace {

constexpr size_t kAxes[] = {kAlongWidth, kAlongHeight};
constexpr int64_t kMostTaps = int64_t{1} << 23;  // so that 255 times as much is an i32

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

using List = std::optional<std::vector<int64_t>>;

// ---- the window and its places --------------------------------------------------------------------------------------

struct Pool {
  Window window;
  TensorDesc input, output;
};

int64_t taps_of(const Window& window) { return window.taps[kAlongWidth] * window.taps[kAlongHeight]; }

// Whether the window has a tap among `side` elements at every position. It has none if all taps are before them, after
// them, or on both sides, which a dilation greater than `side` makes possible.
bool meets_elements(const Window& window, size_t axis, int64_t side, int64_t places) {
  const int64_t before = window.before[axis], stride = window.stride[axis], dilation = window.dilation[axis];
  if (before >= reach(window, axis) || (places - 1) * stride - before >= side) return false;
  if (side >= dilation) return true;
  const int64_t differing = std::min({places, ceil_div(before, stride), dilation});  // places that begin before
  for (int64_t place = 0; place < differing; ++place) {
    const int64_t distance = before - place * stride;  // from the first tap to the first element
    if (ceil_div(distance, dilation) * dilation - distance >= side) return false;
  }
  return true;
}

Done check_places(const Window& window, const Shape& image, const PerAxis& places) {
  for (const size_t axis : kAxes) {
    if (meets_elements(window, axis, image[3 - axis], places[axis])) continue;
    return refused(
        fmt::format("an output position has no tap in the input's {} of {}, padded by {} and {}: the window has {} "
                    "taps, {} apart, and the stride is {}",
                    axis == kAlongWidth ? "width" : "height", image[3 - axis], window.before[axis], window.after[axis],
                    window.taps[axis], window.dilation[axis], window.stride[axis]),
        "pad less");
  }
  return std::monostate{};
}

Expected<Window> read_window(const Shape& input, const auto& attributes, const List& dilation) {
  const List kernel =
      attributes.kernel_size ? attributes.kernel_size : List(std::in_place, input.begin() + 2, input.end());
  const List stride = attributes.stride ? attributes.stride : kernel;
  auto window = window_of(input.size(), {.taps = *kernel,
                                         .taps_name = "kernel_size",
                                         .stride = &stride,
                                         .padding = &attributes.padding,
                                         .dilation = &dilation});
  if (!window || taps_of(*window) <= kMostTaps) return window;
  return refused(fmt::format("kernel_size is {} x {}, and its product can be up to {}", window->taps[kAlongHeight],
                             window->taps[kAlongWidth], kMostTaps));
}

Expected<Pool> read_pool(const TensorDesc& input, const auto& attributes, const Representation& representation,
                         const List& dilation = {}) {
  const Shape image = as_image(input.shape);
  if (image[2] == 0 || image[3] == 0)
    return refused(fmt::format("images of shape {} have no pixels", to_text(input.shape)));
  const auto window = read_window(input.shape, attributes, dilation);
  if (!window) return window.error();
  const auto places = places_of(*window, input.shape, attributes.ceil_mode);
  if (!places) return places.error();
  if (Done met = check_places(*window, image, *places); !met) return met.error();
  const TensorDesc output{input.dtype, shape_like(input.shape, input.shape[1], *places), representation.storage,
                          representation.layout};
  if (Done size = check_size("output", output); !size) return size.error();
  for (const auto& [operand, tensor] : {std::pair{"input", &input}, {"output", &output}}) {
    if (Done lies = check_lies_as_image(operand, *tensor); !lies) return lies.error();
  }
  return Pool{*window, input, output};
}

// ---- what kernels are told ------------------------------------------------------------------------------------------

// How many pieces the output has along the axes of the kernels' iteration, with the padding of its blocks; or how many
// times `along_width` of them.
std::array<int64_t, kDims> pieces_of(const Pool& pool, int64_t along_width = 1) {
  if (element_count(pool.output.shape) == 0) return {};  // its other sides may be past 32 bits
  const PackedDimInfo& dims = info(pool.output.layout).dims;
  Sides counts = packed_layout(as_image(pool.output.shape), dims).padded;
  counts[index(dims.packed)] = ceil_div(counts[index(dims.packed)], 4);
  counts[index(Dim::width)] = ceil_div(counts[index(Dim::width)], along_width);
  std::array<int64_t, kDims> walked{};
  std::ranges::transform(walk(pool.output.layout, pool.input.layout), walked.begin(),
                         [&](Dim dim) { return counts[index(dim)]; });
  return walked;
}

// Four windows side by side make a piece of packed width, else four.
std::array<int64_t, kDims> slides_of(const Pool& pool) {
  return pieces_of(pool, info(pool.output.layout).dims.packed == Dim::width ? 1 : 4);
}

uint32_t product(const std::array<int64_t, kDims>& counts) {
  Integer all = 1;
  for (const int64_t count : counts) all = all * count;
  return u32(all.value);
}

std::array<uint32_t, 24> dividers_of(const Pool& pool) {
  const auto pieces = pieces_of(pool), slides = slides_of(pool);
  const PerAxis& dilation = pool.window.dilation;
  return divider_words(pieces[0], pieces[1], pieces[2], slides[0], slides[1], slides[2], dilation[0], dilation[1]);
}

// Whether windows at neighbouring positions of a row share columns.
bool share_columns(const Window& window) {
  return window.dilation[kAlongWidth] == 1 && window.stride[kAlongWidth] < window.taps[kAlongWidth];
}

// With the fields of a mean as a greatest element leaves them.
q8ta_pool2d::Problem fields_of(const Pool& pool) {
  const Window& window = pool.window;
  const PackedDimInfo& dims = info(pool.output.layout).dims;
  return {
      .walked_axes = {axes_of(pool.output.layout, pool.input.layout)},
      .window = window_fields(window, pool.input, pool.output),
      .pieces = product(pieces_of(pool)),
      .lanes = u32(std::min<int64_t>(sides_of(as_image(pool.output.shape))[index(dims.packed)], 4)),
      .slides = share_columns(window) ? product(slides_of(pool)) : 0,
      .dividers = dividers_of(pool),
      .window_taps = u32(taps_of(window)),
      .slide_taps = u32(window.taps[kAlongHeight] * (window.taps[kAlongWidth] + 3 * window.stride[kAlongWidth])),
      .elements = u32(element_count(pool.input.shape)),
      .blank = 0,
      .is_mean = 0,
      .counted_begin = std::array<uint32_t, 2>{},
      .counted_end = std::array<uint32_t, 2>{},
      .reciprocal = 0,
      .input_scale = 0,
      .input_zero_point = 0,
      .inverse_scale = 0,
      .output_zero_point = 0,
  };
}

// The same of real images.
pool2d::Problem real_fields_of(const Pool& pool) {
  const Window& window = pool.window;
  const Shape output = as_image(pool.output.shape);
  return {
      .window = window_fields(window, pool.input, pool.output),
      .numel = u32(element_count(pool.output.shape)),
      .dividers = divider_words(output[3], output[2], window.dilation[0], window.dilation[1]),
      .window_taps = u32(taps_of(window)),
      .is_mean = 0,
      .counted_begin = std::array<uint32_t, 2>{},
      .counted_end = std::array<uint32_t, 2>{},
      .reciprocal = 0,
  };
}

// The fields of a mean, which both operators have: the taps that count, in the padded input, and the divisor.
template <typename Fields>
void set_mean(Fields& fields, const Pool& pool, const auto& attributes) {
  PerAxis begin{}, end{};
  for (const size_t axis : kAxes) {
    const int64_t before = pool.window.before[axis], after = pool.window.after[axis];
    begin[axis] = attributes.count_include_pad ? 0 : before;
    end[axis] = before + as_image(pool.input.shape)[3 - axis] + (attributes.count_include_pad ? after : 0);
  }
  fields.is_mean = 1;
  fields.counted_begin = in_words(begin);
  fields.counted_end = in_words(end);
  if (attributes.divisor_override) fields.reciprocal = 1.0f / static_cast<float>(*attributes.divisor_override);
}

// The greatest mean must be finite. In the order of the kernels, so that no order of theirs is greater.
Done check_divisor(const Pool& pool, int64_t divisor, float scale) {
  const int64_t taps = taps_of(pool.window);
  const float greatest = static_cast<float>(255 * taps) * (1.0f / static_cast<float>(divisor)) * scale;
  if (std::isfinite(greatest)) return std::monostate{};
  return refused(fmt::format("divisor_override is {}: with an input_scale of {}, the mean of {} taps could exceed f32",
                             divisor, scale, taps));
}

}  // namespace

// Bytes are compared as they are, so the output is quantized as the input; padding of its layout becomes 0.
Expected<Call> infer(const Q8taMaxPool2dInputs<Described>& inputs, const Q8taMaxPool2dAttributes& attributes,
                     const Q8taMaxPool2dRepresentations& representations) {
  const auto pool = read_pool(inputs.input, attributes, *representations.output, attributes.dilation);
  if (!pool) return pool.error();
  return make_call(fields_of(*pool), {.input = pool->input, .output = pool->output});
}

Expected<Call> infer(const Q8taAvgPool2dInputs<Described>& inputs, const Q8taAvgPool2dAttributes& attributes,
                     const Q8taAvgPool2dRepresentations& representations) {
  const auto pool = read_pool(inputs.input, attributes, *representations.output);
  if (!pool) return pool.error();
  const PerTensor from = of_input(attributes), to = of_output(attributes);
  q8ta_pool2d::Problem fields = fields_of(*pool);
  fields.blank = padding_word(to.zero_point);
  fields.input_scale = from.scale;
  fields.input_zero_point = from.zero_point;
  fields.inverse_scale = 1.0f / to.scale;
  fields.output_zero_point = to.zero_point;
  if (attributes.divisor_override) {
    if (Done finite = check_divisor(*pool, *attributes.divisor_override, from.scale); !finite) return finite.error();
  }
  set_mean(fields, *pool, attributes);
  return make_call(fields, {.input = pool->input, .output = pool->output});
}

Expected<Call> infer(const MaxPool2dInputs<Described>& inputs, const MaxPool2dAttributes& attributes) {
  const auto pool = read_pool(inputs.input, attributes, Representation{}, attributes.dilation);
  if (!pool) return pool.error();
  return make_call(real_fields_of(*pool), {.input = pool->input, .output = pool->output});
}

Expected<Call> infer(const AvgPool2dInputs<Described>& inputs, const AvgPool2dAttributes& attributes) {
  const auto pool = read_pool(inputs.input, attributes, Representation{});
  if (!pool) return pool.error();
  pool2d::Problem fields = real_fields_of(*pool);
  set_mean(fields, *pool, attributes);
  return make_call(fields, {.input = pool->input, .output = pool->output});
}

}  // namespace qgen::generated::operators
