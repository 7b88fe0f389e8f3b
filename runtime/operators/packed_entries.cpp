// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/operators/attributes.h"
#include "runtime/operators/families.h"
#include "runtime/operators/packed.h"
#include "runtime/operators/prepare.h"

namespace qgen {
namespace {

// ---- q8ta_clone -----------------------------------------------------------------------------------------------------

constexpr TensorInfo kCloneInputs[] = {{"input", false, "i8 or u8"}};
constexpr TensorInfo kCloneOutputs[] = {{"output", false, "the same elements"}};

Expected<PreparedCall> prepare_clone(Context& context, const Request& request) {
  PreparedCall prepared;
  const auto input = upload_input(context, request, "input", prepared);
  if (!input) return input.error();
  return finished(std::move(prepared), q8ta_clone_call(desc_of(**input), place_of(request, "output").layout),
                  {*input, {}});
}

// ---- q8ta_quantize --------------------------------------------------------------------------------------------------

constexpr TensorInfo kQuantizeInputs[] = {{"input", false, "f32 or f16"}};
constexpr TensorInfo kQuantizeOutputs[] = {{"output", false, "i8"}};
constexpr AttributeInfo kQuantizeAttributes[] = {kOutputScale, kOutputZeroPoint};

Expected<PreparedCall> prepare_quantize(Context& context, const Request& request) {
  PreparedCall prepared;
  const auto input = upload_input(context, request, "input", prepared);
  if (!input) return input.error();
  const auto call = q8ta_quantize_call(view(desc_of(**input)), per_tensor_attribute(request, "output"),
                                       place_of(request, "output").layout);
  return finished(std::move(prepared), call, {*input, {}});
}

// ---- q8ta_dequantize ------------------------------------------------------------------------------------------------

constexpr TensorInfo kDequantizeInputs[] = {{"input", false, "i8"}};
constexpr TensorInfo kDequantizeOutputs[] = {{"output", false, "reals of output_dtype"}};
constexpr AttributeInfo kDequantizeAttributes[] = {
    kInputScale, kInputZeroPoint, {"output_dtype", AttributeInfo::Kind::word, "float32", "float32 or float16", {}}};

Expected<PreparedCall> prepare_dequantize(Context& context, const Request& request) {
  PreparedCall prepared;
  const auto input = upload_input(context, request, "input", prepared);
  if (!input) return input.error();
  const auto call = q8ta_dequantize_call(
      desc_of(**input), per_tensor_attribute(request, "input"),
      {.output_dtype = dtype_attribute(request, "output_dtype"), .output = place_of(request, "output")});
  return finished(std::move(prepared), call, {*input, {}});
}

constexpr OperatorEntry kEntries[] = {
    {"q8ta_clone", "a tensor of bytes from one layout to another", kCloneInputs, kCloneOutputs, {}, prepare_clone},
    {"q8ta_quantize", "real to i8 in any layout, one scale and zero point", kQuantizeInputs, kQuantizeOutputs,
     kQuantizeAttributes, prepare_quantize},
    {"q8ta_dequantize", "i8 in any layout to real, one scale and zero point", kDequantizeInputs, kDequantizeOutputs,
     kDequantizeAttributes, prepare_dequantize},
};

}  // namespace

std::span<const OperatorEntry> packed_entries() { return kEntries; }

}  // namespace qgen
