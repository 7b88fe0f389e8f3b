// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Calls of convolutions in int8. docs/convolution.md says what is computed, to the bit.
#include <fmt/format.h>

#include "operators.h"
#include "q8ta_conv2d.h"
#include "runtime/calls/placement.h"
#include "runtime/library/integer.h"
#include "runtime/library/layout_table.h"
#include "runtime/operators/linear/depth.h"
#include "runtime/operators/window.h"

namespace qgen::generated::operators {
namespace {

// A weight [O, I, taps], and what it is a convolution of.
struct Channels {
  int64_t input, of_a_group, outputs, groups;
};

Expected<Channels> channels_of(const TensorDesc& input, const TensorDesc& weight, int64_t groups) {
  const Channels channels{input.shape[1], weight.shape[1], weight.shape[0], groups};
  if (channels.input != (Integer(channels.of_a_group) * groups).value) {
    return refused(fmt::format("input has {} channels, and a weight {} in {} groups reads {}", channels.input,
                               to_text(weight.shape), groups, (Integer(channels.of_a_group) * groups).value));
  }
  if (channels.outputs % groups != 0)
    return refused(fmt::format("{} output channels do not fall into {} groups", channels.outputs, groups));
  return channels;
}

// The window's lists of an operator, whose taps are the weight's.
template <typename Attributes>
Expected<Window> window_over(const Attributes& attributes, const TensorDesc& weight) {
  return window_of(weight.shape.size(), {.taps = std::span(weight.shape).subspan(2),
                                         .stride = &attributes.stride,
                                         .padding = &attributes.padding,
                                         .dilation = &attributes.dilation});
}

Done check_ranks(const TensorDesc& input, const TensorDesc& weight) {
  if (input.shape.size() == weight.shape.size()) return std::monostate{};
  return refused(fmt::format("input has shape {} and the weight {}", to_text(input.shape), to_text(weight.shape)),
                 "an image [N, C, H, W] takes a weight [O, I, KH, KW], a row [N, C, W] one of [O, I, KW]");
}

// Elements of a row of the output that kernels make: those too that its layout rounds rows up by.
int64_t row_pixels(const TensorDesc& output) {
  const int64_t width = output.shape.back();
  const int64_t block = info(output.layout).dims.block_of(Dim::width);
  return output.layout == Layout::strided ? width : (width + block - 1) / block * block;
}

std::array<uint32_t, 2> in_words(const PerAxis& numbers) { return {u32(numbers[0]), u32(numbers[1])}; }

}  // namespace

Expected<Call> infer(const Q8taConv2dInputs<Described>& inputs, const Q8taConv2dAttributes& attributes,
                     const Q8taConv2dPlaces& places) {
  const TensorDesc &input = inputs.input, &weight = inputs.weight;
  if (Done ranks = check_ranks(input, weight); !ranks) return ranks.error();
  if (Done lies = check_lies_as_image("input", input); !lies) return lies.error();
  const auto channels = channels_of(input, weight, attributes.groups);
  if (!channels) return channels.error();
  const auto window = window_over(attributes, weight);
  if (!window) return window.error();
  const int64_t taps = window->taps[0] * window->taps[1];
  if (Done exact = check_depth((Integer(channels->of_a_group) * taps).value); !exact) return exact.error();
  const auto sides = places_of(*window, input.shape);
  if (!sides) return sides.error();
  const TensorDesc output{DType::i8, shape_like(input.shape, channels->outputs, *sides), places.output->storage,
                          places.output->layout};
  if (Done lies = check_lies_as_image("output", output); !lies) return lies.error();
  if (Done size = check_size("output", output); !size) return size.error();
  const int64_t pixels = input.shape[0] * (*sides)[kAlongHeight] * row_pixels(output);
  const q8ta_conv2d::Problem fields{
      .m = u32(pixels),
      .n = u32(channels->outputs / channels->groups),
      .k = u32(channels->of_a_group * taps),
      .products = u32(channels->groups),
      .pixels = u32(pixels),
      .row_pixels = u32(row_pixels(output)),
      .channels = u32(channels->of_a_group),
      .all_channels = u32(channels->input),
      .outputs = u32(channels->outputs),
      .tap_sums = 1,
      .input_scale = static_cast<float>(attributes.input_scale),
      .input_zero_point = static_cast<int32_t>(attributes.input_zero_point),
      .output_inverse_scale = inverse(static_cast<float>(attributes.output_scale)),
      .output_zero_point = static_cast<int32_t>(attributes.output_zero_point),
      .activation = attributes.activation,
      .has_bias = inputs.bias ? 1u : 0u,
      .input_sides = image_sides(input.shape),
      .output_sides = image_sides(output.shape),
      .input_strides = image_strides(input),
      .output_strides = image_strides(output),
      .taps = in_words(window->taps),
      .stride = in_words(window->stride),
      .padding = in_words(window->before),
      .dilation = in_words(window->dilation),
  };
  return make_call(fields, {.input = input,
                            .weight = weight,
                            .weight_sums = TensorDesc{DType::i32, {channels->outputs}},
                            .weight_scales = inputs.weight_scales,
                            .bias = inputs.bias,
                            .output = output});
}

}  // namespace qgen::generated::operators
