// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// infer() of all convolutions: checks shapes, windows and groups, computes the output's shape, and fills the Problem of
// the specs in specs/conv. docs/convolution.md defines the results.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "conv2d.h"
#include "conv2d_dq8ta_q8csw.h"
#include "conv2d_q8csw.h"
#include "conv2d_q8ta_q8csw.h"
#include "conv2d_transposed.h"
#include "dq8ta_conv2d.h"
#include "operators.h"
#include "q8ta_conv2d.h"
#include "q8ta_conv2d_dequantize.h"
#include "q8ta_conv2d_transposed.h"
#include "runtime/engine/calls/placement.h"
#include "runtime/engine/operators/divider.h"
#include "runtime/engine/operators/linear/int8_epilogue.h"
#include "runtime/engine/operators/quant_range.h"
#include "runtime/engine/operators/same_as.h"
#include "runtime/engine/operators/weight_linear/checks.h"
#include "runtime/engine/operators/window.h"
#include "vocabulary/integer.h"
#include "vocabulary/layouts.h"

namespace qgen::generated::operators {
namespace {

constexpr int64_t kMostPixels = int64_t{1} << 30;  // along a dimension: kernels compute positions in 32 bits

// A weight [O, I, taps], and the kind of its convolution.
struct Channels {
  int64_t input, of_a_group, outputs, groups;
};

Expected<Channels> channels_of(const TensorDesc& input, const TensorDesc& weight, int64_t groups) {
  const Channels channels{input.shape[1], weight.shape[1], weight.shape[0], groups};
  if (channels.input != (Integer(channels.of_a_group) * groups).value) {
    return refused(fmt::format("input has {} channels, and a weight {} with {} groups reads {}", channels.input,
                               to_text(weight.shape), groups, (Integer(channels.of_a_group) * groups).value));
  }
  if (channels.outputs % groups != 0)
    return refused(fmt::format("{} output channels cannot be divided into {} groups", channels.outputs, groups));
  return channels;
}

Done check_ranks(const TensorDesc& input, const TensorDesc& weight) {
  if (input.shape.size() == weight.shape.size()) return std::monostate{};
  return refused(fmt::format("input has shape {} and the weight has {}", to_text(input.shape), to_text(weight.shape)),
                 "an image [N, C, H, W] needs a weight of rank 4, a row [N, C, W] one of rank 3");
}

// The parts that all convolutions share: `weight` is [O, I, taps].
struct Convolution {
  Channels channels;
  Window window;
};

Expected<Convolution> convolution_of(const TensorDesc& input, const TensorDesc& weight, const auto& attributes) {
  if (Done ranks = check_ranks(input, weight); !ranks) return ranks.error();
  if (Done lies = check_lies_as_image("input", input); !lies) return lies.error();
  const auto channels = channels_of(input, weight, attributes.groups);
  if (!channels) return channels.error();
  const auto window = window_of(weight.shape.size(), {.taps = std::span(weight.shape).subspan(2),
                                                      .stride = &attributes.stride,
                                                      .padding = &attributes.padding,
                                                      .dilation = &attributes.dilation});
  if (!window) return window.error();
  return Convolution{*channels, *window};
}

Integer taps_of(const Convolution& conv) { return Integer(conv.window.taps[0]) * conv.window.taps[1]; }
// Terms of a sum.
Integer depth_of(const Convolution& conv) { return Integer(conv.channels.of_a_group) * taps_of(conv); }

// Of integers, whose sums are exact.
Expected<Convolution> exact_convolution_of(const TensorDesc& input, const TensorDesc& weight, const auto& attributes) {
  auto conv = convolution_of(input, weight, attributes);
  if (!conv) return conv.error();
  if (Done exact = check_depth(depth_of(*conv).value); !exact) return exact.error();
  return conv;
}

// The output, once its sides are known.
Expected<TensorDesc> output_of(DType dtype, const TensorDesc& input, const Convolution& conv, const PerAxis& sides,
                               Representation representation) {
  const TensorDesc output{dtype, shape_like(input.shape, conv.channels.outputs, sides), representation.storage,
                          representation.layout};
  if (Done lies = check_lies_as_image("output", output); !lies) return lies.error();
  if (Done size = check_size("output", output); !size) return size.error();
  return output;
}

// A convolution that is not transposed.
struct Forward {
  Convolution conv;
  TensorDesc output;
};

Expected<Forward> forward_of(const Expected<Convolution>& conv, const TensorDesc& input, DType dtype,
                             Representation representation = {}) {
  if (!conv) return conv.error();
  const auto sides = places_of(conv->window, input.shape);
  if (!sides) return sides.error();
  const auto output = output_of(dtype, input, *conv, *sides, representation);
  if (!output) return output.error();
  return Forward{*conv, *output};
}

// Elements of a row of the output that kernels make: those too that its layout rounds rows up by.
int64_t row_pixels(const TensorDesc& output) {
  const int64_t width = output.shape.back();
  const int64_t block = info(output.layout).dims.block_of(Dim::width);
  return output.layout == Layout::strided ? width : (width + block - 1) / block * block;
}

Integer image_pixels_of(const TensorDesc& output) {
  const Shape image = as_image(output.shape);
  return Integer(image[2]) * image[3];
}

// Of all images; 0 where there are none, or they are empty.
uint32_t pixels_of(const Shape& shape) {
  const Shape image = as_image(shape);
  return u32((Integer(image[0]) * image[2] * image[3]).value);
}

// For a pixel's place in the output: multiplier and shift of both sides that its number is divided by.
std::array<uint32_t, 4> quotients_of(int64_t width, int64_t height) {
  const Divider row = divider_of(u32(std::max<int64_t>(width, 1))),
                image = divider_of(u32(std::max<int64_t>(height, 1)));
  return {row.multiplier, row.shift, image.multiplier, image.shift};
}

// A place reads one pixel of the input, and each place its own.
bool is_one_to_one(const Window& window) {
  const bool is_one_tap = window.taps == PerAxis{1, 1} && window.stride == PerAxis{1, 1};
  return is_one_tap && window.before == PerAxis{} && window.after == PerAxis{};
}

// Pixels, channel by channel in whole words, as the rows of a matrix.
struct Rows {
  bool are_output = false;
  bool are_pointwise = false;      // on both sides, and a row makes a row
  bool are_input_vectors = false;  // of sixteen channels
};

Rows packed_rows(const Convolution& conv, const TensorDesc& input, const TensorDesc& output) {
  const bool are_output = output.layout == Layout::packed_4c && conv.channels.groups == 1;
  const bool are_input = input.layout == Layout::packed_4c && conv.channels.groups == 1;
  return {are_output, are_input && are_output && is_one_to_one(conv.window),
          are_input && conv.channels.input % 16 == 0};
}

// How a kernel goes through the output, phase by phase, and through the taps of each. A convolution that is not
// transposed has one phase.
struct Walked {
  int64_t phases = 1;
  int64_t pixels;             // of an image of the output, in the largest phase
  int64_t taps;               // of the largest phase
  bool has_tap_sums = false;  // the epilogue reads sums of each tap
  std::array<uint32_t, 2> step{1, 1};
  std::array<int32_t, 2> reach{};
};

Walked tap_by_tap(const Convolution& conv, const TensorDesc& output, bool has_tap_sums = false) {
  const PerAxis& dilation = conv.window.dilation;
  return {.pixels = (Integer(as_image(output.shape)[2]) * row_pixels(output)).value,
          .taps = taps_of(conv).value,
          .has_tap_sums = has_tap_sums,
          .reach = {static_cast<int32_t>(dilation[0]), static_cast<int32_t>(dilation[1])}};
}

// The fields of fragments in specs/conv/lib, and of the window.
struct ConvFields {
  fields::ConvSizes sizes;
  fields::Window window;
  fields::ConvWalk walk;
  fields::ConvLines lines;
};

fields::ConvSizes sizes_fields(const Convolution& conv, const TensorDesc& output, const Walked& walked) {
  const Shape image = as_image(output.shape);
  const auto& [input_channels, of_a_group, outputs, groups] = conv.channels;
  return {.m = u32((Integer(image[0]) * walked.pixels).value),
          .n = u32(outputs / groups),
          .k = u32(depth_of(conv).value),
          .products = u32((Integer(groups) * walked.phases).value),
          .pixels = u32((Integer(image[0]) * image[2] * row_pixels(output)).value),
          .row_pixels = u32(row_pixels(output)),
          .channels = u32(of_a_group),
          .all_channels = u32(input_channels),
          .outputs = u32(outputs),
          .tap_sums = walked.has_tap_sums ? u32(taps_of(conv).value) : 1};
}

fields::ConvWalk walk_fields(const TensorDesc& output, const Walked& walked) {
  return {.tap_step = walked.step,
          .tap_reach = walked.reach,
          .phase_taps = u32(walked.taps),
          .pixel_quotients = quotients_of(row_pixels(output), as_image(output.shape)[2])};
}

ConvFields conv_fields(const Convolution& conv, const TensorDesc& input, const TensorDesc& output,
                       const Walked& walked) {
  const Window& window = conv.window;
  return {.sizes = sizes_fields(conv, output, walked),
          .window = window_fields(window, input, output),
          .walk = walk_fields(output, walked),
          .lines = {.window_lines = u32(window.taps[kAlongHeight]),
                    .line_taps = u32(window.taps[kAlongWidth]),
                    .line_stride = u32(window.stride[kAlongWidth]),
                    .line_dilation = u32(window.dilation[kAlongWidth])}};
}

template <typename Fields>
Expected<Call> call_of(const auto& inputs, const TensorDesc& weight, const auto& attributes, const Convolution& conv,
                       const TensorDesc& output, const Walked& walked, const Rows& rows = {}) {
  const TensorDesc& input = inputs.input;
  const auto epilogue = epilogue_fields(inputs, attributes, output);
  if (!epilogue) return epilogue.error();
  const int64_t run = walked.has_tap_sums ? conv.channels.of_a_group : depth_of(conv).value;
  const ConvFields known = conv_fields(conv, input, output, walked);
  const Fields fields{
      .conv_sizes = known.sizes,
      .int8_epilogue = *epilogue,
      .window = known.window,
      .conv_walk = known.walk,
      .conv_lines = known.lines,
      .output_is_rows = rows.are_output ? 1u : 0u,
      .is_pointwise = rows.are_pointwise ? 1u : 0u,
      .input_is_vectors = rows.are_input_vectors ? 1u : 0u,
  };
  return call_with_sums(fields, with_weight(inputs, weight), run, output);
}

// ---- transposed -----------------------------------------------------------------------------------------------------

// [C, O / groups, taps] as [O, C / groups, taps]: Weight::turned().
Expected<TensorDesc> turned(TensorDesc weight, int64_t groups) {
  if (weight.shape[0] % groups != 0) {
    return refused(fmt::format("a weight {} of {} input channels cannot be divided into {} groups",
                               to_text(weight.shape), weight.shape[0], groups));
  }
  const Shape shape = weight.shape;
  weight.shape[0] = (Integer(shape[1]) * groups).value;
  weight.shape[1] = shape[0] / groups;
  if (Done sane = check_shape(weight.shape); !sane) return sane.error();
  return weight;
}

// Of an operand that has an element for each channel of a transposed convolution's output, which its weight does not
// say.
Done check_channels(std::string_view operand, const std::optional<TensorDesc>& tensor, const Channels& channels) {
  if (!tensor || tensor->shape[0] == channels.outputs) return std::monostate{};
  return refused(
      fmt::format("{} has {} elements, and the output has {} channels", operand, tensor->shape[0], channels.outputs));
}

// The part of the output positions that the input's pixels reach, a stride apart, inside the padding of the window.
Expected<PerAxis> transposed_sides(const Window& window, const Shape& input,
                                   const std::optional<std::vector<int64_t>>& output_padding) {
  const std::vector<int64_t> one_tap(input.size() - 2, 1);
  const auto extra = window_of(input.size(), {.taps = one_tap, .padding = &output_padding});
  if (!extra) return extra.error();
  const Shape image = as_image(input);
  PerAxis sides{};
  for (const size_t axis : {kAlongHeight, kAlongWidth}) {
    const int64_t side = image[image.size() - 1 - axis], added = extra->before[axis];
    if (added >= std::max(window.stride[axis], window.dilation[axis])) {
      return refused(
          fmt::format("output_padding is {}, and must be smaller than the stride or the dilation, {} and "
                      "{}",
                      added, window.stride[axis], window.dilation[axis]));
    }
    const Integer reached = Integer(side - 1) * window.stride[axis] + reach(window, axis) + added;
    sides[axis] = (reached - window.before[axis] - window.after[axis]).value;
    if (sides[axis] < 1 || reached > Integer(kMostPixels)) {
      return refused(fmt::format("the output would have {} pixels along a dimension: {} input pixels make {}, and "
                                 "padding removes {}",
                                 sides[axis], side, reached.value, window.before[axis] + window.after[axis]),
                     sides[axis] < 1 ? "pad less" : "split the image");
    }
  }
  return sides;
}

Walked phase_by_phase(const Window& window, const TensorDesc& output) {
  const PerAxis sides{row_pixels(output), as_image(output.shape)[2]};
  const auto part = [](int64_t side, int64_t step) { return (side + step - 1) / step; };
  Walked walked{.pixels = 1, .taps = 1, .has_tap_sums = true};
  for (const size_t axis : {kAlongWidth, kAlongHeight}) {
    const int64_t stride = window.stride[axis], common = std::gcd(stride, window.dilation[axis]);
    walked.step[axis] = u32(stride / common);
    walked.reach[axis] = static_cast<int32_t>(-window.dilation[axis] / common);
    walked.phases = (Integer(walked.phases) * std::min(stride, sides[axis])).value;
    walked.pixels = (Integer(walked.pixels) * part(sides[axis], stride)).value;
    walked.taps = (Integer(walked.taps) * part(window.taps[axis], walked.step[axis])).value;
  }
  return walked;
}

}  // namespace

Expected<Call> infer(const Q8taConv2dInputs<Described>& inputs, const Q8taConv2dAttributes& attributes,
                     const Q8taConv2dRepresentations& representations) {
  const TensorDesc &input = inputs.input, &weight = inputs.weight;
  const auto forward =
      forward_of(exact_convolution_of(input, weight, attributes), input, DType::i8, *representations.output);
  if (!forward) return forward.error();
  const auto& [conv, output] = *forward;
  return call_of<q8ta_conv2d::Problem>(inputs, weight, attributes, conv, output, tap_by_tap(conv, output),
                                       packed_rows(conv, input, output));
}

Expected<Call> infer(const Q8taConv2dTransposedInputs<Described>& inputs,
                     const Q8taConv2dTransposedAttributes& attributes,
                     const Q8taConv2dTransposedRepresentations& representations) {
  const TensorDesc& input = inputs.input;
  const auto weight = turned(inputs.weight, attributes.groups);
  if (!weight) return weight.error();
  const auto conv = exact_convolution_of(input, *weight, attributes);
  if (!conv) return conv.error();
  if (Done fits = check_channels("weight_scales", inputs.weight_scales, conv->channels); !fits) return fits.error();
  const auto sides = transposed_sides(conv->window, input.shape, attributes.output_padding);
  if (!sides) return sides.error();
  const auto output = output_of(DType::i8, input, *conv, *sides, *representations.output);
  if (!output) return output.error();
  auto call = call_of<q8ta_conv2d_transposed::Problem>(inputs, *weight, attributes, *conv, *output,
                                                       phase_by_phase(conv->window, *output));
  if (call) call->turned_groups = attributes.groups;
  return call;
}

// ---- reals in and out -----------------------------------------------------------------------------------------------

// Floating-point tensors: quantized by input_scale, convolved in int8, and converted back to the input's dtype. The
// image in between has the layout packed_4c.
Expected<Call> infer(const Conv2dQ8taQ8cswInputs<Described>& inputs, const Conv2dQ8taQ8cswAttributes& attributes) {
  const TensorDesc &input = inputs.input, &weight = inputs.weight;
  const auto forward = forward_of(exact_convolution_of(input, weight, attributes), input, input.dtype);
  if (!forward) return forward.error();
  const auto& [conv, output] = *forward;
  const TensorDesc quantized{DType::i8, as_image(input.shape), Storage::buffer, Layout::packed_4c};
  if (Done size = check_size("the quantized input", quantized); !size) return size.error();
  const ConvFields known = conv_fields(conv, quantized, output, tap_by_tap(conv, output));
  const conv2d_q8ta_q8csw::Problem fields{
      .conv_sizes = known.sizes,
      .window = known.window,
      .conv_walk = known.walk,
      .conv_lines = known.lines,
      .input_pixels = pixels_of(input.shape),
      .input_scale = static_cast<float>(attributes.input_scale),
      .input_inverse_scale = inverse(static_cast<float>(attributes.input_scale)),
      .input_zero_point = static_cast<int32_t>(attributes.input_zero_point),
      .activation = attributes.activation,
      .has_bias = inputs.bias ? 1u : 0u,
  };
  return call_with_sums(fields, inputs, depth_of(conv).value, output);
}

// int8 tensors, as for q8ta_conv2d, and a floating-point epilogue.
Expected<Call> infer(const Q8taConv2dDequantizeInputs<Described>& inputs,
                     const Q8taConv2dDequantizeAttributes& attributes) {
  const TensorDesc &input = inputs.input, &weight = inputs.weight;
  const auto forward = forward_of(exact_convolution_of(input, weight, attributes), input, attributes.output_dtype);
  if (!forward) return forward.error();
  const auto& [conv, output] = *forward;
  const ConvFields known = conv_fields(conv, input, output, tap_by_tap(conv, output));
  const q8ta_conv2d_dequantize::Problem fields{
      .conv_sizes = known.sizes,
      .window = known.window,
      .conv_walk = known.walk,
      .conv_lines = known.lines,
      .input_scale = static_cast<float>(attributes.input_scale),
      .input_zero_point = static_cast<int32_t>(attributes.input_zero_point),
      .activation = attributes.activation,
      .has_bias = inputs.bias ? 1u : 0u,
  };
  return call_with_sums(fields, inputs, depth_of(conv).value, output);
}

namespace {

// Sums of products of two differences of bytes, which an int holds.
constexpr int64_t kMaxDynamicDepth = 33025;

Done check_dynamic(bool has_weight_zero_points, const Convolution& conv) {
  if (depth_of(conv) > Integer(kMaxDynamicDepth))
    return refused(fmt::format("an output adds {} products, and the sums are exact up to {}", depth_of(conv).value,
                               kMaxDynamicDepth),
                   "split the channels, and add the results");
  if (!has_weight_zero_points || conv.channels.groups == 1) return std::monostate{};
  return Error{Error::Kind::unsupported,
               fmt::format("there are weight_zero_points and {} groups, and no kernel has both", conv.channels.groups),
               ""};
}

Done check_dynamic(const Dq8taConv2dInputs<Described>& inputs, const Convolution& conv) {
  if (inputs.scale->shape != Shape{1})
    return refused(
        fmt::format("scale is {}, and the input has one scale and one zero point", to_text(inputs.scale->shape)));
  if (Done sound = check_dynamic(inputs.weight_zero_points.has_value(), conv); !sound) return sound;
  if (!inputs.weight_zero_points) return std::monostate{};
  if (!inputs.channel_sums) return refused("weight_zero_points need channel_sums", "dynamic_quantize_image makes them");
  if (inputs.channel_sums->shape[1] == 1) return std::monostate{};
  return refused(
      fmt::format("channel_sums is {}, and has one sum for each pixel", to_text(inputs.channel_sums->shape)));
}

// The weight's neighbours in a sum, for an epilogue that reads sums of each tap: fewer taps are inside at the image's
// edge.
int64_t tap_run(const Convolution& conv) { return std::max<int64_t>(conv.channels.of_a_group, 1); }

}  // namespace

// int8 tensors whose scale and zero point are on the device.
Expected<Call> infer(const Dq8taConv2dInputs<Described>& inputs, const Dq8taConv2dAttributes& attributes) {
  const TensorDesc &input = inputs.input, &weight = inputs.weight;
  const auto forward = forward_of(exact_convolution_of(input, weight, attributes), input, DType::f32);
  if (!forward) return forward.error();
  const auto& [conv, output] = *forward;
  if (Done sound = check_dynamic(inputs, conv); !sound) return sound.error();
  const ConvFields known = conv_fields(conv, input, output, tap_by_tap(conv, output, true));
  const dq8ta_conv2d::Problem fields{
      .conv_sizes = known.sizes,
      .window = known.window,
      .conv_walk = known.walk,
      .conv_lines = known.lines,
      .activation = attributes.activation,
      .has_bias = inputs.bias ? 1u : 0u,
      .has_weight_zero_points = inputs.weight_zero_points ? 1u : 0u,
  };
  return call_with_sums(fields, inputs, tap_run(conv), output);
}

namespace {

// The inputs of a convolution as one image with all their channels.
struct JoinedImage {
  TensorDesc image;
  TensorDesc quantized = {};
  std::array<uint32_t, 4> source_channels{};
};

Expected<JoinedImage> joined_image(const Conv2dDq8taQ8cswInputs<Described>& inputs) {
  JoinedImage joined{.image = inputs.input, .source_channels = {u32(inputs.input->shape[1])}};
  Integer channels(inputs.input->shape[1]);
  const std::optional<TensorDesc>* others[] = {&inputs.input_2, &inputs.input_3, &inputs.input_4};
  for (size_t i = 0; i < std::size(others); ++i) {
    if (!*others[i]) continue;
    if (i > 0 && !*others[i - 1]) return refused(fmt::format("there is an input_{} and no input_{}", i + 2, i + 1));
    const Shape& shape = (*others[i])->shape;
    if (shape.size() != joined.image.shape.size())
      return refused(
          fmt::format("input is {}, and input_{} is {}", to_text(inputs.input->shape), i + 2, to_text(shape)));
    joined.source_channels[i + 1] = u32(shape[1]);
    channels = channels + shape[1];
  }
  joined.image.shape[1] = channels.value;
  if (Done size = check_size("the joined input", joined.image); !size) return size.error();
  joined.quantized = {DType::i8, as_image(joined.image.shape), Storage::buffer, Layout::packed_4c};
  if (Done size = check_size("the quantized input", joined.quantized); !size) return size.error();
  return joined;
}

// The range of a part of the input is found by a workgroup. Each workgroup that quantizes reads all ranges.
uint32_t range_slices_of(const TensorDesc& image) {
  constexpr int64_t kMost = 256, kElements = 4096;
  return u32(std::clamp<int64_t>((element_count(image.shape) + kElements - 1) / kElements, 1, kMost));
}

}  // namespace

// Floating-point tensors: quantized by the range of all inputs together, and convolved as dq8ta_conv2d does.
Expected<Call> infer(const Conv2dDq8taQ8cswInputs<Described>& inputs, const Conv2dDq8taQ8cswAttributes& attributes) {
  const auto joined = joined_image(inputs);
  if (!joined) return joined.error();
  const TensorDesc &input = joined->image, &weight = inputs.weight;
  const auto forward = forward_of(exact_convolution_of(input, weight, attributes), input, DType::f32);
  if (!forward) return forward.error();
  const auto& [conv, output] = *forward;
  if (Done sound = check_dynamic(inputs.weight_zero_points.has_value(), conv); !sound) return sound.error();
  const ConvFields known = conv_fields(conv, joined->quantized, output, tap_by_tap(conv, output, true));
  const conv2d_dq8ta_q8csw::Problem fields{
      .conv_sizes = known.sizes,
      .window = known.window,
      .conv_walk = known.walk,
      .conv_lines = known.lines,
      .qparams = qparams_fields(words::MappingType::asymmetric, {-128, 127}, least_scale(DType::f32)),
      .input_pixels = pixels_of(input.shape),
      .plane = u32(image_pixels_of(input).value),
      .source_channels = joined->source_channels,
      .range_slices = range_slices_of(input),
      .activation = attributes.activation,
      .has_bias = inputs.bias ? 1u : 0u,
      .has_weight_zero_points = inputs.weight_zero_points ? 1u : 0u,
  };
  return call_with_sums(fields, inputs, tap_run(conv), output);
}

// Floating-point tensors; only the weight is quantized.
Expected<Call> infer(const Conv2dQ8cswInputs<Described>& inputs, const Conv2dQ8cswAttributes& attributes) {
  const TensorDesc& input = inputs.input;
  const auto conv = convolution_of(input, inputs.weight, attributes);
  if (!conv) return conv.error();
  const auto form = checked_form(kEightBits, inputs.weight);
  if (!form) return form.error();
  const auto forward = forward_of(conv, input, input.dtype);
  if (!forward) return forward.error();
  const auto& [channels, window] = *conv;
  const TensorDesc& output = forward->output;
  const Integer image_pixels = image_pixels_of(output);
  const bool is_linear = channels.groups == 1 && is_one_to_one(window) && image_pixels == Integer(1);
  const conv2d_q8csw::Problem fields{
      .m = pixels_of(output.shape),
      .n = u32(channels.outputs / channels.groups),
      .k = u32(depth_of(*conv).value),
      .products = u32(channels.groups),
      .channels = u32(channels.of_a_group),
      .row_pixels = u32(row_pixels(output)),
      .image_pixels = u32(image_pixels.value),
      .is_linear = is_linear ? 1u : 0u,
      .window_lines = u32(window.taps[kAlongHeight]),
      .line_taps = u32(window.taps[kAlongWidth]),
      .column_stride = u32(window.stride[kAlongHeight]),
      .column_dilation = u32(window.dilation[kAlongHeight]),
      .window = window_fields(window, input, output),
      .conv_walk = walk_fields(output, tap_by_tap(*conv, output)),
      .has_bias = inputs.bias ? 1u : 0u,
      .activation = attributes.activation,
  };
  return make_call(fields, with_weight(inputs, *form), {.output = output});
}

// ---- with a weight of reals -----------------------------------------------------------------------------------------

namespace {

// Batches of a group of an image.
fields::BmmSizes sizes_of_reals(const Convolution& conv, const TensorDesc& output) {
  const auto& [input_channels, of_a_group, outputs, groups] = conv.channels;
  return {.batches = u32((Integer(output.shape[0]) * groups).value),
          .m = u32(outputs / groups),
          .n = u32(image_pixels_of(output).value),
          .k = u32(depth_of(conv).value)};
}

// Of a weight [O, I, taps]; or, where it is transposed, [C, O, taps] of a group's outputs.
fields::ConvOfReals weight_of_reals(const Convolution& conv, bool is_transposed) {
  const auto& [input_channels, of_a_group, outputs, groups] = conv.channels;
  const Integer taps = taps_of(conv), group_outputs = outputs / groups;
  const Integer row = taps * (is_transposed ? group_outputs : Integer(of_a_group));
  return {.outputs = u32(outputs),
          .group_channels = u32(of_a_group),
          .weight_group = u32((taps * of_a_group * group_outputs).value),
          .weight_output = u32((is_transposed ? taps : row).value),
          .weight_channel = u32((is_transposed ? row : taps).value)};
}

}  // namespace

Expected<Call> infer(const Conv2dInputs<Described>& inputs, const Conv2dAttributes& attributes) {
  const TensorDesc& input = inputs.input;
  if (Done alike = check_one_dtype("input", input, "the weight", inputs.weight); !alike) return alike.error();
  const auto forward = forward_of(convolution_of(input, inputs.weight, attributes), input, input.dtype);
  if (!forward) return forward.error();
  const auto& [conv, output] = *forward;
  const Window& window = conv.window;
  const fields::ConvOfReals weight = weight_of_reals(conv, false);
  const uint32_t n = u32(image_pixels_of(output).value), k = u32(depth_of(conv).value),
                 groups = u32(conv.channels.groups);
  // Rows of halves that are whole vectors; images whose rows are none are copied.
  const bool is_unfolded = is_one_to_one(window) && (input.dtype == DType::f32 || n % 8 == 0);
  const uint32_t columns = is_unfolded ? n : u32((Integer(n) + 7).value / 8 * 8);
  const conv2d::Problem fields{
      .bmm_sizes = sizes_of_reals(conv, output),
      .conv_of_reals = weight,
      .matmul_kernel = {.transpose_other = 0, .weight_bits = 8 * u32(bytes(input.dtype))},
      // Groups, whose weights are the same for all images, and images. Both matrices are contiguous.
      .matmul_batches = {.batch_rank = 2,
                         .batch_sizes = std::array<uint32_t, 6>{groups, u32(output.shape[0])},
                         .input_batch_strides = std::array<uint32_t, 6>{weight.weight_group, 0},
                         .other_batch_strides = std::array<uint32_t, 6>{k * columns, groups * k * columns}},
      .is_unfolded = is_unfolded ? 1u : 0u,
      .columns = columns,
      .window_lines = u32(window.taps[kAlongHeight]),
      .line_taps = u32(window.taps[kAlongWidth]),
      .window = window_fields(window, input, output),
      .epilogue = {.has_bias = inputs.bias ? 1u : 0u, .activation = attributes.activation},
  };
  return make_call(fields, inputs, {.output = output});
}

Expected<Call> infer(const Conv2dTransposedInputs<Described>& inputs, const Conv2dTransposedAttributes& attributes) {
  const TensorDesc& input = inputs.input;
  if (Done alike = check_one_dtype("input", input, "the weight", inputs.weight); !alike) return alike.error();
  const auto forward = turned(inputs.weight, attributes.groups);
  if (!forward) return forward.error();
  const auto conv = convolution_of(input, *forward, attributes);
  if (!conv) return conv.error();
  const auto& [channels, window] = *conv;
  if (Done fits = check_channels("bias", inputs.bias, channels); !fits) return fits.error();
  const auto sides = transposed_sides(window, input.shape, attributes.output_padding);
  if (!sides) return sides.error();
  const auto output = output_of(input.dtype, input, *conv, *sides, {});
  if (!output) return output.error();
  const Walked walked = phase_by_phase(window, *output);
  const conv2d_transposed::Problem fields{
      .bmm_sizes = sizes_of_reals(*conv, *output),
      .conv_of_reals = weight_of_reals(*conv, true),
      .products = u32((Integer(channels.groups) * walked.phases).value),
      .phase_rows = u32((Integer(output->shape[0]) * walked.pixels).value),
      .row_pixels = u32(row_pixels(*output)),
      .window = window_fields(window, input, *output),
      .conv_walk = walk_fields(*output, walked),
      .epilogue = {.has_bias = inputs.bias ? 1u : 0u, .activation = attributes.activation},
  };
  return make_call(fields, inputs, {.output = *output});
}

}  // namespace qgen::generated::operators
