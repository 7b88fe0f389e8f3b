// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Arguments -> checked shapes and blocks -> the Problem of the specs in specs/quant.
#include "runtime/operators/affine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "choose_qparams_affine.h"
#include "dequantize_affine.h"
#include "operators.h"
#include "quantize_affine.h"
#include "runtime/library/layout_table.h"
#include "runtime/operators/affine_shape.h"
#include "runtime/operators/checks.h"
#include "runtime/operators/divider.h"
#include "runtime/operators/flush_subnormal.h"
#include "runtime/operators/mapping.h"

namespace qgen {
namespace {

constexpr size_t kMaxTextureRank = 4;
constexpr DType kRealTypes[] = {DType::f32, DType::f16};
constexpr DType kIntegerTypes[] = {DType::i8, DType::u8, DType::i16, DType::i32};

// ---- what may be given ----------------------------------------------------------------------------------------------

Done check_size(std::string_view operand, const TensorDesc& tensor) {
  if (Done sane = check_shape(tensor.shape); !sane) return sane;
  if (tensor.storage == Storage::texture3d && tensor.shape.size() > kMaxTextureRank) {
    return refused(fmt::format("{} of shape {} has rank {}, and a texture holds rank {}", operand,
                               to_text(tensor.shape), tensor.shape.size(), kMaxTextureRank),
                   "put it into a buffer");
  }
  constexpr int64_t kMostElements = std::numeric_limits<uint32_t>::max();
  if (element_count(tensor.shape) <= kMostElements) return std::monostate{};
  return refused(fmt::format("{} of shape {} has {} elements, and kernels count to {}", operand, to_text(tensor.shape),
                             element_count(tensor.shape), kMostElements),
                 "split the tensor");
}

Done check_real(std::string_view operand, const ViewedDesc& viewed) {
  if (Done dtype = check_dtype(operand, viewed.tensor.dtype, kRealTypes); !dtype) return dtype;
  if (Done size = check_size(operand, viewed.tensor); !size) return size;
  return check_view(operand, viewed);
}

// One number a block, in a buffer.
Done check_parameters(std::string_view operand, const TensorDesc& given, DType dtype) {
  if (Done known = check_dtype(operand, given.dtype, {&dtype, 1}); !known) return known;
  if (given.storage == Storage::buffer) return check_shape(given.shape);
  return refused(fmt::format("{} lies in a {}, and is read from a buffer", operand, name(given.storage)));
}

// ---- blocks ---------------------------------------------------------------------------------------------------------

// Data, cut into the blocks that its parameters say.
struct Blocks {
  Shape block;
  int64_t parameters = 0;   // how many
  int64_t zero_points = 0;  // 0: none are given
};

Expected<Blocks> blocks_of(const Shape& data, const std::optional<Shape>& block_size, const TensorDesc& scale,
                           const std::optional<TensorDesc>& zero_point) {
  if (Done known = check_parameters("scale", scale, DType::f32); !known) return known.error();
  auto block = block_size ? Expected<Shape>(*block_size) : block_of(data, scale.shape);
  if (!block) return block.error();
  const auto counts = params_shape(data, *block);
  if (!counts) return counts.error();
  Blocks blocks{*std::move(block), element_count(*counts)};
  if (element_count(scale.shape) != blocks.parameters) {
    return refused(
        fmt::format("scale of shape {} has {} elements, and data of shape {} has {} blocks of {}", to_text(scale.shape),
                    element_count(scale.shape), to_text(data), blocks.parameters, to_text(blocks.block)),
        fmt::format("a scale of shape {} has one a block", to_text(*counts)));
  }
  if (!zero_point) return blocks;
  if (Done known = check_parameters("zero_point", *zero_point, DType::i32); !known) return known.error();
  blocks.zero_points = element_count(zero_point->shape);
  if (blocks.zero_points == blocks.parameters || blocks.zero_points == 1) return blocks;
  return refused(fmt::format("zero_point of shape {} has {} elements, and there are {} blocks",
                             to_text(zero_point->shape), blocks.zero_points, blocks.parameters),
                 "give one a block, one for all, or none");
}

// ---- problems -------------------------------------------------------------------------------------------------------

// Of an image the dimension, innermost first, that a texel holds four elements along.
uint32_t packed_dimension(Layout layout) { return static_cast<uint32_t>(info(layout).dims.packed); }

int64_t texels_of(const TensorDesc& tensor) {
  const uint32_t packed = packed_dimension(tensor.layout);
  int64_t texels = 1;
  for (size_t d = 0; d < kMaxTextureRank; ++d) {
    const int64_t side = d < tensor.shape.size() ? tensor.shape[tensor.shape.size() - 1 - d] : 1;
    texels *= d == packed ? (side + 3) / 4 : side;
  }
  return texels;
}

uint32_t u32(int64_t value) { return static_cast<uint32_t>(value); }

// What quantize_affine and dequantize_affine are told alike. `output` is one of the two sides.
template <typename Fields>
void fill_conversion(Fields& fields, const Blocks& blocks, const ViewedDesc& real, const TensorDesc& integer,
                     const TensorDesc& output) {
  const bool is_of_images = real.tensor.storage != Storage::buffer || integer.storage != Storage::buffer;
  const BlockedShape shape = blocked_shape(real.view, blocks.block);
  const ParameterPattern pattern = parameter_pattern(shape);
  fields.numel = u32(element_count(real.view.shape));
  fields.first = u32(real.view.offset);
  fields.is_dense = is_row_major(real.view) && real.view.offset % 4 == 0;
  fields.parameters = u32(blocks.parameters);
  fields.run = u32(pattern.run);
  fields.distance = u32(item_distance(pattern, blocks.parameters));
  const Divider by_run = divider_of(fields.run), by_cycle = divider_of(std::max(fields.parameters, 1u));
  const Divider by_distance = divider_of(std::max(fields.distance, 1u));
  fields.run_multiplier = by_run.multiplier;
  fields.run_shift = by_run.shift;
  fields.is_periodic = pattern.is_periodic;
  fields.cycle_multiplier = by_cycle.multiplier;
  fields.cycle_shift = by_cycle.shift;
  fields.distance_multiplier = by_distance.multiplier;
  fields.distance_shift = by_distance.shift;
  fields.zero_points = u32(blocks.zero_points);
  fields.real_packed = packed_dimension(real.tensor.layout);
  fields.quant_packed = packed_dimension(integer.layout);
  if (is_of_images) {
    fields.image_steps = u32(output.storage == Storage::texture3d ? texels_of(output) : element_count(output.shape));
  }
  fill_dimensions(is_of_images ? shape : merged(shape), fields);
}

}  // namespace

// ---- quantize -------------------------------------------------------------------------------------------------------

Expected<Call> quantize_affine_call(const ViewedDesc& input, const TensorDesc& scale,
                                    const std::optional<TensorDesc>& zero_point, const QuantizeAffineOptions& options) {
  const TensorDesc output{options.output_dtype, input.view.shape, options.output.storage, options.output.layout};
  if (Done real = check_real("input", input); !real) return real.error();
  if (Done known = check_dtype("output", output.dtype, kIntegerTypes); !known) return known.error();
  if (Done size = check_size("output", output); !size) return size.error();
  const auto range = checked_range(options.output_dtype, options.range);
  if (!range) return range.error();
  const auto blocks = blocks_of(input.view.shape, options.block_size, scale, zero_point);
  if (!blocks) return blocks.error();

  generated::quantize_affine::Problem fields;
  fill_conversion(fields, *blocks, input, output, output);
  fields.quant_min = static_cast<int32_t>(range->min);
  fields.quant_max = static_cast<int32_t>(range->max);
  return make_call(generated::quantize_affine::op, fields, {input.tensor, scale, zero_point, output});
}

Expected<DeviceTensor> quantize_affine(Context& context, const ViewedTensor& input, const DeviceTensor& scale,
                                       const DeviceTensor* zero_point, const QuantizeAffineOptions& options) {
  if (Done given = check_given("input", input.tensor); !given) return given.error();
  return run_for_one(context, quantize_affine_call(desc_of(input), desc_of(scale), desc_of(zero_point), options),
                     {input.tensor, &scale, argument_of(zero_point), {}});
}

// ---- dequantize -----------------------------------------------------------------------------------------------------

Expected<Call> dequantize_affine_call(const TensorDesc& input, const TensorDesc& scale,
                                      const std::optional<TensorDesc>& zero_point,
                                      const DequantizeAffineOptions& options) {
  if (Done known = check_dtype("input", input.dtype, kIntegerTypes); !known) return known.error();
  if (const auto range = checked_range(input.dtype, options.range); !range) return range.error();
  return dequantize_affine_call(
      input, scale, zero_point, options.block_size,
      view(TensorDesc{options.output_dtype, input.shape, options.output.storage, options.output.layout}));
}

Expected<Call> dequantize_affine_call(const TensorDesc& input, const TensorDesc& scale,
                                      const std::optional<TensorDesc>& zero_point,
                                      const std::optional<Shape>& block_size, const ViewedDesc& output) {
  if (Done known = check_dtype("input", input.dtype, kIntegerTypes); !known) return known.error();
  if (Done size = check_size("input", input); !size) return size.error();
  if (Done real = check_real("output", output); !real) return real.error();
  if (Done injective = check_is_injective("output", output.view); !injective) return injective.error();
  if (output.view.shape != input.shape) {
    return refused(fmt::format("output has shape {}, and input {}", to_text(output.view.shape), to_text(input.shape)));
  }
  const auto blocks = blocks_of(input.shape, block_size, scale, zero_point);
  if (!blocks) return blocks.error();

  generated::dequantize_affine::Problem fields;
  fill_conversion(fields, *blocks, output, input, output.tensor);
  return make_call(generated::dequantize_affine::op, fields, {input, scale, zero_point, output.tensor});
}

Expected<DeviceTensor> dequantize_affine(Context& context, const DeviceTensor& input, const DeviceTensor& scale,
                                         const DeviceTensor* zero_point, const DequantizeAffineOptions& options) {
  return run_for_one(context, dequantize_affine_call(desc_of(input), desc_of(scale), desc_of(zero_point), options),
                     {&input, &scale, argument_of(zero_point), {}});
}

Done dequantize_affine_to(Context& context, const DeviceTensor& input, const DeviceTensor& scale,
                          const DeviceTensor* zero_point, const std::optional<Shape>& block_size,
                          const ViewedTensor& output) {
  if (Done given = check_given("output", output.tensor); !given) return given.error();
  const auto call =
      dequantize_affine_call(desc_of(input), desc_of(scale), desc_of(zero_point), block_size, desc_of(output));
  if (!call) return call.error();
  const auto made = run(context, *call, {&input, &scale, argument_of(zero_point), output.tensor});
  if (!made) return made.error();
  return std::monostate{};
}

// ---- choose ---------------------------------------------------------------------------------------------------------

namespace {

Expected<float> checked_eps(std::optional<float> given, DType dtype) {
  if (!given) return least_scale(dtype);
  if (!(*given >= 0) || std::isinf(*given)) {
    return refused(fmt::format("eps is {}, and must be a finite number that is not below 0", *given));
  }
  return std::abs(flush_subnormal(*given));  // -0 is 0
}

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

void fill_blocks(generated::choose_qparams_affine::Problem& fields, const ViewedDesc& input, const Shape& block,
                 int64_t parameters) {
  const BlockedShape shape = blocked_shape(input.view, block);
  const BlockedShape least = merged(shape);
  const bool is_dense = is_row_major(input.view) && input.view.offset % 4 == 0;
  fields.parameters = u32(parameters);
  fields.block_elements = u32(element_count(block));
  fields.run = least.empty() ? 1 : least[0].stride == 1 ? u32(least[0].block) : 1;
  fields.step = input.tensor.storage == Storage::buffer ? static_cast<int32_t>(step_within(least)) : 0;
  fields.are_runs = is_dense && least.size() <= 1;
  fields.first = u32(input.view.offset);
  fields.real_packed = packed_dimension(input.tensor.layout);
  fill_dimensions(input.tensor.storage == Storage::buffer ? least : shape, fields);
}

}  // namespace

Expected<Call> choose_qparams_affine_call(const ViewedDesc& input, const ChooseQparamsAffineOptions& options) {
  if (Done real = check_real("input", input); !real) return real.error();
  if (Done known = check_dtype("target_dtype", options.target_dtype, kIntegerTypes); !known) return known.error();
  const auto range = checked_range(options.target_dtype, options.range);
  if (!range) return range.error();
  const auto eps = checked_eps(options.eps, input.tensor.dtype);
  if (!eps) return eps.error();
  const Shape block = options.block_size.value_or(input.view.shape);
  const auto counts = params_shape(input.view.shape, block);
  if (!counts) return counts.error();
  const Shape shape = options.keepdim ? *counts : without_spanned(*counts, input.view.shape);
  if (Done size = check_size("scale", {DType::f32, shape}); !size) return size.error();

  generated::choose_qparams_affine::Problem fields;
  fill_blocks(fields, input, block, element_count(*counts));
  fill_mapping(fields, options.mapping_type, *range);
  fields.eps = *eps;
  return make_call(generated::choose_qparams_affine::op, fields,
                   {input.tensor, TensorDesc{DType::f32, shape}, TensorDesc{DType::i32, shape}});
}

Expected<AffineParams> choose_qparams_affine(Context& context, const ViewedTensor& input,
                                             const ChooseQparamsAffineOptions& options) {
  if (Done given = check_given("input", input.tensor); !given) return given.error();
  const auto call = choose_qparams_affine_call(desc_of(input), options);
  if (!call) return call.error();
  auto made = run(context, *call, {input.tensor, {}, {}});
  if (!made) return made.error();
  return AffineParams{std::move((*made)[0]), std::move((*made)[1])};
}

// ---- by name -----------------------------------------------------------------------------------------------------------

Expected<Call> generated::operators::infer(const QuantizeAffineInputs<Described>& inputs,
                                           const QuantizeAffineAttributes& attributes,
                                           const QuantizeAffinePlaces& places) {
  return quantize_affine_call(
      inputs.input, inputs.scale, inputs.zero_point,
      {.block_size = attributes.block_size,
       .output_dtype = attributes.output_dtype,
       .range = given_range(attributes.output_dtype, attributes.quant_min, attributes.quant_max),
       .output = places.output});
}

Expected<Call> generated::operators::infer(const DequantizeAffineInputs<Described>& inputs,
                                           const DequantizeAffineAttributes& attributes,
                                           const DequantizeAffinePlaces& places) {
  const DType dtype = inputs.input.dtype;
  if (attributes.input_dtype.value_or(dtype) != dtype) {
    return refused(fmt::format("input_dtype is {}, and input is {}", name(*attributes.input_dtype), name(dtype)));
  }
  return dequantize_affine_call(inputs.input, inputs.scale, inputs.zero_point,
                                {.block_size = attributes.block_size,
                                 .output_dtype = attributes.output_dtype,
                                 .range = given_range(dtype, attributes.quant_min, attributes.quant_max),
                                 .output = places.output});
}

Expected<Call> generated::operators::infer(const ChooseQparamsAffineInputs<Described>& inputs,
                                           const ChooseQparamsAffineAttributes& attributes,
                                           const ChooseQparamsAffinePlaces&) {
  const auto& eps = attributes.eps;
  return choose_qparams_affine_call(
      inputs.input, {.block_size = attributes.block_size,
                     .mapping_type = attributes.mapping_type,
                     .target_dtype = attributes.target_dtype,
                     .range = given_range(attributes.target_dtype, attributes.quant_min, attributes.quant_max),
                     .eps = eps ? std::optional(static_cast<float>(*eps)) : std::nullopt,
                     .keepdim = attributes.keepdim});
}

}  // namespace qgen
