// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <algorithm>
#include <array>

#include "runtime/library/layout_table.h"
#include "runtime/operators/families.h"
#include "runtime/operators/weight_entries.h"
#include "runtime/operators/weight_packing.h"

namespace qgen {
namespace {

// The forms whose names begin so.
constexpr std::string_view kAll = "weight_", kOfFourBits = "weight_q4_";
template <const std::string_view& prefix>
constexpr auto kFormWords = [] {
  constexpr auto is_one = [](const LayoutInfo& row) { return row.name.starts_with(prefix); };
  std::array<std::string_view, std::ranges::count_if(kLayouts, is_one)> words{};
  size_t next = 0;
  for (const LayoutInfo& row : kLayouts) {
    if (is_one(row)) words[next++] = row.name;
  }
  return words;
}();

Layout form_attribute(const Request& request) { return *find_layout(attribute<std::string>(request, "form")); }

// ---- pack_weight ----------------------------------------------------------------------------------------------------

constexpr TensorInfo kInputs[] = {{"source", false, "i8 [N, K], symmetric"}};
constexpr TensorInfo kOutputs[] = {
    {"output", false, "the same elements; of a form of four bits, at least -8 and at most 7", true}};
constexpr AttributeInfo kAttributes[] = {
    {"form", AttributeInfo::Kind::word, "", "how the output lies in memory", kFormWords<kAll>}};

Expected<PreparedCall> prepare_pack(Context& context, const Request& request) {
  PreparedCall prepared;
  const auto source = upload_input(context, request, "source", prepared);
  if (!source) return source.error();
  return finished(std::move(prepared), pack_weight_call(desc_of(**source), form_attribute(request)), {*source, {}});
}

// ---- quantize_q4gsw -------------------------------------------------------------------------------------------------

constexpr TensorInfo kRealInputs[] = {{"input", false, "f32 or f16, [N, K]"}, kScalesOfGroups};
constexpr TensorInfo kFourBitOutputs[] = {{"output", false, "i8 [N, K] of quant_min to quant_max", true}};
constexpr AttributeInfo kQuantizeAttributes[] = {
    {"form", AttributeInfo::Kind::word, "weight_q4_rows", "how the output lies in memory", kFormWords<kOfFourBits>},
    {"quant_min", AttributeInfo::Kind::integer, "-8", "the output's least integer", {}},
    {"quant_max", AttributeInfo::Kind::integer, "7", "the output's greatest integer", {}}};

Expected<PreparedCall> prepare_quantize(Context& context, const Request& request) {
  PreparedCall prepared;
  const auto input = upload_input(context, request, "input", prepared);
  if (!input) return input.error();
  const auto scales = upload_widened(context, request, "weight_scales", DType::f32, prepared);
  if (!scales) return scales.error();
  const auto call = quantize_q4gsw_call(
      desc_of(**input), desc_of(**scales),
      {.range = {attribute<int64_t>(request, "quant_min"), attribute<int64_t>(request, "quant_max")},
       .form = form_attribute(request)});
  return finished(std::move(prepared), call, {*input, *scales, {}});
}

constexpr OperatorEntry kEntries[] = {
    {"pack_weight", "a weight from plain rows into a form that linear layers read", kInputs, kOutputs, kAttributes,
     prepare_pack},
    {"quantize_q4gsw", "a real weight as int4 with a scale a group, in a form that linear layers read", kRealInputs,
     kFourBitOutputs, kQuantizeAttributes, prepare_quantize},
};

}  // namespace

std::span<const OperatorEntry> weight_packing_entries() { return kEntries; }

}  // namespace qgen
