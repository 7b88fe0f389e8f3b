// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Calls of specs/quant. docs/affine.md is the bit-exact definition.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "choose_qparams_affine.h"
#include "dequantize_affine.h"
#include "dynamic_quantize_image.h"
#include "quantize_affine.h"
#include "quantize_linear.h"
#include "runtime/engine/calls/placement.h"
#include "runtime/engine/operators/affine/dequantize_to.h"
#include "runtime/engine/operators/affine/shape.h"
#include "runtime/engine/operators/divider.h"
#include "runtime/engine/operators/flush_subnormal.h"
#include "runtime/engine/operators/quant_range.h"
#include "vocabulary/integer.h"
#include "vocabulary/layouts.h"

namespace qgen {
namespace generated::operators {
namespace {

// ---- blocks ---------------------------------------------------------------------------------------------------------

// Data, cut into the blocks that its parameters say.
struct Blocks {
  Shape block;
  int64_t parameters = 0;   // how many
  int64_t zero_points = 0;  // 0: none are given
};

Expected<Blocks> blocks_of(const Shape& data, const std::optional<Shape>& block_size, const TensorDesc& scale,
                           const std::optional<TensorDesc>& zero_point) {
  auto block = block_size ? Expected<Shape>(*block_size) : block_of(data, scale.shape);
  if (!block) return block.error();
  const auto counts = params_shape(data, *block);
  if (!counts) return counts.error();
  Blocks blocks{*std::move(block), element_count(*counts)};
  if (element_count(scale.shape) != blocks.parameters) {
    return refused(
        fmt::format("scale of shape {} has {} elements, and data of shape {} has {} blocks of {}", to_text(scale.shape),
                    element_count(scale.shape), to_text(data), blocks.parameters, to_text(blocks.block)),
        fmt::format("a scale of shape {} has one element per block", to_text(*counts)));
  }
  if (!zero_point) return blocks;
  blocks.zero_points = element_count(zero_point->shape);
  if (blocks.zero_points == blocks.parameters || blocks.zero_points == 1) return blocks;
  return refused(fmt::format("zero_point of shape {} has {} elements, and there are {} blocks",
                             to_text(zero_point->shape), blocks.zero_points, blocks.parameters),
                 "give one per block, one for all blocks, or none");
}

// ---- what kernels know of them --------------------------------------------------------------------------------------

// Of an image the dimension, innermost first, that a texel holds four elements along.
uint32_t packed_dimension(Layout layout) { return static_cast<uint32_t>(info(layout).dims.packed); }

uint32_t texels_of(const TensorDesc& image) {
  const uint32_t packed = packed_dimension(image.layout);
  int64_t texels = 1;
  for (size_t d = 0; d < image.shape.size(); ++d) {
    const int64_t side = image.shape[image.shape.size() - 1 - d];
    texels *= d == packed ? (side + 3) / 4 : side;
  }
  return u32(texels);
}

bool is_dense(const View& view) { return is_row_major(view) && view.offset % 4 == 0; }

// The fields of quantize_affine and dequantize_affine.
struct Conversion {
  fields::BlockRuns runs;
  fields::AffineWalk walk;
};

fields::BlockRuns runs_of(const Blocks& blocks, const ViewedDesc& real, const ParameterPattern& pattern) {
  const Divider by_run = divider_of(u32(pattern.run)),
                by_cycle = divider_of(u32(std::max<int64_t>(blocks.parameters, 1)));
  return {.numel = u32(element_count(real.view.shape)),
          .first = u32(real.view.offset),
          .is_dense = is_dense(real.view) ? 1u : 0u,
          .parameters = u32(blocks.parameters),
          .run = by_run.divisor,
          .run_multiplier = by_run.multiplier,
          .run_shift = by_run.shift,
          .is_periodic = pattern.is_periodic ? 1u : 0u,
          .cycle_multiplier = by_cycle.multiplier,
          .cycle_shift = by_cycle.shift,
          .zero_points = u32(blocks.zero_points)};
}

// `output` is one of the two sides.
Conversion conversion(const Blocks& blocks, const ViewedDesc& real, const TensorDesc& integer,
                      const TensorDesc& output) {
  const bool is_of_images = real.tensor.storage != Storage::buffer || integer.storage != Storage::buffer;
  const BlockedShape shape = blocked_shape(real.view, blocks.block);
  const ParameterPattern pattern = parameter_pattern(shape);
  const uint32_t distance = u32(item_distance(pattern, blocks.parameters));
  const Divider by_distance = divider_of(std::max(distance, 1u));
  const uint32_t steps = output.storage == Storage::texture3d ? texels_of(output) : u32(element_count(output.shape));
  const DimensionFields dimensions = fields_of(is_of_images ? shape : merged(shape));
  return {.runs = runs_of(blocks, real, pattern),
          .walk = {.distance = distance,
                   .distance_multiplier = by_distance.multiplier,
                   .distance_shift = by_distance.shift,
                   .image_steps = is_of_images ? steps : 0,
                   .real_packed = packed_dimension(real.tensor.layout),
                   .quant_packed = packed_dimension(integer.layout),
                   .rank = dimensions.rank,
                   .sizes = dimensions.sizes,
                   .strides = dimensions.strides,
                   .blocks = dimensions.blocks,
                   .parameter_strides = dimensions.parameter_strides}};
}

Expected<IntegerRange> range_within(DType dtype, const auto& attributes) {
  return checked_range(dtype, attributes.quant_min, attributes.quant_max);
}

Expected<Call> dequantize_to(const DequantizeAffineInputs<Described>& inputs, const std::optional<Shape>& block_size,
                             const ViewedDesc& output) {
  const TensorDesc& input = inputs.input;
  const auto blocks = blocks_of(input.shape, block_size, inputs.scale, inputs.zero_point);
  if (!blocks) return blocks.error();
  const Conversion known = conversion(*blocks, output, input, output.tensor);
  const dequantize_affine::Problem fields{.block_runs = known.runs, .affine_walk = known.walk};
  return make_call(fields, inputs, {.output = output.tensor});
}

// quantize_affine and quantize_linear differ in their kernels only.
template <typename Problem>
Expected<Call> quantize_blocks(const auto& inputs, const auto& attributes, const auto& representations) {
  const ViewedDesc& input = inputs.input;
  const TensorDesc output{attributes.output_dtype, input.view.shape, representations.output->storage,
                          representations.output->layout};
  const auto range = range_within(output.dtype, attributes);
  if (!range) return range.error();
  const auto blocks = blocks_of(input.view.shape, attributes.block_size, inputs.scale, inputs.zero_point);
  if (!blocks) return blocks.error();
  const Conversion known = conversion(*blocks, input, output, output);
  const Problem fields{
      .block_runs = known.runs,
      .quantized_blocks = {.quant_min = static_cast<int32_t>(range->min),
                           .quant_max = static_cast<int32_t>(range->max)},
      .affine_walk = known.walk,
  };
  return make_call(fields, inputs, {.output = output});
}

// ---- choosing parameters --------------------------------------------------------------------------------------------

Shape without_spanned(const Shape& counts, const Shape& data) {
  Shape kept;
  for (size_t d = 0; d < counts.size(); ++d) {
    const bool is_spanned = counts[d] == 1 && data[d] != 1;
    if (!is_spanned) kept.push_back(counts[d]);
  }
  return kept;
}

// From each element of a block to the next in memory, where that is the same for all; else 0.
int64_t step_within(const BlockedShape& shape) {
  int64_t step = 0;
  for (const BlockedDimension& dimension : shape) {
    if (dimension.block == 1) continue;
    if (step != 0) return 0;
    step = dimension.stride;
  }
  return step;
}

// Of blocks of a tensor whose least and greatest elements are found.
fields::ScannedBlocks scanned_blocks(const ViewedDesc& input, const Shape& block) {
  const auto& [tensor, view] = input;
  const bool is_buffer = tensor.storage == Storage::buffer;
  const BlockedShape shape = blocked_shape(view, block), least = merged(shape);
  const DimensionFields dimensions = fields_of(is_buffer ? least : shape);
  const bool is_one_run = !least.empty() && least[0].stride == 1;
  return {.run = is_one_run ? u32(least[0].block) : 1,
          .step = is_buffer ? static_cast<int32_t>(step_within(least)) : 0,
          .are_runs = is_dense(view) && least.size() <= 1 ? 1u : 0u,
          .first = u32(view.offset),
          .real_packed = packed_dimension(tensor.layout),
          .rank = dimensions.rank,
          .sizes = dimensions.sizes,
          .strides = dimensions.strides,
          .blocks = dimensions.blocks};
}

}  // namespace

Expected<Call> infer(const QuantizeAffineInputs<Described>& inputs, const QuantizeAffineAttributes& attributes,
                     const QuantizeAffineRepresentations& representations) {
  return quantize_blocks<quantize_affine::Problem>(inputs, attributes, representations);
}

Expected<Call> infer(const QuantizeLinearInputs<Described>& inputs, const QuantizeLinearAttributes& attributes,
                     const QuantizeLinearRepresentations& representations) {
  return quantize_blocks<quantize_linear::Problem>(inputs, attributes, representations);
}

Expected<Call> infer(const DequantizeAffineInputs<Described>& inputs, const DequantizeAffineAttributes& attributes,
                     const DequantizeAffineRepresentations& representations) {
  const TensorDesc& input = inputs.input;
  if (attributes.input_dtype.value_or(input.dtype) != input.dtype) {
    return refused(fmt::format("input_dtype is {}, and input is {}", name(*attributes.input_dtype), name(input.dtype)));
  }
  // Checked, and computes nothing.
  if (const auto range = range_within(input.dtype, attributes); !range) return range.error();
  return dequantize_to(inputs, attributes.block_size,
                       TensorDesc{attributes.output_dtype, input.shape, representations.output->storage,
                                  representations.output->layout});
}

Expected<Call> infer(const ChooseQparamsAffineInputs<Described>& inputs,
                     const ChooseQparamsAffineAttributes& attributes) {
  const auto& [tensor, view] = inputs.input.get();
  const auto range = range_within(attributes.target_dtype, attributes);
  if (!range) return range.error();
  const Shape block = attributes.block_size.value_or(view.shape);
  const auto counts = params_shape(view.shape, block);
  if (!counts) return counts.error();

  const float eps = attributes.eps ? static_cast<float>(*attributes.eps) : least_scale(tensor.dtype);
  const choose_qparams_affine::Problem fields{
      .parameters = u32(element_count(*counts)),
      .block_elements = u32(element_count(block)),
      .scanned_blocks = scanned_blocks(inputs.input, block),
      .qparams = qparams_fields(attributes.mapping_type, *range, std::abs(flush_subnormal(eps))),  // -0 is 0
  };
  const Shape kept = attributes.keepdim ? *counts : without_spanned(*counts, view.shape);
  return make_call(
      fields, {.input = tensor, .scale = TensorDesc{DType::f32, kept}, .zero_point = TensorDesc{DType::i32, kept}});
}

// The whole image is one block. An empty one has the range 0, and so the least scale.
Expected<Call> infer(const DynamicQuantizeImageInputs<Described>& inputs) {
  const TensorDesc& input = inputs.input;
  Shape sums = input.shape;
  sums[1] = 1;
  const TensorDesc channel_sums{DType::i32, sums};
  // An image without channels has pixels nevertheless.
  if (Done size = check_size("channel_sums", channel_sums); !size) return size.error();
  const auto side = [&](size_t i) { return Integer(input.shape[i]); };
  const Integer plane = side(2) * side(3);
  const Integer pixels = side(0) * plane;
  const dynamic_quantize_image::Problem fields{
      .parameters = 1,
      .block_elements = u32(element_count(input.shape)),
      .scanned_blocks = scanned_blocks(input, input.shape),
      .qparams = qparams_fields(words::MappingType::asymmetric, {-128, 127}, least_scale(input.dtype)),
      .image_pixels = u32(pixels.value),
      .plane = u32(plane.value),
      .channels = u32(input.shape[1]),
  };
  return make_call(fields, inputs,
                   {.output = TensorDesc{DType::i8, input.shape, Storage::buffer, Layout::packed_4c},
                    .scale = TensorDesc{DType::f32, {1}},
                    .zero_point = TensorDesc{DType::i32, {1}},
                    .channel_sums = channel_sums});
}

}  // namespace generated::operators

// ---- into a tensor that is there ------------------------------------------------------------------------------------

using namespace generated::operators;

Expected<Call> dequantize_affine_to_call(const DequantizeAffineInputs<Described>& inputs,
                                         const std::optional<Shape>& block_size, const ViewedDesc& output) {
  const auto& [tensor, view] = output;
  const auto whole = dequantize_affine_call(inputs, {.block_size = block_size, .output_dtype = tensor.dtype},
                                            {.output = Representation{tensor.storage, tensor.layout}});
  if (!whole) return whole.error();
  if (Done inside = check_view("output", output); !inside) return inside.error();
  if (Done injective = check_is_injective("output", view); !injective) return injective.error();
  if (view.shape == inputs.input->shape) return dequantize_to(inputs, block_size, output);
  return refused(fmt::format("output has shape {}, and input {}", to_text(view.shape), to_text(inputs.input->shape)));
}

Done dequantize_affine_to(Context& context, const DequantizeAffineInputs<OnDevice>& inputs,
                          const std::optional<Shape>& block_size, const ViewedTensor& output) {
  const auto call = dequantize_affine_to_call(
      {.input = desc_of(inputs.input), .scale = desc_of(inputs.scale), .zero_point = desc_of(inputs.zero_point)},
      block_size, desc_of(output));
  if (!call) return call.error();
  const auto made = run(context, *call,
                        generated::dequantize_affine::Operands<Argument>{.input = &inputs.input,
                                                                         .scale = &inputs.scale,
                                                                         .zero_point = argument_of(inputs.zero_point),
                                                                         .output = output.tensor});
  return made ? Done(std::monostate{}) : made.error();
}

}  // namespace qgen
