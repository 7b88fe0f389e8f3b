// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>

#include <algorithm>

#include "runtime/operators/affine.h"
#include "runtime/operators/families.h"
#include "runtime/operators/prepare.h"

namespace qgen {
namespace {

using Kind = AttributeInfo::Kind;

constexpr TensorInfo kScale{"scale", false, "f32, one a block"};
constexpr TensorInfo kZeroPoint{"zero_point", true, "i32, one a block, or one for all; without: 0"};
constexpr AttributeInfo kBlockSize{
    "block_size", Kind::integers, "(from the scale's shape)", "elements of a block, per dimension", {}};
constexpr AttributeInfo kQuantMin{"quant_min", Kind::integer, "(the dtype's)", "the least integer", {}};
constexpr AttributeInfo kQuantMax{"quant_max", Kind::integer, "(the dtype's)", "the greatest integer", {}};

Expected<IntegerRange> range_attribute(const Request& request, DType dtype) {
  const auto range = range_of(dtype);
  if (!range) {
    return Error{Error::Kind::invalid_argument, fmt::format("{} is no integer dtype", name(dtype)),
                 "i8, u8, i16 and i32 are"};
  }
  return IntegerRange{find_attribute<int64_t>(request, "quant_min").value_or(range->min),
                      find_attribute<int64_t>(request, "quant_max").value_or(range->max)};
}

// What quantize_affine and dequantize_affine read.
struct Inputs {
  const DeviceTensor* input;
  const DeviceTensor* scale;
  const DeviceTensor* zero_point;
};

Expected<Inputs> upload_inputs(Context& context, const Request& request, PreparedCall& prepared) {
  const auto input = upload_input(context, request, "input", prepared);
  if (!input) return input.error();
  const auto scale = upload_widened(context, request, "scale", DType::f32, prepared);
  if (!scale) return scale.error();
  const auto zero_point = upload_widened(context, request, "zero_point", DType::i32, prepared);
  if (!zero_point) return zero_point.error();
  return Inputs{*input, *scale, *zero_point};
}

// ---- quantize_affine ------------------------------------------------------------------------------------------------

constexpr TensorInfo kQuantizeInputs[] = {{"input", false, "f32 or f16"}, kScale, kZeroPoint};
constexpr TensorInfo kQuantizeOutputs[] = {{"output", false, "integers of output_dtype"}};
constexpr AttributeInfo kQuantizeAttributes[] = {
    kBlockSize, {"output_dtype", Kind::word, "int8", "int8, uint8, int16 or int32", {}}, kQuantMin, kQuantMax};

Expected<PreparedCall> prepare_quantize(Context& context, const Request& request) {
  const DType dtype = dtype_attribute(request, "output_dtype");
  const auto range = range_attribute(request, dtype);
  if (!range) return range.error();
  PreparedCall prepared;
  const auto inputs = upload_inputs(context, request, prepared);
  if (!inputs) return inputs.error();
  const auto call =
      quantize_affine_call(view(desc_of(*inputs->input)), desc_of(*inputs->scale), desc_of(inputs->zero_point),
                           {.block_size = find_attribute<Shape>(request, "block_size"),
                            .output_dtype = dtype,
                            .range = *range,
                            .output = place_of(request, "output")});
  return finished(std::move(prepared), call, {inputs->input, inputs->scale, argument_of(inputs->zero_point), {}});
}

// ---- dequantize_affine ----------------------------------------------------------------------------------------------

constexpr TensorInfo kDequantizeInputs[] = {{"input", false, "i8, u8, i16 or i32"}, kScale, kZeroPoint};
constexpr TensorInfo kDequantizeOutputs[] = {{"output", false, "reals of output_dtype"}};
constexpr AttributeInfo kDequantizeAttributes[] = {
    kBlockSize,
    {"input_dtype", Kind::word, "(the input's)", "if given, it must be the input's", {}},
    {"output_dtype", Kind::word, "float32", "float32 or float16", {}},
    kQuantMin,
    kQuantMax};

Done check_input_dtype(const Request& request) {
  const auto word = find_attribute<std::string>(request, "input_dtype");
  const DType given = request.inputs.at("input").dtype;
  if (!word || *dtype_named(*word) == given) return std::monostate{};
  return Error{Error::Kind::invalid_argument, fmt::format("input_dtype is {}, and input is {}", *word, name(given)),
               ""};
}

Expected<PreparedCall> prepare_dequantize(Context& context, const Request& request) {
  if (Done same = check_input_dtype(request); !same) return same.error();
  const auto range = range_attribute(request, request.inputs.at("input").dtype);
  if (!range) return range.error();
  PreparedCall prepared;
  const auto inputs = upload_inputs(context, request, prepared);
  if (!inputs) return inputs.error();
  const auto call =
      dequantize_affine_call(desc_of(*inputs->input), desc_of(*inputs->scale), desc_of(inputs->zero_point),
                             {.block_size = find_attribute<Shape>(request, "block_size"),
                              .output_dtype = dtype_attribute(request, "output_dtype"),
                              .range = *range,
                              .output = place_of(request, "output")});
  return finished(std::move(prepared), call, {inputs->input, inputs->scale, argument_of(inputs->zero_point), {}});
}

// ---- choose_qparams_affine ------------------------------------------------------------------------------------------

constexpr TensorInfo kChooseInputs[] = {{"input", false, "f32 or f16"}};
constexpr TensorInfo kChooseOutputs[] = {{"scale", false, "f32, one a block"},
                                         {"zero_point", false, "i32, one a block"}};
constexpr AttributeInfo kChooseAttributes[] = {
    {"block_size", Kind::integers, "(all of the input)", "elements of a block, per dimension", {}},
    {"mapping_type", Kind::word, "asymmetric", "how the range is mapped", kMappingTypeWords},
    {"target_dtype", Kind::word, "int8", "int8, uint8, int16 or int32", {}},
    kQuantMin,
    kQuantMax,
    {"eps", Kind::real, "(the smallest normal of the input's dtype)", "the least scale", {}},
    {"keepdim", Kind::boolean, "true", "false drops dimensions that one block spans", {}}};

ChooseQparamsAffineOptions choose_options(const Request& request, DType dtype, IntegerRange range) {
  const auto eps = find_attribute<double>(request, "eps");
  return {.block_size = find_attribute<Shape>(request, "block_size"),
          .mapping_type = enum_attribute<MappingType>(request, "mapping_type", kMappingTypeWords),
          .target_dtype = dtype,
          .range = range,
          .eps = eps ? std::optional(static_cast<float>(*eps)) : std::nullopt,
          .keepdim = attribute<bool>(request, "keepdim")};
}

Expected<PreparedCall> prepare_choose(Context& context, const Request& request) {
  const DType dtype = dtype_attribute(request, "target_dtype");
  const auto range = range_attribute(request, dtype);
  if (!range) return range.error();
  PreparedCall prepared;
  const auto input = upload_input(context, request, "input", prepared);
  if (!input) return input.error();
  const auto call = choose_qparams_affine_call(view(desc_of(**input)), choose_options(request, dtype, *range));
  return finished(std::move(prepared), call, {*input, {}, {}});
}

constexpr OperatorEntry kEntries[] = {
    {"quantize_affine", "real to integer, one scale and zero point a block", kQuantizeInputs, kQuantizeOutputs,
     kQuantizeAttributes, prepare_quantize},
    {"dequantize_affine", "integer to real, one scale and zero point a block", kDequantizeInputs, kDequantizeOutputs,
     kDequantizeAttributes, prepare_dequantize},
    {"choose_qparams_affine", "scale and zero point of each block, from its range", kChooseInputs, kChooseOutputs,
     kChooseAttributes, prepare_choose},
};

}  // namespace

std::span<const OperatorEntry> affine_entries() { return kEntries; }

}  // namespace qgen
